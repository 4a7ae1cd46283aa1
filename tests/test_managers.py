"""What each manager promises, on small pendulum environments."""

import itertools

import pytest
import torch
from torch import Tensor

from genelab import mdp
from genelab.core.registry import find
from genelab.envs import (
    CurriculumTermCfg,
    EventTermCfg,
    ManagerBasedRlEnv,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RampCfg,
    RewardTermCfg,
    StatefulTerm,
)
from genelab.mdp import UniformCommandCfg

DT = 0.01


def config(num_envs: int = 4) -> ManagerBasedRlEnvCfg:
    """The inverted pendulum without pushes, in which nothing ends but by time-out."""
    cfg = find("GeneLab-Inverted-Pendulum-v0").env_cfg(play=True)
    cfg.num_envs = num_envs
    cfg.simulation.threads = 1
    cfg.terminations = {"time_out": cfg.terminations["time_out"]}
    return cfg


def no_action(env: ManagerBasedRlEnv) -> Tensor:
    return torch.zeros(env.num_envs, env.num_actions)


def run(env: ManagerBasedRlEnv, steps: int) -> None:
    for _ in range(steps):
        env.step(no_action(env))


def end_episode(env: ManagerBasedRlEnv, *worlds: int) -> None:
    """Let these worlds time out in the next step."""
    env.episode_length_buf[list(worlds)] = env.max_episode_length - 1


# Observations ---------------------------------------------------------------------------------------------------------


class StepsSeen(StatefulTerm):
    """How many steps each world has been through since its reset, counted by the calls of this term."""

    state = ("count",)

    def __init__(self, env: ManagerBasedRlEnv):
        self.count = torch.zeros(env.num_envs, 1)

    def __call__(self, env: ManagerBasedRlEnv) -> Tensor:
        self.count = self.count + 1
        return self.count

    def reset(self, env_ids: Tensor) -> None:
        self.count[env_ids] = 0.0


def age(env: ManagerBasedRlEnv) -> Tensor:
    """(N, 1) control steps of the running episode."""
    return env.episode_length_buf.float().unsqueeze(1)


def world_number(env: ManagerBasedRlEnv) -> Tensor:
    """(N, 1)"""
    return -torch.arange(env.num_envs, dtype=torch.float32).unsqueeze(1)


def ten(env: ManagerBasedRlEnv) -> Tensor:
    """(N, 1)"""
    return torch.full((env.num_envs, 1), 10.0)


def with_group(terms: dict[str, ObservationTermCfg], num_envs: int = 4, **group) -> ManagerBasedRlEnv:
    cfg = config(num_envs)
    cfg.observations["extra"] = ObservationGroupCfg(terms=terms, **group)
    return ManagerBasedRlEnv(cfg)


def history_env() -> ManagerBasedRlEnv:
    terms = {"age": ObservationTermCfg(age), "world": ObservationTermCfg(world_number)}
    return with_group(terms, num_envs=2, history=3)


def test_history_is_filled_with_the_first_frame_at_reset():
    env = history_env()
    assert env.obs["extra"].tolist() == [[0, 0, 0, 0, 0, 0], [0, -1, 0, -1, 0, -1]]


def test_history_is_frame_major_and_oldest_first():
    env = history_env()
    run(env, 4)
    assert env.obs["extra"].tolist() == [[2, 0, 3, 0, 4, 0], [2, -1, 3, -1, 4, -1]]


def test_a_reset_refills_the_history_of_its_own_worlds_only():
    env = history_env()
    run(env, 4)
    end_episode(env, 1)
    run(env, 1)
    assert env.obs["extra"].tolist() == [[3, 0, 4, 0, 5, 0], [0, -1, 0, -1, 0, -1]]
    run(env, 1)
    assert env.obs["extra"].tolist() == [[4, 0, 5, 0, 6, 0], [0, -1, 0, -1, 1, -1]]


def test_the_dimension_of_a_group_is_that_of_all_its_frames():
    env = history_env()
    group = env.observation_manager.groups["extra"]
    assert (group.frame_dim, group.dim) == (2, 6)
    assert group.term_dims == {"age": 1, "world": 1}


