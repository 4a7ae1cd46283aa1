"""The G1's tasks measure, reward and disturb what was specified, computed here by hand."""

import math
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest
import torch

from genelab import mdp
from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv, StatefulTerm
from genelab.experiment.inference import bundle_directory
from genelab.experiment.probe import directions
from genelab.experiment.setup import resolve
from genelab.mdp.commands import VelocityCommandCfg
from genelab.rl.backends import load_policy
from genelab.rl.checkpoint import read_checkpoint
from genelab.scene.terrain_shapes import LARGE_SIZES
from genelab.tasks.velocity.builder import COMMAND
from genelab.tasks.velocity.g1 import FEET, RUNNING, WALKING, flat, flat_ppo, rough, rough_ppo

FLAT, ROUGH = (f"Genelab-Velocity-{ground}-Unitree-G1-v0" for ground in ("Flat", "Rough"))
WORLDS = torch.arange(4)


@pytest.fixture(scope="module")
def four_worlds() -> Iterator[ManagerBasedRlEnv]:
    cfg = flat(play=True)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation, cfg.simulation.threads = 4, 0.005, 4, 1
    cfg.observations["policy"].noise = False
    made = ManagerBasedRlEnv(cfg, seed=2)
    yield made
    made.close()


@pytest.fixture
def env(four_worlds: ManagerBasedRlEnv) -> ManagerBasedRlEnv:
    """Four worlds at the beginning of an episode."""
    four_worlds.reset(seed=2)
    return four_worlds


def lively(env: ManagerBasedRlEnv) -> None:
    """Every world in its own moving, tilted state, with its own command, far from the origin."""
    draw, n = torch.Generator().manual_seed(1), env.num_envs
    qpos, qvel = env.engine.qpos.clone(), torch.randn(n, 35, generator=draw)
    qpos[:, 0] += 50.0
    qpos[:, 2] = 0.7 + 0.1 * torch.rand(n, generator=draw)
    qpos[:, 3:7] = torch.nn.functional.normalize(qpos[:, 3:7] + 0.2 * torch.randn(n, 4, generator=draw))
    qpos[:, 7:] += 0.2 * torch.randn(n, 29, generator=draw)
    env.engine.set_state(torch.arange(n), qpos, qvel)
    env.command_manager[COMMAND][:] = torch.rand(n, 3, generator=draw) * 2 - 1


def term_of(env: ManagerBasedRlEnv, name: str) -> Any:
    """A reward term as the environment calls it."""
    return next(term for term in env.reward_manager.terms if term.name == name)


def forward(env: ManagerBasedRlEnv, world: int) -> mujoco.MjData:
    """One world in MuJoCo, with all that it knows about velocities."""
    data = env.engine.world_data(world)
    mujoco.mj_comVel(env.scene.model, data)
    mujoco.mj_subtreeVel(env.scene.model, data)
    return data


def object_velocity(env: ManagerBasedRlEnv, data: mujoco.MjData, kind: mujoco.mjtObj, name: str) -> np.ndarray:
    """Angular and linear velocity of a body in its own frame, of a site in the world frame."""
    twist, body = np.zeros(6), kind == mujoco.mjtObj.mjOBJ_XBODY
    named = env.scene.model.body(f"robot/{name}") if body else env.scene.model.site(f"robot/{name}")
    mujoco.mj_objectVelocity(env.scene.model, data, kind, named.id, twist, int(body))
    return twist


# The task


def test_reward_weights_are_the_specified_ones() -> None:
    weights = {
        "track_lin_vel": 2.0,
        "track_ang_vel": 2.0,
        "upright": 1.0,
        "pose": 1.0,
        "air_time": 1.0,
        "torso_ang_vel": -0.05,
        "angular_momentum": -0.02,
        "joint_limits": -1.0,
        "action_rate": -0.1,
        "clearance": -2.0,
        "swing_height": -1.0,
        "slip": -0.1,
        "landing_force": -1e-5,
        "self_collision": -1.0,
    }
    assert {name: term.weight for name, term in flat(play=True).rewards.items()} == weights
    on_rough_ground = {**weights, "clearance": -0.5, "swing_height": -0.25}
    assert {name: term.weight for name, term in rough(play=True).rewards.items()} == on_rough_ground


