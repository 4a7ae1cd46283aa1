"""The step loop: order, final observations, endings, rewards, resets, state, failures and build-time errors."""

import math

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from genelab import mdp
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.envs import (
    CurriculumTermCfg,
    DoneTermCfg,
    EventTermCfg,
    JointRef,
    ManagerBasedEnv,
    ManagerBasedEnvCfg,
    ManagerBasedRlEnv,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SimulationCfg,
    StatefulTerm,
    SuccessTermCfg,
)
from genelab.mdp import JointPositionActionCfg, UniformCommandCfg
from genelab.scene.robots.cartpole import single_pole
from genelab.scene.scene import GroundCfg, SceneCfg

SINGLE, DOUBLE, MEMORY = (
    "GeneLab-Inverted-Pendulum-v0",
    "GeneLab-Double-Inverted-Pendulum-v0",
    "GeneLab-Inverted-Pendulum-Memory-v0",
)
TASKS = (SINGLE, DOUBLE, MEMORY)
DT = 0.01


def config(task: str = SINGLE, num_envs: int = 4, play: bool = True) -> ManagerBasedRlEnvCfg:
    cfg = find(task).env_cfg(play=play)
    cfg.num_envs = num_envs
    cfg.simulation.threads = 1
    return cfg


def make(task: str = SINGLE, num_envs: int = 4, play: bool = True, seed: int = 0) -> ManagerBasedRlEnv:
    return ManagerBasedRlEnv(config(task, num_envs, play), seed)


def place(env: ManagerBasedRlEnv, world: int, qpos: list[float], qvel: list[float] | None = None) -> None:
    velocity = torch.tensor([qvel or [0.0] * len(qpos)])
    env.engine.set_state(torch.tensor([world]), torch.tensor([qpos]), velocity)