def test_scale_comes_before_clip():
    env = with_group({"ten": ObservationTermCfg(ten, scale=0.5, clip=(-7.0, 7.0))})
    assert env.obs["extra"].unique().tolist() == [5.0]


def test_clip_bounds_the_scaled_value():
    env = with_group({"ten": ObservationTermCfg(ten, scale=0.5, clip=(-3.0, 3.0))})
    assert env.obs["extra"].unique().tolist() == [3.0]


def test_noise_is_added_before_the_scale():
    env = with_group({"ten": ObservationTermCfg(ten, noise=1.0, scale=0.1)}, num_envs=500, noise=True)
    values = env.obs["extra"]
    assert 0.9 <= values.min() < 0.91
    assert 1.09 < values.max() <= 1.1


def test_clip_holds_for_the_noisy_value():
    env = with_group({"ten": ObservationTermCfg(ten, noise=1.0, clip=(9.5, 10.5))}, num_envs=500, noise=True)
    values = env.obs["extra"]
    assert values.min() == 9.5
    assert values.max() == 10.5


def test_a_group_without_noise_ignores_the_noise_of_its_terms():
    env = with_group({"ten": ObservationTermCfg(ten, noise=1.0)})
    assert env.obs["extra"].unique().tolist() == [10.0]


def test_scale_and_clip_of_one_term_leave_the_others_alone():
    terms = {
        "small": ObservationTermCfg(ten, scale=0.1),
        "raw": ObservationTermCfg(ten),
        "cut": ObservationTermCfg(ten, clip=(0.0, 4.0)),
    }
    env = with_group(terms)
    assert env.obs["extra"][0].tolist() == [1.0, 10.0, 4.0]


def test_a_term_shared_by_several_groups_is_evaluated_once_per_step():
    calls = []

    def counted(env):
        calls.append(env.step_count)
        return torch.zeros(env.num_envs, 1)

    cfg = config()
    for group, scale in (("a", 1.0), ("b", 2.0), ("c", 1.0)):
        cfg.observations[group] = ObservationGroupCfg(terms={"counted": ObservationTermCfg(counted, scale=scale)})
    env = ManagerBasedRlEnv(cfg)
    calls.clear()
    run(env, 5)
    assert calls == [1, 2, 3, 4, 5]


def test_a_stateful_observation_advances_once_per_step_whatever_other_worlds_do():
    env = with_group({"steps": ObservationTermCfg(StepsSeen)}, num_envs=2)
    run(env, 1)
    before = env.obs["extra"][0].item()
    end_episode(env, 1)
    run(env, 1)
    assert env.obs["extra"][0].item() == before + 1
    run(env, 1)
    assert env.obs["extra"][0].item() == before + 2


# Actions --------------------------------------------------------------------------------------------------------------


def action_env(num_envs: int = 4, **changes) -> ManagerBasedRlEnv:
    cfg = config(num_envs)
    for name, value in changes.items():
        setattr(cfg.actions["cart"], name, value)
    return ManagerBasedRlEnv(cfg)


def sequence(env: ManagerBasedRlEnv, steps: int) -> Tensor:
    """Different actions in every step and world.  (steps, N, 1)"""
    return 0.001 * torch.arange(1, steps * env.num_envs + 1, dtype=torch.float32).view(steps, env.num_envs, 1)


def applied(env: ManagerBasedRlEnv, actions: Tensor) -> Tensor:
    """Controls that the engine held in each step.  (steps, N, 1)"""
    held = []
    for action in actions:
        env.step(action)
        held.append(env.engine.ctrl.clone())
    return torch.stack(held)


def test_without_latency_an_action_is_applied_at_once():
    env = action_env()
    actions = sequence(env, 4)
    assert torch.equal(applied(env, actions), actions)


def test_a_target_is_the_default_position_plus_the_scaled_action():
    cfg = config()
    cfg.scene.robots["robot"].joint_pos = {"slide": 0.25}
    cfg.actions["cart"].scale = 0.5
    env = ManagerBasedRlEnv(cfg)
    env.step(torch.full((4, 1), 0.2))
    torch.testing.assert_close(env.engine.ctrl, torch.full((4, 1), 0.35))


