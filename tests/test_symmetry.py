"""Mirror symmetry: a mirrored robot that acts in the mirror sees in the mirror."""

from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np
import pytest
import torch
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from evened import evened
from genelab import mdp
from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, ObservationTermCfg
from genelab.mdp.symmetry import Mirror
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlPpoCfg, RslRlSymmetryCfg
from genelab.rl.checkpoint import INFO_KEY, WarmStart
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.rl.rsl_rl.symmetry import MirrorImages
from genelab.scene.mirror import MirrorTable
from genelab.scene.robots import cartpole
from genelab.scene.robots.go1 import LEGS, MIRROR, quadruped
from genelab.scene.terrain import TerrainCfg
from genelab.tasks.pendulum.balance import double, single
from genelab.tasks.velocity.go1 import flat, rough


def symmetric_go1(height: float, kp: float, kd: float) -> mujoco.MjSpec:
    return evened(quadruped(height, kp, kd), MIRROR)


def tiny(cfg: ManagerBasedRlEnvCfg, num_envs: int = 2) -> ManagerBasedRlEnvCfg:
    cfg.num_envs, cfg.simulation.dt, cfg.decimation = num_envs, 0.005, 4
    cfg.observations["policy"].noise = False
    return cfg


@pytest.fixture
def env() -> Iterator[ManagerBasedRlEnv]:
    cfg = tiny(flat(play=True))
    cfg.scene.robots["robot"].model = symmetric_go1
    made = ManagerBasedRlEnv(cfg, seed=1)
    yield made
    made.close()


@pytest.fixture
def scanning() -> Iterator[ManagerBasedRlEnv]:
    cfg = tiny(rough(play=True))
    cfg.scene.terrain = TerrainCfg(rows=2, columns=("slope_up",), cell=6.0, border=1.0, flat_rows=0, spread=True)
    made = ManagerBasedRlEnv(cfg, seed=1)
    yield made
    made.close()


def place_in_the_mirror(env: ManagerBasedRlEnv, mirror: Mirror) -> None:
    """Put world 0 into a lively state, and world 1 into the mirror image of it."""
    draw = torch.Generator().manual_seed(4)
    noise = [torch.randn(n, generator=draw) for n in (12, 12, 6)]
    turn = torch.nn.functional.normalize(torch.tensor([1.0, 0.1, -0.08, 0.4]), dim=0)
    qpos = torch.cat((torch.tensor([0.1, 0.2, 0.36]), turn, env.robot.default_joint_pos + 0.1 * noise[0]))
    qvel = torch.cat((0.3 * noise[2], 0.5 * noise[1]))
    seen_pos, seen_vel = qpos.clone(), qvel.clone()
    seen_pos[[1, 4, 6]] *= -1.0  # y, and the quaternion's x and z
    seen_vel[[1, 3, 5]] *= -1.0
    seen_pos[7:] = mirror.action(qpos[7:])
    seen_vel[6:] = mirror.action(qvel[6:])
    env.engine.set_state(torch.arange(2), torch.stack((qpos, seen_pos)), torch.stack((qvel, seen_vel)))
    env.command_manager["velocity"][:] = torch.tensor([[0.5, 0.3, -0.7], [0.5, -0.3, 0.7]])


def test_a_mirrored_rollout_is_the_mirror_image_of_the_rollout(env: ManagerBasedRlEnv) -> None:
    mirror = Mirror(env, MIRROR)
    place_in_the_mirror(env, mirror)
    draw = torch.Generator().manual_seed(5)
    for _ in range(25):
        action = torch.randn(12, generator=draw)
        obs, reward, *_ = env.step(torch.stack((action, mirror.action(action))))
        for group, seen in mirror.observations(obs).items():
            torch.testing.assert_close(obs[group][1], seen[0], atol=2e-3, rtol=1e-3)
        assert float(reward[0]) == pytest.approx(float(reward[1]), abs=1e-3)
    assert float(env.robot.joint_vel.abs().max()) > 1.0  # something did happen


@pytest.mark.parametrize("task", [single, double])
def test_a_cart_that_acts_in_the_mirror_sees_in_the_mirror(task: Callable[..., ManagerBasedRlEnvCfg]) -> None:
    env = ManagerBasedRlEnv(tiny(task(play=True)), seed=1)
    mirror = Mirror(env, cartpole.MIRROR)
    draw = torch.Generator().manual_seed(4)
    state = 0.03 * torch.randn(2, env.scene.model.nq, generator=draw)
    env.engine.set_state(torch.arange(2), torch.stack((state[0], -state[0])), torch.stack((state[1], -state[1])))
    for _ in range(10):
        action = 0.03 * torch.randn(1, generator=draw)
        obs, reward, *_ = env.step(torch.stack((action, mirror.action(action))))
        for group, seen in mirror.observations(obs).items():
            torch.testing.assert_close(obs[group][1], seen[0], atol=1e-5, rtol=1e-4)
        assert float(reward[0]) == pytest.approx(float(reward[1]), abs=1e-5)
    env.close()