def random_actions(steps: int, env: ManagerBasedRlEnv, seed: int = 0, scale: float = 0.5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(steps, env.num_envs, env.num_actions, generator=generator)


def no_action(env: ManagerBasedRlEnv) -> Tensor:
    return torch.zeros(env.num_envs, env.num_actions)


def clean_observation(qpos: Tensor, qvel: Tensor, action: Tensor) -> Tensor:
    """The single pendulum's observation, by hand.  (N, 8)"""
    ang_vel = torch.zeros(len(qpos), 3)
    ang_vel[:, 1] = qvel[:, 1]
    return torch.cat((qpos, 0.1 * qvel, 0.2 * ang_vel, action), dim=1)


# Observations ---------------------------------------------------------------------------------------------------------


def test_critic_observation_is_the_clean_scaled_state_in_the_specified_order():
    env = make()
    action = random_actions(1, env)[0]
    obs, *_ = env.step(action)
    expected = clean_observation(env.engine.qpos, env.engine.qvel, action)
    torch.testing.assert_close(obs["critic"], expected, atol=1e-6, rtol=1e-5)


def test_actor_noise_stays_within_its_bounds_and_spares_the_last_action():
    env = make(num_envs=500)
    obs, *_ = env.step(random_actions(1, env)[0])
    difference = (obs["policy"] - obs["critic"]).abs()
    bounds = torch.tensor([0.005] * 2 + [0.05 * 0.1] * 2 + [0.1 * 0.2] * 3 + [0.0])
    assert (difference <= bounds + 1e-6).all()
    assert (difference.amax(dim=0)[:7] > 0.9 * bounds[:7]).all()


def test_actor_noise_is_centred_and_new_in_every_step():
    env = make(num_envs=500)
    first, *_ = env.step(no_action(env))
    second, *_ = env.step(no_action(env))
    noise = [obs["policy"] - obs["critic"] for obs in (first, second)]
    assert noise[0].mean(dim=0).abs().max() < 0.002
    assert not torch.equal(noise[0], noise[1])


# Endings --------------------------------------------------------------------------------------------------------------


def test_final_observation_is_the_true_last_one_before_the_reset():
    env = make()
    qpos, qvel, action = [0.1, 0.45], [0.2, 0.3], 0.15
    place(env, 1, qpos, qvel)
    obs, _, terminated, _, extras = env.step(torch.full((4, 1), action))
    assert terminated.tolist() == [False, True, False, False]

    model = env.scene.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, action
    mujoco.mj_step(model, data, env.cfg.decimation)
    reached = [torch.tensor(x, dtype=torch.float32)[None] for x in (data.qpos, data.qvel)]
    expected = clean_observation(*reached, torch.tensor([[action]]))
    torch.testing.assert_close(extras["final_obs"]["critic"][1], expected[0], atol=1e-5, rtol=1e-4)
    assert abs(obs["critic"][1, 1]) <= 0.05 < 0.4 < extras["final_obs"]["critic"][1, 1]


def test_final_observation_equals_the_observation_where_nothing_ended():
    env = make()
    place(env, 1, [0.0, 0.5])
    obs, *_, extras = env.step(no_action(env))
    others = [0, 2, 3]
    for group in ("policy", "critic"):
        assert torch.equal(extras["final_obs"][group][others], obs[group][others])


def test_final_observation_is_the_observation_when_no_episode_ends():
    env = make()
    obs, *_, extras = env.step(no_action(env))
    assert all(torch.equal(extras["final_obs"][group], obs[group]) for group in obs)


def test_final_observation_with_history_holds_the_frames_of_the_ended_episode():
    cfg = config()
    cfg.observations["critic"].history = 3
    env = ManagerBasedRlEnv(cfg)
    place(env, 1, [0.0, 0.3], [0.0, 0.0])
    before = env.step(no_action(env))[0]["critic"][1].view(3, 8)
    place(env, 1, [0.0, 0.5], [0.0, 0.0])
    obs, _, terminated, _, extras = env.step(no_action(env))
    assert terminated[1]
    frames = extras["final_obs"]["critic"][1].view(3, 8)
    assert torch.equal(frames[:2], before[1:])
    assert frames[2, 1] > 0.4
    assert obs["critic"][1].view(3, 8)[:, 1].abs().max() <= 0.05


def test_kept_observations_are_not_overwritten_by_later_steps():
    cfg = config()
    cfg.observations["policy"].history = 2
    env = ManagerBasedRlEnv(cfg)
    place(env, 1, [0.0, 0.5])
    obs, *_, extras = env.step(no_action(env))
    kept = [*obs.values(), *extras["final_obs"].values()]
    copies = [value.clone() for value in kept]
    place(env, 2, [0.0, 0.5])
    env.step(no_action(env))
    assert all(torch.equal(value, copy) for value, copy in zip(kept, copies, strict=True))


def test_a_fall_is_a_termination_and_not_a_truncation():
    env = make()
    place(env, 2, [0.0, 0.5])
    _, _, terminated, truncated, _ = env.step(no_action(env))
    assert terminated.tolist() == [False, False, True, False]
    assert not truncated.any()


def test_reaching_the_episode_length_is_a_truncation_and_not_a_termination():
    env = make()
    env.episode_length_buf[2] = env.max_episode_length - 1
    _, _, terminated, truncated, _ = env.step(no_action(env))
    assert truncated.tolist() == [False, False, True, False]
    assert not terminated.any()


def test_falling_in_the_very_last_step_counts_as_termination_only():
    env = make()
    env.episode_length_buf[2] = env.max_episode_length - 1
    place(env, 2, [0.0, 0.5])
    _, _, terminated, truncated, extras = env.step(no_action(env))
    assert terminated[2]
    assert not truncated.any()
    assert not extras["is_success"].any()


def test_worlds_that_ended_start_a_new_episode_and_others_go_on():
    env = make()
    env.step(no_action(env))
    place(env, 1, [0.0, 0.5])
    obs, *_ = env.step(torch.full((4, 1), 0.2))
    assert env.episode_length_buf.tolist() == [2, 0, 2, 2]
    assert env.engine.qpos[1].abs().max() <= 0.05
    assert env.engine.qvel[1].abs().max() <= 0.05
    torch.testing.assert_close(obs["critic"][:, 7], torch.tensor([0.2, 0.0, 0.2, 0.2]))


def test_the_first_observation_of_a_new_episode_is_that_of_its_start():
    env = make()
    place(env, 1, [0.0, 0.5])
    obs, *_ = env.step(no_action(env))
    expected = clean_observation(env.engine.qpos, env.engine.qvel, no_action(env))
    torch.testing.assert_close(obs["critic"], expected, atol=1e-6, rtol=1e-5)


def test_success_is_reaching_the_time_out():
    env = make()
    env.episode_length_buf[0] = env.max_episode_length - 1
    place(env, 1, [0.0, 0.5])
    *_, extras = env.step(no_action(env))
    assert extras["is_success"].tolist() == [True, False, False, False]
    assert extras["finished"].env_ids.tolist() == [0, 1]
    assert extras["finished"].success.tolist() == [True, False]


def test_success_is_told_only_where_an_episode_ends():
    cfg = config()
    cfg.success = SuccessTermCfg(lambda env: torch.ones(env.num_envs, dtype=torch.bool))
    env = ManagerBasedRlEnv(cfg)
    *_, extras = env.step(no_action(env))
    assert not extras["is_success"].any()
    place(env, 1, [0.0, 0.5])
    *_, extras = env.step(no_action(env))
    assert extras["is_success"].tolist() == [False, True, False, False]


def test_finished_is_none_while_no_episode_ends():
    env = make()
    *_, extras = env.step(no_action(env))
    assert extras["finished"] is None


# Rewards --------------------------------------------------------------------------------------------------------------


def single_reward(env, action_change: Tensor) -> Tensor:
    x, th = env.engine.qpos.unbind(1)
    xd, thd = env.engine.qvel.unbind(1)
    return 1 + 3 * th.cos() - 0.5 * th**2 - 0.05 * x**2 - 0.005 * xd**2 - 0.01 * thd**2 - 0.005 * action_change**2


def memory_reward(env, action_change: Tensor) -> Tensor:
    x = env.engine.qpos[:, 0]
    target = env.command_manager["target"][:, 0]
    return single_reward(env, action_change) + 0.05 * x**2 - 10 * (x - target) ** 2


def double_reward(env, action_change: Tensor) -> Tensor:
    x, th1, th2 = env.engine.qpos.unbind(1)
    xd, thd1, thd2 = env.engine.qvel.unbind(1)
    upright = (th1.cos() + (th1 + th2).cos()) / 2
    joints = -0.5 * (th1 - th2) ** 2 - 0.005 * (thd1**2 + thd2**2)
    return 1 + 4 * upright + joints - 0.05 * x**2 - 0.005 * xd**2 - 0.005 * action_change**2


@pytest.mark.parametrize(
    ("task", "by_hand"), [(SINGLE, single_reward), (DOUBLE, double_reward), (MEMORY, memory_reward)]
)
def test_rewards_are_the_specified_weighted_sums_times_the_control_step(task, by_hand):
    env = make(task, num_envs=8)
    generator = torch.Generator().manual_seed(3)
    shape = (8, env.engine.qpos.shape[1])
    qpos = 0.5 * torch.rand(shape, generator=generator) - 0.25
    env.engine.set_state(torch.arange(8), qpos, 2 * torch.rand(shape, generator=generator) - 1)
    first, second = random_actions(2, env)
    env.step(first)
    _, rewards, terminated, truncated, _ = env.step(second)
    assert not (terminated | truncated).any()
    torch.testing.assert_close(rewards, env.step_dt * by_hand(env, (second - first)[:, 0]), atol=1e-6, rtol=1e-5)


def test_rewards_are_not_scaled_by_the_control_step_when_switched_off():
    scaled, unscaled = config(), config()
    unscaled.scale_rewards_by_dt = False
    a, b = ManagerBasedRlEnv(scaled), ManagerBasedRlEnv(unscaled)
    torch.testing.assert_close(b.step(no_action(b))[1] * DT, a.step(no_action(a))[1])


def test_the_return_of_a_finished_episode_is_the_sum_of_its_rewards():
    env = make(num_envs=3)
    total = torch.zeros(3, dtype=torch.float64)
    for action in random_actions(40, env, scale=0.2):
        total += env.step(action)[1]
    place(env, 1, [0.0, 0.5])
    _, rewards, _, _, extras = env.step(no_action(env))
    total += rewards
    finished = extras["finished"]
    assert finished.env_ids.tolist() == [1]
    assert finished.lengths.tolist() == [41]
    torch.testing.assert_close(finished.returns, total[[1]], atol=1e-6, rtol=1e-6)


def test_finished_episodes_carry_the_sum_of_each_reward_term():
    env = make(num_envs=2)
    cart, actions = 0.0, random_actions(10, env, scale=0.1)
    for action in actions:
        env.step(action)
        cart += -0.05 * DT * env.engine.qpos[1, 0].item() ** 2
    env.episode_length_buf[1] = env.max_episode_length - 1
    before = env.reward_manager.episode_sums[:, 1].clone()
    *_, extras = env.step(no_action(env))
    names = list(env.cfg.rewards)
    terms = extras["finished"].reward_terms[:, 0]
    assert terms[names.index("alive")].item() == pytest.approx(11 * DT, rel=1e-6)
    assert before[names.index("cart_position")].item() == pytest.approx(cart, rel=1e-4, abs=1e-9)
    torch.testing.assert_close(terms.sum(), extras["finished"].returns[0])


def test_episode_sums_start_again_with_a_new_episode():
    env = make(num_envs=2)
    env.step(no_action(env))
    place(env, 1, [0.0, 0.5])
    env.step(no_action(env))
    alive = list(env.cfg.rewards).index("alive")
    torch.testing.assert_close(env.reward_manager.episode_sums[alive], torch.tensor([2 * DT, 0.0]).double())


def test_episode_statistics_are_means_over_the_finished_episodes():
    env = make()
    env.episode_length_buf[0] = env.max_episode_length - 1
    place(env, 1, [0.0, 0.5])
    env.step(no_action(env))
    stats = env.pop_episode_stats()
    assert stats["success_rate"] == 0.5
    assert stats["termination/time_out"] == stats["termination/fallen_hinge"] == 0.5
    assert stats["reward/alive"] == pytest.approx(DT)
    assert set(env.pop_episode_stats()) == {"failed_worlds"}


# Resets and randomness ------------------------------------------------------------------------------------------------


def test_reset_with_a_seed_reproduces_the_episode():
    env = make(play=False)

    def rollout() -> list[Tensor]:
        frames = [env.reset(seed=7)["policy"]]
        for action in random_actions(60, env):
            obs, rewards, *_ = env.step(action)
            frames += [obs["policy"], obs["critic"], rewards]
        return [frame.clone() for frame in frames]

    first, second = rollout(), rollout()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_different_seeds_start_differently():
    env = make()
    assert not torch.equal(env.reset(seed=1)["critic"], env.reset(seed=2)["critic"])


def test_an_environment_made_with_a_seed_starts_as_one_that_is_reset_with_it():
    env = make(seed=5)
    first = env.obs["policy"].clone()
    assert torch.equal(env.reset(seed=5)["policy"], first)


def test_reset_without_a_seed_goes_on_with_new_samples():
    env = make()
    assert not torch.equal(env.reset()["critic"], env.reset()["critic"])


def test_building_and_running_an_environment_leaves_the_global_generators_alone():
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    env = make(MEMORY, play=False)
    for action in random_actions(5, env):
        env.step(action)
    env.reset(seed=1)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)


