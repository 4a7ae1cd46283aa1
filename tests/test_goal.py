"""Goal-conditioned tasks: one reward for what is paid and what is computed later, and what such a task must have."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from genelab import mdp
from genelab.clients import gym
from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.registry import TaskSpec
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, RewardTermCfg
from goal_task import GOAL_TASK, SPEC, env_cfg


def make(change: Callable[[ManagerBasedRlEnvCfg], object] = lambda cfg: None) -> ManagerBasedRlEnv:
    cfg = env_cfg()
    cfg.num_envs = 4
    change(cfg)
    return ManagerBasedRlEnv(cfg)


@pytest.mark.parametrize("by_dt", [True, False])
def test_the_reward_of_the_observed_goals_is_the_reward_that_was_paid(by_dt: bool):
    env = make(lambda cfg: setattr(cfg, "scale_rewards_by_dt", by_dt))
    assert env.goal is not None
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        _, rewards, _, _, extras = env.step(torch.randn(4, 1, generator=generator))
        last = extras["final_obs"]
        assert torch.equal(env.goal.reward(last[env.goal.achieved], last[env.goal.desired]), rewards)
    assert rewards.unique().numel() > 1


def test_rewards_of_other_goals_keep_the_shape_of_the_batch():
    env = make()
    assert env.goal is not None
    assert env.goal.reward(torch.zeros(5, 3, 1), torch.ones(5, 3, 1)).shape == (5, 3)


def test_a_goal_survives_the_round_trip_of_its_config_with_its_defaults(offer: Callable[[TaskSpec], None]):
    offer(SPEC)
    cfg = env_cfg()
    assert cfg.goal is not None
    assert cfg.goal.params == {"within": 0.1}
    assert from_dict(ManagerBasedRlEnvCfg, to_dict(cfg, ManagerBasedRlEnvCfg)).goal == cfg.goal


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.rewards.update(alive=RewardTermCfg(mdp.alive, weight=1.0)), "only reward term, not: goal, alive"),
        (lambda c: c.rewards.clear(), "only reward term, not: none"),
        (lambda c: setattr(c, "goal", None), "needs a goal-conditioned task"),
        (lambda c: setattr(c.goal, "achieved", "achieved_gaol"), "did you mean 'achieved_goal'"),
        (lambda c: setattr(c.goal, "achieved", "policy"), "'policy' must be without noise"),
        (lambda c: setattr(c.observations["desired_goal"], "history", 2), "history of 1, not 2"),
        (lambda c: c.observations["achieved_goal"].terms.update(c.observations["policy"].terms), "has 9 values"),
        (lambda c: setattr(c.goal, "reward", lambda achieved, desired, within: achieved), "must return"),
    ],
)
def test_a_task_that_is_not_goal_conditioned_in_the_right_way_is_an_error(
    change: Callable[[ManagerBasedRlEnvCfg], object], message: str
):
    with pytest.raises(UserError, match=message):
        make(change)


def test_gymnasium_gets_a_dict_and_the_reward_function(offer: Callable[..., None]):
    offer(SPEC)
    envs = gym.make_vector(GOAL_TASK, num_envs=3)
    assert isinstance(envs, gym.GymGoalVectorEnv)
    obs, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(obs)
    assert list(obs) == ["observation", "achieved_goal", "desired_goal"]
    obs, rewards, _, _, _ = envs.step(np.zeros((3, 1), np.float32))
    np.testing.assert_array_equal(envs.compute_reward(obs["achieved_goal"], obs["desired_goal"], {}), rewards)