def test_latency_delays_the_applied_action_by_exactly_its_steps():
    env = action_env(latency=(2, 2))
    actions = sequence(env, 6)
    held = applied(env, actions)
    assert not held[:2].any()
    assert torch.equal(held[2:], actions[:-2])


def test_each_world_has_its_own_latency():
    env = action_env(num_envs=32, latency=(0, 3))
    delay = env.action_manager.terms["cart"].delay
    assert sorted(delay.unique().tolist()) == [0, 1, 2, 3]
    actions = sequence(env, 8)
    held = applied(env, actions)
    for world, steps in enumerate(delay.tolist()):
        assert torch.equal(held[steps:, world], actions[: 8 - steps, world])
        assert not held[:steps, world].any()


def test_latency_is_drawn_anew_for_the_worlds_that_reset_only():
    env = action_env(num_envs=200, latency=(0, 5))
    before = env.action_manager.terms["cart"].delay.clone()
    end_episode(env, *range(100))
    run(env, 1)
    after = env.action_manager.terms["cart"].delay
    assert torch.equal(after[100:], before[100:])
    assert (after[:100] != before[:100]).float().mean() > 0.5
    assert after.min() >= 0
    assert after.max() <= 5


def test_a_delayed_action_does_not_outlive_its_episode():
    env = action_env(latency=(1, 1))
    end_episode(env, 0)
    env.step(torch.full((4, 1), 0.5))
    env.step(torch.full((4, 1), 0.1))
    torch.testing.assert_close(env.engine.ctrl[:, 0], torch.tensor([0.0, 0.5, 0.5, 0.5]))


def test_action_noise_touches_the_controls_and_not_the_last_action():
    env = action_env(num_envs=2000, noise=0.1)
    action = torch.full((2000, 1), 0.3)
    obs, *_ = env.step(action)
    noise = env.engine.ctrl - action
    assert noise.std().item() == pytest.approx(0.1, rel=0.1)
    assert noise.mean().item() == pytest.approx(0.0, abs=0.01)
    assert torch.equal(env.action_manager.action, action)
    assert torch.equal(obs["policy"][:, -1:], action)


def test_latency_does_not_touch_the_last_action():
    env = action_env(latency=(3, 3))
    action = torch.full((4, 1), 0.3)
    obs, *_ = env.step(action)
    assert torch.equal(obs["critic"][:, -1:], action)


def test_action_noise_does_not_touch_the_action_rate():
    env = action_env(noise=0.1)
    for _ in range(2):
        env.step(torch.full((4, 1), 0.3))
    assert not mdp.action_rate_l2(env).any()


def test_raw_actions_are_clipped_at_a_hundred():
    env = action_env()
    obs, *_ = env.step(torch.tensor([[1e6], [-1e6], [99.0], [-100.5]]))
    expected = torch.tensor([[100.0], [-100.0], [99.0], [-100.0]])
    assert torch.equal(env.action_manager.action, expected)
    assert torch.equal(obs["policy"][:, -1:], expected)


def test_the_caller_keeps_its_action_tensor():
    env = action_env()
    action = torch.full((4, 1), 500.0)
    env.step(action)
    assert torch.equal(action, torch.full((4, 1), 500.0))


def test_the_action_before_the_first_is_zero():
    env = action_env()
    env.step(torch.full((4, 1), 0.5))
    torch.testing.assert_close(mdp.action_rate_l2(env), torch.full((4,), 0.25))
    end_episode(env, 0)
    run(env, 1)
    env.step(torch.full((4, 1), 0.5))
    torch.testing.assert_close(mdp.action_rate_l2(env), torch.full((4,), 0.25))


# Events ---------------------------------------------------------------------------------------------------------------


class Diary:
    """An event function's record of when it happened to which worlds."""

    def __init__(self):
        self.entries: list[tuple[int, list[int]]] = []

    def event(self):
        def happen(env: ManagerBasedRlEnv, env_ids: Tensor) -> None:
            self.entries.append((env.step_count, env_ids.tolist()))

        return happen

    def steps_of(self, world: int) -> list[int]:
        return [step for step, worlds in self.entries if world in worlds]