def test_observations_and_actions_have_the_specified_sizes(env: ManagerBasedRlEnv) -> None:
    assert {group: value.shape[1] for group, value in env.obs.items()} == {"policy": 96, "critic": 111}
    assert env.num_actions == 29


def test_commands_pushes_and_randomisation_are_the_specified_ones() -> None:
    cfg = flat()
    command = cfg.commands[COMMAND]
    assert isinstance(command, VelocityCommandCfg)
    assert (command.lin_x, command.lin_y, command.ang_z) == ((-1.0, 1.0), (-1.0, 1.0), (-0.5, 0.5))
    assert (command.standing_share, command.forward_share, command.resampling_s) == (0.1, 0.2, (3.0, 8.0))
    assert cfg.curriculum["commands"].params["stages"] == (
        (120_000, "lin_x", -1.5, 2.0),
        (120_000, "ang_z", -0.7, 0.7),
        (240_000, "lin_x", -2.0, 3.0),
    )
    push = cfg.events["push"]
    assert (push.interval_s, push.params["xy"], push.params["z"]) == ((1.0, 3.0), 0.5, 0.4)
    assert (push.params["tilt"], push.params["yaw"]) == (0.52, 0.78)
    startup = {name: event.params for name, event in cfg.events.items() if event.mode == "startup"}
    assert {name: params["low"] for name, params in startup.items() if "low" in params} == {"foot_friction": 0.3}
    assert startup["foot_friction"]["high"] == 1.2
    assert startup["torso_com"]["offset"] == (0.025, 0.025, 0.03)
    assert startup["encoder_bias"]["half_width"] == 0.015


def test_agents_and_terrain_are_the_specified_ones() -> None:
    flat_agent, rough_agent = flat_ppo(), rough_ppo()
    assert (flat_agent.max_iterations, flat_agent.algorithm.entropy_coef) == (30_000, 0.01)
    assert (rough_agent.max_iterations, rough_agent.algorithm.entropy_coef) == (6000, 0.0)
    assert rough_agent.algorithm.desired_kl == 0.02
    terrain = rough().scene.terrain
    assert terrain is not None
    assert terrain.sizes == LARGE_SIZES


# Rewards


def test_rewards_of_pelvis_and_torso_are_those_computed_by_hand(env: ManagerBasedRlEnv) -> None:
    lively(env)
    for world in range(env.num_envs):
        data = forward(env, world)
        x, y, z = env.command_manager[COMMAND][world].tolist()
        pelvis = object_velocity(env, data, mujoco.mjtObj.mjOBJ_XBODY, "pelvis")
        torso = object_velocity(env, data, mujoco.mjtObj.mjOBJ_XBODY, "torso_link")
        gravity = data.body("robot/torso_link").xmat.reshape(3, 3).T @ [0.0, 0.0, -1.0]
        w, v = pelvis[:3], pelvis[3:]
        by_hand = {
            "track_lin_vel": math.exp(-((x - v[0]) ** 2 + (y - v[1]) ** 2 + v[2] ** 2) / 0.25),
            "track_ang_vel": math.exp(-((z - w[2]) ** 2 + w[0] ** 2 + w[1] ** 2) / 0.5),
            "upright": math.exp(-(gravity[0] ** 2 + gravity[1] ** 2) / 0.2),
            "torso_ang_vel": torso[0] ** 2 + torso[1] ** 2,
        }
        for name, expected in by_hand.items():
            assert float(term_of(env, name)()[world]) == pytest.approx(expected, rel=1e-3, abs=1e-6), name


def test_angular_momentum_is_the_one_that_mujoco_computes(env: ManagerBasedRlEnv) -> None:
    lively(env)
    squared = term_of(env, "angular_momentum")()
    pelvis = env.scene.model.body("robot/pelvis").id
    for world in range(env.num_envs):
        expected = forward(env, world).subtree_angmom[pelvis]
        np.testing.assert_allclose(env.robot.angular_momentum[world].numpy(), expected, atol=2e-4)
        assert float(squared[world]) == pytest.approx(float((expected**2).sum()), rel=1e-3)