def test_the_number_of_physics_threads_changes_nothing():
    one, two = config(DOUBLE, 16, play=False), config(DOUBLE, 16, play=False)
    two.simulation.threads = 2
    a, b = ManagerBasedRlEnv(one), ManagerBasedRlEnv(two)
    for action in random_actions(50, a):
        assert torch.equal(a.step(action)[0]["policy"], b.step(action)[0]["policy"])


def test_a_step_computes_on_one_torch_thread_so_that_physics_has_the_others():
    seen = []

    def threads(env: ManagerBasedRlEnv) -> Tensor:
        seen.append(torch.get_num_threads())
        return torch.zeros(env.num_envs)

    cfg = config()
    cfg.rewards["threads"] = RewardTermCfg(threads, weight=1.0)
    env = ManagerBasedRlEnv(cfg)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        env.step(torch.zeros(4, 1))
        assert (seen[-1], torch.get_num_threads()) == (1, 2)
    finally:
        torch.set_num_threads(before)


def test_randomised_episode_starts_are_spread_over_the_episode():
    env = make(num_envs=400)
    env.randomize_episode_start()
    assert env.episode_length_buf.min() >= 0
    assert env.episode_length_buf.max() < env.max_episode_length
    assert len(env.episode_length_buf.unique()) > 200