def event_env(num_envs: int = 4, episode_length_s: float = 10.0, **event) -> tuple[ManagerBasedRlEnv, Diary]:
    cfg, diary = config(num_envs), Diary()
    cfg.episode_length_s = episode_length_s
    cfg.events["diary"] = EventTermCfg(diary.event(), **event)
    return ManagerBasedRlEnv(cfg), diary


def test_interval_events_happen_within_their_range_in_every_world():
    env, diary = event_env(num_envs=16, mode="interval", interval_s=(0.05, 0.10))
    diary.entries.clear()
    run(env, 200)
    for world in range(16):
        steps = [0, *diary.steps_of(world)]
        gaps = [b - a for a, b in itertools.pairwise(steps)]
        assert len(gaps) >= 200 // 11
        assert all(5 <= gap <= 11 for gap in gaps)


def test_worlds_have_their_own_clocks():
    env, diary = event_env(num_envs=8, mode="interval", interval_s=(0.05, 0.30))
    diary.entries.clear()
    run(env, 60)
    assert len({tuple(diary.steps_of(world)) for world in range(8)}) > 4


def test_the_clock_of_an_interval_event_starts_again_with_each_episode():
    env, diary = event_env(episode_length_s=0.04, mode="interval", interval_s=(0.06, 0.10))
    diary.entries.clear()
    run(env, 50)
    assert diary.entries == []


def test_the_clocks_of_other_worlds_go_on_when_a_world_resets():
    env, diary = event_env(num_envs=2, mode="interval", interval_s=(0.10, 0.10))
    diary.entries.clear()
    run(env, 5)
    end_episode(env, 1)
    run(env, 8)
    assert diary.steps_of(0)[0] in (10, 11)
    assert diary.steps_of(1) == []


def test_an_interval_event_can_wait_until_training_has_got_somewhere():
    always, late = (event_env(mode="interval", interval_s=(0.02, 0.05), after=steps) for steps in (0, 30))
    for env, diary in (always, late):
        diary.entries.clear()
        run(env, 60)
    assert late[1].entries == [entry for entry in always[1].entries if entry[0] >= 30]  # the clocks have gone on
    assert len(late[1].entries) > 5


def test_startup_events_run_once_on_all_worlds():
    env, diary = event_env(mode="startup")
    env.reset()
    end_episode(env, 1)
    run(env, 5)
    assert diary.entries == [(0, [0, 1, 2, 3])]


def test_reset_events_run_for_the_worlds_that_reset():
    env, diary = event_env(mode="reset")
    diary.entries.clear()
    run(env, 2)
    end_episode(env, 1, 3)
    run(env, 1)
    assert diary.entries == [(3, [1, 3])]


def test_a_push_comes_before_the_rewards_of_its_step():
    cfg = config()
    cfg.events["push"] = EventTermCfg(
        mdp.push_joint, mode="interval", interval_s=(0.0, 0.0), params={"joint": "slide", "velocity": 5.0}
    )
    cfg.rewards = {"speed": RewardTermCfg(mdp.joint_vel_l2, weight=1.0, params={"joints": "slide"})}
    env = ManagerBasedRlEnv(cfg)
    _, rewards, *_ = env.step(no_action(env))
    torch.testing.assert_close(rewards, DT * env.robot.joint_vel[:, 0].square())
    assert env.robot.joint_vel[:, 0].abs().max() > 0.5


# Commands -------------------------------------------------------------------------------------------------------------


def command_env(num_envs: int = 8, **cfg_changes) -> ManagerBasedRlEnv:
    cfg = config(num_envs)
    cfg.commands = {"goal": UniformCommandCfg(low=(-1.0, 2.0), high=(1.0, 3.0), **cfg_changes)}
    return ManagerBasedRlEnv(cfg)


def test_a_command_is_drawn_between_its_corners():
    command = command_env(num_envs=500).command_manager["goal"]
    assert command.shape == (500, 2)
    assert -1.0 <= command[:, 0].min() < -0.9 < 0.9 < command[:, 0].max() <= 1.0
    assert 2.0 <= command[:, 1].min() < 2.1 < 2.9 < command[:, 1].max() <= 3.0


def test_a_command_without_resampling_stays_for_the_episode():
    env = command_env()
    before = env.command_manager["goal"].clone()
    run(env, 30)
    assert torch.equal(env.command_manager["goal"], before)