def test_mirroring_twice_changes_nothing(env: ManagerBasedRlEnv, scanning: ManagerBasedRlEnv) -> None:
    for made in (env, scanning):
        mirror = Mirror(made, MIRROR)
        obs = {name: torch.randn_like(value) for name, value in made.obs.items()}
        for name, value in mirror.observations(mirror.observations(obs)).items():
            assert torch.equal(value, obs[name])
        action = torch.randn(2, 12)
        assert torch.equal(mirror.action(mirror.action(action)), action)


def test_the_declared_signs_are_those_of_the_joints_axes(env: ManagerBasedRlEnv) -> None:
    """Seen in a mirror, a turn about y stays what it is and turns about x and z go the other way."""
    axes = {leg: env.scene.model.joint(f"robot/{leg}_hip_joint").axis for leg in LEGS}
    assert all(axis.tolist() == [1.0, 0.0, 0.0] for axis in axes.values())
    mirror = Mirror(env, MIRROR)
    assert mirror.action.sign.tolist() == [-1.0, 1.0, 1.0] * 4
    assert mirror.action.index.tolist() == [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]


def test_vectors_change_the_specified_signs(env: ManagerBasedRlEnv) -> None:
    seen = Mirror(env, MIRROR).observations({"critic": torch.ones(1, 48)})["critic"][0]
    ang_vel, gravity, command, lin_vel = seen[:3], seen[3:6], seen[42:45], seen[45:]
    assert ang_vel.tolist() == [-1.0, 1.0, -1.0]
    assert gravity.tolist() == [1.0, -1.0, 1.0]
    assert command.tolist() == [1.0, -1.0, -1.0]
    assert lin_vel.tolist() == [1.0, -1.0, 1.0]


def test_a_mirrored_robot_scans_the_mirrored_ground(scanning: ManagerBasedRlEnv) -> None:
    """A pyramid is its own mirror image: to the left and to the right of its middle the scans mirror each other."""
    middle = scanning.spawn.origin[1:].expand(2, 3)
    sideways = torch.tensor([[0.2, 1.9, 1.0], [0.2, -1.9, 1.0]])
    yaw = torch.tensor([[0.9, 0.0, 0.0, 0.3], [0.9, 0.0, 0.0, -0.3]])
    yaw = torch.nn.functional.normalize(yaw)
    scanning.robot.write_root(torch.arange(2), middle + sideways, yaw)
    scanning.sensors.update()
    scans = scanning.sensors["height_scan"].data
    assert float((scans[0] - scans[1]).abs().max()) > 0.05
    obs = torch.zeros(2, 232)
    obs[:, 45:] = scans
    seen = Mirror(scanning, MIRROR).observations({"policy": obs})["policy"][:, 45:]
    torch.testing.assert_close(seen[0], scans[1], atol=6e-3, rtol=0.0)  # heights come in steps of 5 mm


def test_histories_are_mirrored_frame_by_frame() -> None:
    cfg = tiny(flat(play=True))
    cfg.observations["policy"].history = 3
    env = ManagerBasedRlEnv(cfg)
    frames = torch.randn(2, 3, 45)
    mirror, single = Mirror(env, MIRROR), Mirror(ManagerBasedRlEnv(tiny(flat(play=True))), MIRROR)
    seen = mirror.observations({"policy": frames.flatten(1)})["policy"].view(2, 3, 45)
    assert torch.equal(seen, single.groups["policy"](frames))
    env.close()


def test_a_term_without_a_mirror_image_is_an_error_that_names_it() -> None:
    cfg = tiny(flat(play=True))
    cfg.observations["policy"].terms["calf"] = ObservationTermCfg(mdp.body_ang_vel, params={"body": "FR_calf"})
    env = ManagerBasedRlEnv(cfg)
    with pytest.raises(UserError, match=r"observation term 'policy\.calf' has no mirror image"):
        Mirror(env, MIRROR)
    with pytest.raises(UserError, match="joint 'FR_hip_joint' has no mirror image 'XX_hip_joint'"):
        Mirror(env, MirrorTable(swap=(("FR_", "XX_"),), flip=""))
    env.close()


def agent(**symmetry: Any) -> RslRlOnPolicyRunnerCfg:
    cfg: RslRlOnPolicyRunnerCfg = find("Genelab-Velocity-Flat-Unitree-Go1-v0").agent_cfg(None)
    cfg.actor.hidden_dims = cfg.critic.hidden_dims = (16,)
    cfg.num_steps_per_env = 4
    cfg.algorithm = RslRlPpoCfg(num_learning_epochs=1, num_mini_batches=1)
    cfg.algorithm.symmetry = RslRlSymmetryCfg(table=MIRROR, **symmetry)
    return cfg