@pytest.mark.parametrize(
    ("command", "sigmas"),
    [
        ((0.04, 0.0, 0.0), None),
        ((0.0, 0.03, 0.03), WALKING),
        ((0.6, 0.8, -0.49), WALKING),
        ((0.6, 0.8, 0.5), RUNNING),
    ],
)
def test_pose_has_the_sigmas_of_the_commanded_speed(
    env: ManagerBasedRlEnv, command: tuple[float, float, float], sigmas: dict[str, float] | None
) -> None:
    lively(env)
    env.command_manager[COMMAND][:] = torch.tensor(command)
    value = term_of(env, "pose")()
    for world in range(env.num_envs):
        errors = []
        for joint, name in enumerate(env.robot.joint_names):
            part = name.removeprefix("left_").removeprefix("right_").removesuffix("_joint")
            sigma = 0.05 if sigmas is None else sigmas.get(part) or sigmas[part.split("_")[0]]
            off = float(env.robot.joint_pos[world, joint] - env.robot.default_joint_pos[joint])
            errors.append((off / sigma) ** 2)
        assert float(value[world]) == pytest.approx(math.exp(-sum(errors) / 29), rel=1e-3, abs=1e-7)


def test_a_pose_needs_one_sigma_for_each_joint(env: ManagerBasedRlEnv) -> None:
    missing = {part: sigma for part, sigma in WALKING.items() if part != "knee"}
    with pytest.raises(UserError, match="walking needs exactly one entry for 'left_knee_joint', not 0: none"):
        mdp.Pose(env, COMMAND, walking=missing, running=RUNNING)
    with pytest.raises(UserError, match="not 2: hip_pitch, hip"):
        mdp.Pose(env, COMMAND, walking={**WALKING, "hip": 1.0}, running=RUNNING)
    with pytest.raises(UserError, match="running has an entry 'tail' that is part of no name"):
        mdp.Pose(env, COMMAND, walking=WALKING, running={**RUNNING, "tail": 1.0})


def test_clearance_is_the_distance_of_feet_from_ten_centimetres_times_their_speed(env: ManagerBasedRlEnv) -> None:
    lively(env)
    env.command_manager[COMMAND][3] = 0.0
    value = term_of(env, "clearance")()
    for world in range(3):
        data, expected = forward(env, world), 0.0
        for foot in FEET:
            velocity = object_velocity(env, data, mujoco.mjtObj.mjOBJ_SITE, foot)
            expected += abs(data.site(f"robot/{foot}").xpos[2] - 0.1) * math.hypot(velocity[3], velocity[4])
        assert float(value[world]) == pytest.approx(expected, rel=1e-3)
    assert float(value[3]) == 0.0


def test_swing_height_counts_the_peak_when_a_foot_touches_down(env: ManagerBasedRlEnv) -> None:
    term = term_of(env, "swing_height").instance
    assert isinstance(term, StatefulTerm)
    data = env.sensors["feet"].data
    env.command_manager[COMMAND][:] = torch.tensor([0.5, 0.0, 0.0])
    env.command_manager[COMMAND][3] = 0.0

    def at(height: float, *, down: bool, landing: bool = False) -> list[float]:
        """The term with both ankles at a height: the left foot on the ground, the right one as told."""
        pos = env.robot.root_pos.clone()
        pos[:, 2] += height - env.robot.site_pos(torch.tensor([1, 2]))[:, 1, 2]
        env.robot.write_root(WORLDS, pos=pos)
        data.in_contact[:], data.first_contact[:] = torch.tensor([True, down]), torch.tensor([False, landing])
        return term(env).tolist()

    for height in (0.06, 0.12, 0.05):
        assert at(height, down=False) == [0.0] * 4
    assert at(0.035, down=True, landing=True) == pytest.approx([0.04, 0.04, 0.04, 0.0], abs=1e-4)  # (1.2 - 1)²
    assert at(0.035, down=True) == [0.0] * 4
    at(0.6, down=False)
    assert at(0.035, down=True, landing=True)[0] == pytest.approx(9.0)  # at most 3
    at(0.6, down=False)
    term.reset(torch.tensor([0]))
    assert at(0.035, down=True, landing=True)[:2] == pytest.approx([1.0, 9.0])


def test_landing_force_is_that_of_feet_that_touch_down(env: ManagerBasedRlEnv) -> None:
    data = env.sensors["feet"].data
    env.command_manager[COMMAND][:] = torch.tensor([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.3]])
    data.force[:] = torch.tensor([[3.0, 0.0, 4.0], [0.0, 6.0, 8.0]])
    data.first_contact[:] = torch.tensor([[True, False], [True, True], [True, True], [False, True]])
    assert term_of(env, "landing_force")().tolist() == [5.0, 15.0, 0.0, 10.0]