def test_a_new_episode_gets_a_new_command_in_its_world_only():
    env = command_env()
    before = env.command_manager["goal"].clone()
    end_episode(env, 2)
    run(env, 1)
    changed = (env.command_manager["goal"] != before).any(dim=1)
    assert changed.nonzero().flatten().tolist() == [2]


def test_a_command_is_resampled_within_its_range_of_times_in_every_world():
    env = command_env(resampling_s=(0.05, 0.10))
    last_change = torch.zeros(8)
    previous = env.command_manager["goal"].clone()
    changes = 0
    for step in range(1, 101):
        run(env, 1)
        command = env.command_manager["goal"].clone()
        changed = (command != previous).any(dim=1)
        gaps = step - last_change[changed]
        assert ((gaps >= 5) & (gaps <= 11)).all()
        last_change[changed] = step
        changes += int(changed.sum())
        previous = command
    assert changes >= 8 * (100 // 11)


def test_adding_a_command_does_not_change_the_samples_of_another():
    alone, accompanied = config(), config()
    alone.commands = {"a": UniformCommandCfg(low=(0.0,), high=(1.0,))}
    accompanied.commands = {**alone.commands, "b": UniformCommandCfg(low=(0.0,), high=(1.0,))}
    first, second = ManagerBasedRlEnv(alone), ManagerBasedRlEnv(accompanied)
    for _ in range(3):
        assert torch.equal(first.command_manager["a"], second.command_manager["a"])
        first.reset()
        second.reset()


# Rewards, metrics, curriculum, stateful terms -------------------------------------------------------------------------


def test_a_reward_of_weight_zero_is_not_evaluated():
    calls = []

    def counted(env):
        calls.append(env.step_count)
        return torch.ones(env.num_envs)

    cfg = config()
    cfg.rewards = {"counted": RewardTermCfg(counted, weight=0.0)}
    env = ManagerBasedRlEnv(cfg)
    calls.clear()
    _, rewards, *_ = env.step(no_action(env))
    assert calls == []
    assert not rewards.any()


def test_a_reward_that_gets_its_weight_back_counts_again():
    cfg = config()
    cfg.rewards = {"alive": RewardTermCfg(mdp.alive, weight=0.0)}
    env = ManagerBasedRlEnv(cfg)
    run(env, 1)
    env.cfg.rewards["alive"].weight = 2.0
    _, rewards, *_ = env.step(no_action(env))
    torch.testing.assert_close(rewards, torch.full((4,), 2.0 * DT))


def test_a_ramp_takes_a_reward_from_one_factor_to_another_and_leaves_it_there():
    cfg = config()
    cfg.rewards = {"alive": RewardTermCfg(mdp.alive, weight=2.0, ramp=RampCfg(start=1.0, end=0.5, steps=4))}
    env = ManagerBasedRlEnv(cfg)
    paid = [float(env.step(no_action(env))[1][0]) / (2.0 * DT) for _ in range(6)]
    assert paid == pytest.approx([0.875, 0.75, 0.625, 0.5, 0.5, 0.5])


def test_a_ramp_of_no_length_is_at_its_end_at_once():
    assert RampCfg(start=1.0, end=0.0).factor(0) == 0.0


def test_a_ramp_that_begins_later_is_zero_before():
    assert RampCfg(start=1.0, end=0.0, steps=4, after=2).factor(1) == 0.0
    assert [RampCfg(start=1.0, end=0.0, steps=4, after=2).factor(step) for step in (2, 4, 6)] == [1.0, 0.5, 0.0]


def test_a_held_ramp_stays_at_its_start_before_it_goes_to_its_end() -> None:
    ramp = RampCfg(start=1.0, end=0.0, steps=4, after=2, hold=10)
    assert [ramp.factor(step) for step in (1, 2, 11, 12, 14, 16)] == [0.0, 1.0, 1.0, 1.0, 0.5, 0.0]
    assert [RampCfg(start=1.0, end=0.0, hold=3).factor(step) for step in (0, 2, 3)] == [1.0, 1.0, 0.0]


def test_metrics_are_means_over_the_episode():
    cfg = config(num_envs=2)
    cfg.episode_length_s = 0.05
    cfg.metrics = {"age": MetricTermCfg(lambda env: env.episode_length_buf.double())}
    env = ManagerBasedRlEnv(cfg)
    run(env, 4)
    *_, extras = env.step(no_action(env))
    assert extras["finished"].metrics.tolist() == [[3.0, 3.0]]
    assert env.pop_episode_stats()["metric/age"] == 3.0
    run(env, 4)
    *_, extras = env.step(no_action(env))
    assert extras["finished"].metrics.tolist() == [[3.0, 3.0]]


def test_what_a_curriculum_returns_is_logged():
    cfg = config()
    cfg.curriculum = {"ended": CurriculumTermCfg(lambda env, env_ids: float(len(env_ids)))}
    env = ManagerBasedRlEnv(cfg)
    assert env.pop_episode_stats()["curriculum/ended"] == 4.0
    end_episode(env, 0, 2)
    run(env, 1)
    assert env.pop_episode_stats()["curriculum/ended"] == 2.0


def test_a_curriculum_can_change_a_reward_weight():
    def heavier(env, env_ids):
        env.cfg.rewards["alive"].weight += 1.0
        return env.cfg.rewards["alive"].weight

    cfg = config()
    cfg.rewards = {"alive": RewardTermCfg(mdp.alive, weight=1.0)}
    cfg.curriculum = {"heavier": CurriculumTermCfg(heavier)}
    env = ManagerBasedRlEnv(cfg)
    weight = env.cfg.rewards["alive"].weight
    end_episode(env, 1)
    run(env, 1)
    _, rewards, *_ = env.step(no_action(env))
    torch.testing.assert_close(rewards, torch.full((4,), (weight + 1.0) * DT))


class StepCounter(StatefulTerm):
    """Reward equal to the number of steps since the reset."""

    state = ("count",)

    def __init__(self, env: ManagerBasedRlEnv, start: float = 0.0):
        self.start = start
        self.count = torch.zeros(env.num_envs)

    def __call__(self, env: ManagerBasedRlEnv) -> Tensor:
        self.count += 1
        return self.start + self.count

    def reset(self, env_ids: Tensor) -> None:
        self.count[env_ids] = 0.0


def counter_env() -> ManagerBasedRlEnv:
    cfg = config()
    cfg.scale_rewards_by_dt = False
    cfg.rewards = {"count": RewardTermCfg(StepCounter, weight=1.0, params={"start": 10.0})}
    return ManagerBasedRlEnv(cfg)


def test_a_stateful_term_starts_fresh_after_the_build():
    env = counter_env()
    assert env.step(no_action(env))[1].tolist() == [11.0] * 4


def test_a_stateful_term_is_reset_in_the_worlds_that_ended_only():
    env = counter_env()
    run(env, 2)
    end_episode(env, 1)
    run(env, 1)
    assert env.step(no_action(env))[1].tolist() == [14.0, 11.0, 14.0, 14.0]


def test_the_memory_of_a_stateful_term_is_part_of_the_state():
    env, fresh = counter_env(), counter_env()
    run(env, 5)
    fresh.load_state_dict(env.state_dict())
    assert fresh.step(no_action(fresh))[1].tolist() == [16.0] * 4


def test_each_use_of_a_stateful_term_has_its_own_memory():
    cfg = config()
    cfg.scale_rewards_by_dt = False
    cfg.rewards = {name: RewardTermCfg(StepCounter, weight=weight) for name, weight in (("a", 1.0), ("b", 100.0))}
    env = ManagerBasedRlEnv(cfg)
    run(env, 1)
    assert env.step(no_action(env))[1].tolist() == [202.0] * 4


@pytest.mark.parametrize("joints", [("hinge", "slide"), ".*"])
def test_joint_patterns_select_joints_in_the_order_of_the_robot(joints):
    cfg = config()
    cfg.scale_rewards_by_dt = False
    cfg.rewards = {"all": RewardTermCfg(mdp.joint_pos_l2, weight=1.0, params={"joints": joints})}
    env = ManagerBasedRlEnv(cfg)
    _, rewards, *_ = env.step(no_action(env))
    torch.testing.assert_close(rewards, env.engine.qpos.square().sum(dim=1))