def test_an_action_of_the_wrong_shape_is_an_error():
    env = make()
    for shape in ((4,), (4, 2), (1, 1), (3, 1)):
        with pytest.raises(UserError, match="action"):
            env.step(torch.zeros(shape))


# State ----------------------------------------------------------------------------------------------------------------


def scale_mass(env: ManagerBasedRlEnv, env_ids: Tensor) -> None:
    mass = env.engine.model_field("body_mass")[env_ids]
    env.engine.set_model_field("body_mass", env_ids, mass * env.streams.uniform("mass", (len(env_ids), 1), 0.8, 1.2))


class Smoothed(StatefulTerm):
    """A running mean of the joint positions."""

    state = ("mean",)

    def __init__(self, env: ManagerBasedRlEnv):
        self.mean = torch.zeros(env.num_envs, 2)

    def __call__(self, env: ManagerBasedRlEnv) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * env.robot.joint_pos
        return self.mean.square().sum(dim=1)

    def reset(self, env_ids: Tensor) -> None:
        self.mean[env_ids] = 0.0


def with_frequent_pushes(task: str) -> ManagerBasedRlEnvCfg:
    cfg = config(task, 16, play=False)
    if "push" in cfg.events:
        cfg.events["push"].interval_s = (0.03, 0.15)
    return cfg