def test_air_time_counts_feet_in_the_air_for_a_twentieth_to_half_a_second(env: ManagerBasedRlEnv) -> None:
    env.sensors["feet"].data.air_time[:] = torch.tensor([[0.04, 0.06], [0.49, 0.06], [0.51, 0.2], [0.2, 0.2]])
    env.command_manager[COMMAND][:] = torch.tensor([0.3, 0.0, 0.3])
    env.command_manager[COMMAND][3] = torch.tensor([0.3, 0.0, 0.1])
    assert term_of(env, "air_time")().tolist() == [1.0, 2.0, 1.0, 0.0]


def test_a_limb_costs_from_ten_newtons_on(env: ManagerBasedRlEnv) -> None:
    assert env.cfg.scene.sensors["self"].threshold == 10.0  # type: ignore[attr-defined]
    env.sensors["self"].data.in_contact[0, :2] = True
    env.sensors["feet"].data.in_contact[1] = True
    assert term_of(env, "self_collision")().tolist() == [1.0, 0.0, 0.0, 0.0]


def test_single_support_is_one_foot_in_the_air_for_a_short_time(env: ManagerBasedRlEnv) -> None:
    feet = env.sensors["feet"]
    feet.data.in_contact[:] = torch.tensor([[True, False], [False, True], [True, True], [False, False]])
    feet.data.air_time[:] = 0.1
    env.command_manager[COMMAND][:] = torch.tensor([0.5, 0.0, 0.0])
    assert mdp.single_support(env, feet, COMMAND, threshold=0.1).tolist() == [1.0, 1.0, 0.0, 0.0]
    feet.data.air_time[0] = 0.5  # held up too long
    env.command_manager[COMMAND][1] = 0.0  # to stand
    assert mdp.single_support(env, feet, COMMAND, threshold=0.1).tolist() == [0.0] * 4


# Observations, pushes, ends


def test_the_critic_sees_heights_times_contacts_and_forces_of_the_feet(env: ManagerBasedRlEnv) -> None:
    lively(env)
    data = env.sensors["feet"].data
    data.force[:] = torch.tensor([[3.0, -4.0, 100.0], [0.0, 0.0, 0.0]])
    data.in_contact[:], data.air_time[:] = torch.tensor([True, False]), torch.tensor([0.0, 0.3])
    seen = env.observation_manager.compute()["critic"][:, 99:]
    for world in range(env.num_envs):
        world_data = forward(env, world)
        heights = [world_data.site(f"robot/{foot}").xpos[2] for foot in FEET]
        np.testing.assert_allclose(seen[world, :2].numpy(), heights, atol=1e-5)
        force = world_data.body("robot/pelvis").xmat.reshape(3, 3).T @ [3.0, -4.0, 100.0]
        logs = np.sign(force) * np.log(1 + abs(force))
        np.testing.assert_allclose(seen[world, 6:].numpy(), [*logs, 0.0, 0.0, 0.0], atol=1e-3)
    assert seen[0, 2:6].tolist() == pytest.approx([0.0, 0.3, 1.0, 0.0])


def test_pushes_in_six_axes_set_every_velocity_of_the_root(env: ManagerBasedRlEnv) -> None:
    env.engine.set_state(WORLDS, env.engine.qpos.clone(), torch.full((4, 35), 3.0))
    pushed = torch.arange(2)
    for _ in range(100):
        mdp.push_root(env, pushed, xy=0.5, yaw=0.78, z=0.4, tilt=0.52)
        velocity = env.engine.qvel[pushed, :6].abs()
        assert bool((velocity <= torch.tensor([0.5, 0.5, 0.4, 0.52, 0.52, 0.78])).all())
    assert bool((env.engine.qvel[2:] == 3.0).all())
    assert bool((env.engine.qvel[:, 6:] == 3.0).all())


def test_a_robot_that_sinks_is_told_by_its_height_above_the_ground(env: ManagerBasedRlEnv) -> None:
    pos = env.robot.root_pos.clone()
    pos[:, 2] = torch.tensor([0.76, 0.51, 0.49, -0.2])
    env.robot.write_root(WORLDS, pos=pos)
    assert mdp.root_below(env, 0.5).tolist() == [False, False, True, True]


