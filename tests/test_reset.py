"""Resets: when worlds start new episodes, in which order things are reset, and who may write the state."""

import pytest
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.envs.gym import GymVectorEnv
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
    envs = GymVectorEnv(SINGLE, num_envs=3, overrides={"env.auto_reset": False})
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": [True, False, True]})
    assert envs.env.episode_length_buf.tolist() == [0, 1, 0]
    assert envs.metadata["autoreset_mode"].name == "DISABLED"


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
