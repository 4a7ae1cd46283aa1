"""Resets: when worlds start new episodes, in which order things are reset, and who may write the state."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from genelab.clients import gym
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.envs import (
    CommandTerm,
    CommandTermCfg,
    CurriculumTermCfg,
    ManagerBasedRlEnv,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    StatefulTerm,
)
from genelab.rl.evaluator import RandomPolicy, evaluate

SINGLE = "GeneLab-Inverted-Pendulum-v0"


def config(num_envs: int = 3) -> ManagerBasedRlEnvCfg:
    cfg = find(SINGLE).env_cfg(play=True)
    cfg.num_envs = num_envs
    cfg.simulation.threads = 1
    return cfg


def no_action(env: ManagerBasedRlEnv) -> Tensor:
    return torch.zeros(env.num_envs, env.num_actions)


def topple(env: ManagerBasedRlEnv, world: int) -> None:
    """Let the pole of one world lie, so that its episode ends in the next step."""
    env.engine.set_state(torch.tensor([world]), torch.tensor([[0.0, 1.0]]), torch.zeros(1, 2))


# Automatic resets -----------------------------------------------------------------------------------------------------


def test_without_auto_reset_finished_worlds_are_left_to_themselves():
    cfg = config()
    cfg.auto_reset = False
    env = ManagerBasedRlEnv(cfg)
    topple(env, 1)
    for step in range(1, 4):
        obs, _, terminated, _, extras = env.step(no_action(env))
        assert terminated.tolist() == [False, True, False]
        assert env.episode_length_buf.tolist() == [step] * 3
        torch.testing.assert_close(obs["critic"], extras["final_obs"]["critic"])


def test_chosen_worlds_start_a_new_episode_and_the_others_go_on():
    cfg = config()
    cfg.auto_reset = False
    env = ManagerBasedRlEnv(cfg)
    topple(env, 1)
    before, *_ = env.step(no_action(env))
    after = env.reset(env_ids=torch.tensor([1]))
    assert env.episode_length_buf.tolist() == [1, 0, 1]
    assert env.robot.joint_pos[1].abs().max() < 0.1
    assert torch.equal(after["critic"][[0, 2]], before["critic"][[0, 2]])
    assert not torch.equal(after["critic"][1], before["critic"][1])


def test_an_evaluation_refuses_worlds_that_do_not_start_again():
    cfg = config()
    cfg.auto_reset = False
    env = ManagerBasedRlEnv(cfg)
    with pytest.raises(UserError, match=r"env\.auto_reset is false, but an evaluation needs"):
        evaluate(env, RandomPolicy(env, 0), episodes_per_env=1)


def test_training_refuses_worlds_that_do_not_start_again(mistake, tmp_path):
    line = mistake("train", SINGLE, "--env.auto_reset", "false", "--env.num_envs", 4, "--log-dir", tmp_path / "run")
    assert "env.auto_reset is false, but training needs" in line
    assert not (tmp_path / "run").exists()


def test_gymnasium_resets_the_worlds_of_a_mask():
    envs = gym.make_vector(SINGLE, num_envs=3, overrides={"env.auto_reset": False})
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": [True, False, True]})
    assert envs.env.episode_length_buf.tolist() == [0, 1, 0]
    assert envs.metadata["autoreset_mode"].name == "DISABLED"


# The order of a reset -------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class PoseCommandCfg(CommandTermCfg):
    """A pose of cart and pole that the episode starts in."""

    def build(self, name: str, env: ManagerBasedRlEnv) -> "PoseCommand":
        return PoseCommand(name, self, env, dim=2)


class PoseCommand(CommandTerm):
    """See `PoseCommandCfg`."""

    def resample(self, env_ids: Tensor) -> None:
        self.command[env_ids] = self.env.streams.uniform(self.stream, (len(env_ids), 2), -0.2, 0.2)

    def write_state(self, env_ids: Tensor) -> None:
        self.env.robot.write_joints(env_ids, self.command[env_ids], torch.zeros(len(env_ids), 2))


def command_env(seed: int = 0, **overrides: Any) -> ManagerBasedRlEnv:
    cfg = config()
    cfg.commands = {"pose": PoseCommandCfg()}
    for name, value in overrides.items():
        setattr(cfg, name, value)
    return ManagerBasedRlEnv(cfg, seed)


def joint_positions(env: ManagerBasedRlEnv) -> Tensor:
    """Joint positions.  (N, 2)"""
    return env.robot.joint_pos


class StartsAtTheCommand(StatefulTerm):
    """How far the state at the last reset was from the command.  (N,)"""

    def __init__(self, env: ManagerBasedRlEnv):
        self._env = env
        self._distance = torch.zeros(env.num_envs)

    def __call__(self, env: ManagerBasedRlEnv) -> Tensor:
        return self._distance

    def reset(self, env_ids: Tensor) -> None:
        away = self._env.robot.joint_pos - self._env.command_manager["pose"]
        self._distance[env_ids] = away[env_ids].abs().sum(dim=1)


def test_a_command_writes_the_state_after_the_reset_events():
    env = command_env()
    assert "jitter" in env.cfg.events
    assert torch.equal(env.robot.joint_pos, env.command_manager["pose"])
    topple(env, 1)
    env.step(no_action(env))
    assert torch.equal(env.robot.joint_pos[1], env.command_manager["pose"][1])
    assert not torch.equal(env.robot.joint_pos[0], env.command_manager["pose"][0])


def test_first_observations_and_resets_of_terms_see_the_state_that_a_command_wrote():
    observations = {"policy": ObservationGroupCfg(terms={"pos": ObservationTermCfg(joint_positions)})}
    metrics = {"distance": MetricTermCfg(StartsAtTheCommand)}
    env = command_env(observations=observations, metrics=metrics)
    assert torch.equal(env.obs["policy"], env.command_manager["pose"])
    env.step(no_action(env))
    assert env.metrics_manager.episode_sums.abs().max() == 0.0


def record_command(env: ManagerBasedRlEnv, env_ids: Tensor) -> float:
    """The first world's command, as the curriculum finds it."""
    return float(env.command_manager["pose"][0, 0])