def with_everything() -> ManagerBasedRlEnvCfg:
    cfg = with_frequent_pushes(SINGLE)
    cfg.actions["cart"].latency = (0, 3)
    cfg.actions["cart"].noise = 0.05
    cfg.observations["policy"].history = 4
    cfg.commands = {"target": UniformCommandCfg(low=(-1.0,), high=(1.0,), resampling_s=(0.05, 0.2))}
    cfg.observations["critic"].terms["target"] = ObservationTermCfg(mdp.generated_command, params={"command": "target"})
    cfg.rewards["smoothed"] = RewardTermCfg(Smoothed, weight=-1.0)
    cfg.events["mass"] = EventTermCfg(scale_mass, mode="startup")
    cfg.episode_length_s = 1.0
    return cfg


STATE_CONFIGS = {
    "single": lambda: with_frequent_pushes(SINGLE),
    "double": lambda: with_frequent_pushes(DOUBLE),
    "memory": lambda: with_frequent_pushes(MEMORY),
    "everything": with_everything,
}


@pytest.mark.parametrize("name", STATE_CONFIGS)
def test_a_restored_environment_continues_bit_for_bit(name):
    env = ManagerBasedRlEnv(STATE_CONFIGS[name](), seed=1)
    for action in random_actions(50, env, seed=1):
        env.step(action)
    state = env.state_dict()
    fresh = ManagerBasedRlEnv(STATE_CONFIGS[name](), seed=2)
    fresh.load_state_dict(state)
    assert all(torch.equal(fresh.obs[group], env.obs[group]) for group in env.obs)
    ended = 0
    for action in random_actions(300, env, seed=2):
        expected, got = env.step(action), fresh.step(action)
        ended += int((expected[2] | expected[3]).sum())
        for a, b in zip(expected[1:4], got[1:4], strict=True):
            assert torch.equal(a, b)
        for group in expected[0]:
            assert torch.equal(expected[0][group], got[0][group])
            assert torch.equal(expected[4]["final_obs"][group], got[4]["final_obs"][group])
    assert ended > 5
    assert torch.equal(env.reward_manager.episode_sums, fresh.reward_manager.episode_sums)
    assert list(env.episode_stats.returns) == list(fresh.episode_stats.returns)