def test_a_batch_is_followed_by_its_mirror_image(env: ManagerBasedRlEnv) -> None:
    mirror = Mirror(env, MIRROR)
    obs = TensorDict({name: torch.randn_like(value) for name, value in env.obs.items()}, batch_size=[2])
    column = torch.arange(2.0)[:, None]
    batch = RolloutStorage.Batch(obs, torch.ones(2, 12), column, column, column, column)
    MirrorImages(RslRlSymmetryCfg(table=MIRROR), mirror).append(batch)
    assert batch.observations is not None
    assert batch.actions is not None
    assert batch.returns is not None
    assert torch.equal(batch.observations["policy"][:2], obs["policy"])
    assert torch.equal(batch.observations["policy"][2:], mirror.groups["policy"](obs["policy"]))
    assert batch.actions[2].tolist() == [-1.0, 1.0, 1.0] * 4
    assert batch.returns.flatten().tolist() == [0.0, 1.0, 0.0, 1.0]


def asymmetry_while_learning(env: ManagerBasedRlEnv, **symmetry: Any) -> float:
    """Mean squared difference between action in the mirror and mirrored action, over the epochs of one update."""
    torch.manual_seed(0)
    cfg = agent(**symmetry)
    cfg.algorithm.num_learning_epochs = 20
    learner = RslRlLearner(env, cfg, infos={})
    env.reset(seed=0)
    return learner.run_iteration()[0]["symmetry"]


def test_a_mirror_loss_makes_the_policy_more_symmetric_and_augmentation_learns_too(env: ManagerBasedRlEnv) -> None:
    light, heavy = (asymmetry_while_learning(env, augment=False, mirror_loss=weight) for weight in (1e-6, 10.0))
    assert heavy < 0.9 * light
    assert np.isfinite(asymmetry_while_learning(env))


def test_exact_networks_act_and_judge_in_the_mirror_as_the_mirrored_robot_does(env: ManagerBasedRlEnv) -> None:
    learner = RslRlLearner(env, agent(exact=True), infos={})
    for _ in range(2):  # the normaliser has to be symmetric too
        learner.run_iteration()
    mirror, method = Mirror(env, MIRROR), learner.method
    actor, critic = method.networks().values()
    images = TensorDict(mirror.observations(env.obs), batch_size=[2])
    obs = TensorDict(env.obs, batch_size=[2])
    torch.testing.assert_close(actor(images), mirror.action(actor(obs)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(critic(images), critic(obs), rtol=1e-4, atol=1e-5)


def test_weights_of_exact_networks_are_not_taken_over_by_others(env: ManagerBasedRlEnv) -> None:
    exact, plain = (RslRlLearner(env, agent(exact=value), infos={}) for value in (True, False))
    for ours, theirs in ((exact, plain), (plain, exact)):
        with pytest.raises(UserError, match="symmetric"):
            ours.load_checkpoint(theirs.checkpoint(), weights_only=True)


def test_exact_networks_begin_with_the_mean_over_both_sides_of_a_plain_policy(env: ManagerBasedRlEnv) -> None:
    exact, plain = (RslRlLearner(env, agent(exact=value), infos={}) for value in (True, False))
    origin = {INFO_KEY: {"agent": {"obs_groups": plain.agent_cfg.obs_groups}}}
    exact.begin_with(WarmStart({**plain.checkpoint(), **origin}, WarmStart.of(env)))
    mirror, obs = Mirror(env, MIRROR), TensorDict(env.obs, batch_size=[2])
    images = TensorDict(mirror.observations(env.obs), batch_size=[2])
    before, after = (learner.method.networks()["actor"] for learner in (plain, exact))
    torch.testing.assert_close(after(obs), 0.5 * (before(obs) + mirror.action(before(images))))


def test_exact_networks_are_plain_layers_with_a_constant_deviation(env: ManagerBasedRlEnv) -> None:
    cfg = agent(exact=True)
    assert cfg.actor.distribution is not None
    cfg.actor.distribution.state_dependent = True
    with pytest.raises(UserError, match=r"symmetry\.exact is for MLPs"):
        RslRlLearner(env, cfg, infos={})


def test_the_symmetry_of_an_agent_survives_being_stored() -> None:
    cfg = agent(mirror_loss=0.5)
    assert from_dict(RslRlOnPolicyRunnerCfg, to_dict(cfg, RslRlOnPolicyRunnerCfg)) == cfg


def test_a_symmetry_that_would_do_nothing_is_an_error() -> None:
    with pytest.raises(UserError, match="leave symmetry out"):
        RslRlSymmetryCfg(table=MIRROR, augment=False).validate()