def test_the_curriculum_sees_the_command_that_the_episode_ended_with():
    env = command_env(curriculum={"seen": CurriculumTermCfg(record_command)})
    before = float(env.command_manager["pose"][0, 0])
    env.reset()
    assert env.curriculum_manager.values["seen"] == before != float(env.command_manager["pose"][0, 0])


def test_a_command_does_not_write_the_state_when_it_changes_within_an_episode():
    env = command_env(commands={"pose": PoseCommandCfg(resampling_s=(0.02, 0.02))})
    first = env.command_manager["pose"].clone()
    for _ in range(3):
        env.step(no_action(env))
    assert not torch.equal(env.command_manager["pose"], first)
    assert (env.robot.joint_pos - first).abs().max() < 0.05


def test_a_command_leaves_the_draws_of_everything_else_as_they_are():
    with_command, without = command_env(seed=4), ManagerBasedRlEnv(config(), seed=4)
    names = ("noise/policy", "event/jitter_joints", "something/else")
    for name in names:
        assert torch.equal(with_command.streams.uniform(name, (5,)), without.streams.uniform(name, (5,)))


# Raw observations -----------------------------------------------------------------------------------------------------


def test_raw_observations_are_scaled_and_clipped_by_the_reader():
    env = ManagerBasedRlEnv(config())
    usual = env.reset(seed=3)["policy"]
    with env.observation_manager.raw(["policy"]) as [group]:
        raw = env.reset(seed=3)["policy"]
    assert not torch.equal(raw, usual)
    torch.testing.assert_close(group.process_raw(raw), usual)


def test_raw_observations_end_with_their_context_also_after_an_error():
    env = ManagerBasedRlEnv(config())
    usual = env.reset(seed=3)["policy"]
    with pytest.raises(RuntimeError), env.observation_manager.raw(["policy"]):
        raise RuntimeError
    assert torch.equal(env.reset(seed=3)["policy"], usual)