def test_a_state_survives_being_saved_to_a_file(tmp_path):
    env = ManagerBasedRlEnv(with_everything(), seed=1)
    for action in random_actions(10, env):
        env.step(action)
    torch.save(env.state_dict(), tmp_path / "state.pt")
    fresh = ManagerBasedRlEnv(with_everything(), seed=2)
    fresh.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for action in random_actions(20, env, seed=3):
        assert torch.equal(env.step(action)[0]["policy"], fresh.step(action)[0]["policy"])


# Failures -------------------------------------------------------------------------------------------------------------


def break_world(env: ManagerBasedRlEnv, world: int) -> None:
    place(env, world, [math.nan, 0.0])


def test_a_failed_world_is_terminated_with_reward_zero_and_counted():
    env = make()
    break_world(env, 2)
    _, rewards, terminated, truncated, extras = env.step(no_action(env))
    assert terminated.tolist() == [False, False, True, False]
    assert not truncated.any()
    assert rewards[2] == 0.0
    assert (rewards[[0, 1, 3]] > 0.0).all()
    assert env.failed_worlds == 1
    assert not extras["is_success"].any()
    assert env.pop_episode_stats()["failed_worlds"] == 1.0


def test_a_failed_world_starts_a_new_episode_with_finite_observations():
    env = make()
    break_world(env, 2)
    obs, *_, extras = env.step(no_action(env))
    assert env.episode_length_buf.tolist() == [1, 1, 0, 1]
    for group in ("policy", "critic"):
        assert obs[group].isfinite().all()
        assert extras["final_obs"][group].isfinite().all()
    assert env.engine.qpos[2].abs().max() <= 0.05


def test_a_world_that_fails_in_its_last_step_is_terminated_and_no_success():
    env = make()
    env.episode_length_buf[2] = env.max_episode_length - 1
    break_world(env, 2)
    _, _, terminated, truncated, extras = env.step(no_action(env))
    assert terminated[2]
    assert not truncated[2]
    assert not extras["is_success"][2]


def test_a_failed_world_does_not_affect_the_others():
    broken, healthy = make(), make()
    break_world(broken, 2)
    others = [0, 1, 3]
    for action in random_actions(20, broken, scale=0.05):
        got, expected = broken.step(action), healthy.step(action)
        assert torch.equal(got[0]["critic"][others], expected[0]["critic"][others])
        assert torch.equal(got[1][others], expected[1][others])
        assert torch.equal(got[2][others], expected[2][others])


def test_an_action_that_is_not_a_number_fails_its_world_only_and_leaves_no_trace():
    env = make()
    action = no_action(env)
    action[1] = math.nan
    obs, rewards, terminated, _, extras = env.step(action)
    assert terminated.tolist() == [False, True, False, False]
    assert env.failed_worlds == 1
    assert rewards.isfinite().all()
    assert rewards[1] == 0.0
    assert obs["policy"].isfinite().all()
    assert extras["finished"].returns.isfinite().all()
    obs, rewards, terminated, _, _ = env.step(no_action(env))
    assert not terminated.any()
    assert rewards.isfinite().all()
    assert obs["policy"].isfinite().all()


# Errors at build time -------------------------------------------------------------------------------------------------


def two_columns(env):
    return torch.zeros(env.num_envs, 2)


def one_column(env):
    return torch.zeros(env.num_envs)


def one_number(env):
    return 1.0


def one_world_too_many(env):
    return torch.zeros(env.num_envs + 1)


def raises(env):
    raise ZeroDivisionError("no such thing")


def event_raises(env, env_ids):
    raise ZeroDivisionError("no such thing")


def event_on_a_joint(env, env_ids, joint: JointRef):
    pass


class FailsToStart(StatefulTerm):
    def __init__(self, env):
        raise ZeroDivisionError("no such thing")


def reward(func, **params):
    return "rewards", RewardTermCfg(func, weight=1.0, params=params)


def done(func, **params):
    return "terminations", DoneTermCfg(func, params=params)


def metric(func, **params):
    return "metrics", MetricTermCfg(func, params=params)