def test_feet_walk_on_the_flat_part_of_a_height_field_as_on_a_plane(env: ManagerBasedRlEnv) -> None:
    cfg = rough(play=True)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation, cfg.simulation.threads = 6, 0.02 / 3, 3, 1
    assert cfg.scene.terrain is not None
    cfg.scene.terrain.rows = 1  # flat
    field = ManagerBasedRlEnv(cfg, seed=3)
    field.command_manager.terms[COMMAND].hold(torch.tensor([0.5, 0.0, 0.0]).repeat(6, 1))
    walks = load_policy(env, resolve(FLAT, preset="cpu").agent_cfg, read_checkpoint(bundle_directory() / f"{FLAT}.pt"))
    obs, heights = field.reset(seed=3), field.observation_manager.groups["policy"].term_dims["height_scan"]
    fallen = torch.zeros(6, dtype=torch.bool)
    for _ in range(150):
        obs, _, terminated, _, _ = field.step(walks.act({"policy": obs["policy"][:, :-heights]}))
        fallen |= terminated
    field.close()
    assert not bool(fallen.any())


# Presets


def test_what_helps_to_begin_fades_and_is_not_in_the_task() -> None:
    setup, task = resolve(FLAT, preset="cpu"), flat()
    shaped, steps = setup.env_cfg, 24 * setup.agent_cfg.max_iterations
    aids = {name: shaped.rewards[name].ramp for name in shaped.rewards if name not in task.rewards}
    assert {name: ramp.end for name, ramp in aids.items()} == dict.fromkeys(
        ("progress", "single_support", "alive", "nearness"), 0.0
    )
    end = aids["alive"].steps
    assert aids["nearness"].after == end
    assert end < steps
    assert all(ramp.factor(steps) == 0.0 for ramp in aids.values())
    ramps = [term.ramp for name, term in shaped.rewards.items() if name in task.rewards and term.ramp]
    assert all((ramp.end, ramp.steps) == (1.0, end) for ramp in ramps)
    assert shaped.events["push"].after == shaped.events["single_axis"].after == end
    assert {**shaped.events["push"].params} == task.events["push"].params


@pytest.mark.parametrize(
    ("task_id", "preset", "names"),
    [(ROUGH, "cpu", {"lift", "nearness"}), (ROUGH, "long", {"lift", "nearness"})],
)
def test_what_helps_a_robot_that_walks_fades_and_is_not_in_the_task(task_id: str, preset: str, names: set[str]) -> None:
    setup, task = resolve(task_id, preset=preset), rough() if task_id == ROUGH else flat()
    aids = {name: term for name, term in setup.env_cfg.rewards.items() if name not in task.rewards}
    assert set(aids) == names
    assert {term.ramp.end for term in aids.values()} == {0.0}
    end = 24 * setup.agent_cfg.max_iterations
    assert all((term.ramp.factor(0), term.ramp.factor(end)) == (1.0, 0.0) for term in aids.values())
    assert {name: setup.env_cfg.rewards[name] for name in task.rewards} == task.rewards


def test_a_training_that_goes_on_has_the_rewards_of_the_task() -> None:
    assert resolve(FLAT, preset="long").env_cfg.rewards == flat().rewards


@pytest.mark.parametrize("preset", ["cpu", "long"])
def test_play_has_nothing_of_a_preset_but_its_physics(preset: str) -> None:
    played, at_rest = resolve(FLAT, play=True, preset=preset).env_cfg, flat(play=True)
    at_rest.simulation.dt, at_rest.simulation.jacobian, at_rest.decimation = 0.02 / 3, "sparse", 3
    assert played == at_rest


@pytest.mark.parametrize("preset", ["cpu", "long"])
def test_presets_keep_the_control_rate(preset: str) -> None:
    for task in (FLAT, ROUGH):
        assert resolve(task, preset=preset).env_cfg.control_dt == pytest.approx(0.02)


def test_a_probe_gives_the_commands_that_training_begins_with() -> None:
    commands = directions(flat(play=True).commands[COMMAND])  # type: ignore[arg-type]
    assert [command[2] for command in commands if command[2]] == [0.5, 0.25, -0.25, -0.5]
    assert [command[0] for command in commands if command[0]] == [1.0, 0.5, -0.5, -1.0]
    assert len(commands) == 13