BROKEN_TERMS = {
    "reward with two columns": (reward(two_columns), r"reward term 'bad' returned shape \(4, 2\), expected \(4,\)"),
    "reward for too many worlds": (reward(one_world_too_many), r"reward term 'bad' returned shape \(5,\)"),
    "reward that is a number": (reward(one_number), r"reward term 'bad' returned float, expected a tensor"),
    "reward that raises": (reward(raises), r"reward term 'bad' fails: ZeroDivisionError: no such thing"),
    "reward that cannot be made": (reward(FailsToStart), r"reward term 'bad'.*no such thing"),
    "reward on an unknown joint": (
        reward(mdp.cos_joint, joint="hing"),
        r"reward term 'bad': joint 'hing' is not in 'robot' \(did you mean 'hinge'\?\)",
    ),
    "reward on unknown joints": (reward(mdp.joint_pos_l2, joints=("slide", "elbow.*")), r"reward term 'bad'.*elbow"),
    "one joint that is two": (reward(mdp.cos_joint, joint=".*"), r"reward term 'bad'.*2 joint"),
    "termination that is not bool": (
        done(one_column),
        r"termination term 'bad' returned torch.float32, expected torch.bool",
    ),
    "termination on an unknown joint": (
        done(mdp.joint_beyond, joint="slid", limit=1.0),
        r"termination term 'bad'.*'slid'.*did you mean 'slide'",
    ),
    "metric with two columns": (metric(two_columns), r"metric term 'bad' returned shape"),
    "event that raises": (("events", EventTermCfg(event_raises)), r"event term 'bad' fails: ZeroDivisionError"),
    "startup event that raises": (("events", EventTermCfg(event_raises, mode="startup")), r"event term 'bad' fails"),
    "interval event on an unknown joint": (
        ("events", EventTermCfg(event_on_a_joint, mode="interval", interval_s=(1.0, 2.0), params={"joint": "slde"})),
        r"event term 'bad'.*'slde'.*did you mean 'slide'",
    ),
    "curriculum that raises": (("curriculum", CurriculumTermCfg(event_raises)), r"curriculum term 'bad' fails"),
    "action on an unknown joint": (
        ("actions", JointPositionActionCfg(joints="slid")),
        r"action term 'bad'.*'slid'.*did you mean 'slide'",
    ),
    "action on a joint without actuator": (
        ("actions", JointPositionActionCfg(joints="hinge")),
        r"action term 'bad'.*'hinge'.*no actuator",
    ),
    "action with an impossible latency": (
        ("actions", JointPositionActionCfg(joints="slide", latency=(3, 1))),
        r"env.actions.bad.latency must be a lower and an upper end",
    ),
    "command with corners of different size": (
        ("commands", UniformCommandCfg(low=(0.0,), high=(1.0, 2.0))),
        r"env.commands.bad.low has 1 values and high 2",
    ),
}


@pytest.mark.parametrize("name", BROKEN_TERMS)
def test_a_broken_term_is_an_error_at_build_time_that_names_it(name):
    (section, term), message = BROKEN_TERMS[name]
    cfg = config()
    getattr(cfg, section)["bad"] = term
    with pytest.raises(UserError, match=message):
        ManagerBasedRlEnv(cfg)


BROKEN_OBSERVATIONS = {
    "one dimension": (one_column, {}, r"observation term 'critic.bad' returned shape \(4,\), expected \(4, d\)"),
    "raises": (raises, {}, r"observation term 'critic.bad' fails: ZeroDivisionError"),
    "unknown body": (
        mdp.body_ang_vel,
        {"body": "pol"},
        r"observation term 'critic.bad': body 'pol'.*did you mean 'pole'",
    ),
    "unknown command": (
        mdp.generated_command,
        {"command": "targt"},
        r"observation term 'critic.bad': unknown command 'targt'.*did you mean 'target'",
    ),
}


@pytest.mark.parametrize("name", BROKEN_OBSERVATIONS)
def test_a_broken_observation_is_an_error_at_build_time_that_names_its_group_and_term(name):
    func, params, message = BROKEN_OBSERVATIONS[name]
    cfg = config(MEMORY)
    cfg.observations["critic"].terms["bad"] = ObservationTermCfg(func, params=params)
    with pytest.raises(UserError, match=message):
        ManagerBasedRlEnv(cfg)


def test_observations_are_float32_whatever_their_terms_return():
    cfg = config()
    cfg.observations["critic"].terms["double"] = ObservationTermCfg(lambda env: env.robot.joint_pos.double())
    cfg.observations["critic"].terms["flag"] = ObservationTermCfg(lambda env: env.robot.joint_pos > 0)
    assert ManagerBasedRlEnv(cfg).obs["critic"].dtype == torch.float32


def test_a_success_term_that_is_not_bool_is_an_error_that_names_it():
    cfg = config()
    cfg.success = SuccessTermCfg(one_column)
    with pytest.raises(UserError, match="success term 'success' returned"):
        ManagerBasedRlEnv(cfg)


def test_a_missing_parameter_is_an_error_that_names_the_function_and_the_parameter():
    with pytest.raises(UserError, match="joint_beyond needs the parameter 'limit'"):
        DoneTermCfg(mdp.joint_beyond, params={"joint": "hinge"})


def test_an_unknown_parameter_is_an_error_with_the_nearest_name():
    with pytest.raises(UserError, match=r"cos_joint has no parameter 'join' \(did you mean 'joint'\?\)"):
        RewardTermCfg(mdp.cos_joint, weight=1.0, params={"join": "hinge"})


def test_parameters_are_completed_with_the_defaults_of_the_function():
    def term(env, gain: float = 2.0):
        return gain * torch.ones(env.num_envs)

    assert RewardTermCfg(term, weight=1.0).params == {"gain": 2.0}


@pytest.mark.parametrize("mode", ["reset", "startup"])
def test_an_interval_goes_only_with_interval_events(mode):
    with pytest.raises(UserError, match="interval_s"):
        EventTermCfg(event_raises, mode=mode, interval_s=(1.0, 2.0))
    with pytest.raises(UserError, match="interval_s"):
        EventTermCfg(event_raises, mode="interval")


def test_an_empty_observation_group_is_an_error():
    cfg = config()
    cfg.observations["critic"].terms.clear()
    with pytest.raises(UserError, match="'critic' has no terms"):
        ManagerBasedRlEnv(cfg)


@pytest.mark.parametrize(("field", "value"), [("num_envs", 0), ("decimation", 0)])
def test_sizes_below_one_are_errors(field, value):
    cfg = config()
    setattr(cfg, field, value)
    with pytest.raises(UserError, match=field):
        ManagerBasedRlEnv(cfg)


def test_a_gpu_that_is_not_there_is_a_users_error():
    cfg = config()
    cfg.simulation.gpu = True
    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(UserError, match="CUDA"):
        ManagerBasedRlEnv(cfg)


# Playback and frames --------------------------------------------------------------------------------------------------


def drive_to_thirty_centimetres(env: ManagerBasedEnv, step: int) -> None:
    env.engine.ctrl[:] = 0.3 if step >= 10 else 0.0


def playback_env(playback) -> ManagerBasedEnv:
    return ManagerBasedEnv(
        ManagerBasedEnvCfg(
            scene=SceneCfg(robots={"robot": single_pole()}, ground=GroundCfg(collide=False)),
            simulation=SimulationCfg(dt=0.005, threads=1),
            num_envs=2,
            decimation=2,
            playback=playback,
        )
    )


def test_a_scene_plays_back_without_any_learning():
    env = playback_env(drive_to_thirty_centimetres)
    for _ in range(10):
        env.play_step()
    assert env.robot.joint_pos.abs().max() < 1e-6
    for _ in range(300):
        env.play_step()
    torch.testing.assert_close(env.robot.joint_pos[:, 0], torch.full((2,), 0.3), atol=0.05, rtol=0)
    assert env.step_count == 310


def test_a_scene_without_playback_function_leaves_the_controls_at_zero():
    env = playback_env(None)
    for _ in range(5):
        env.play_step()
    assert not env.engine.ctrl.any()
    assert env.step_count == 5


def test_an_unknown_camera_is_an_error_with_the_nearest_name():
    cfg = config()
    cfg.camera = "robot/sid"
    with pytest.raises(UserError, match="did you mean 'robot/side'"):
        ManagerBasedRlEnv(cfg).render()
