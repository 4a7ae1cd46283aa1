"""What PPO has beside rsl_rl: a cut-off episode is worth what its last observation is worth; bounded learning rates."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import Tensor

from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import RslRlDistributionCfg, RslRlModelCfg, RslRlOnPolicyRunnerCfg
from genelab.rl.methods.base import batch_of
from genelab.rl.methods.ppo import PPO
from genelab.rl.rsl_rl.learner import RslRlLearner

WARM_UP = 4
TIMED_OUT, FALLEN = 1, 2
"""The worlds that are cut off and that fall in the step under test; 0 and 3 go on."""


class Rollout:
    """A method after a few steps, about to record the step in which one world times out and another falls."""

    def __init__(self, rnn_type: str | None):
        cfg = find("GeneLab-Inverted-Pendulum-v0").env_cfg(play=True)
        cfg.num_envs, cfg.simulation.threads = 4, 1
        self.env = ManagerBasedRlEnv(cfg)
        agent = RslRlOnPolicyRunnerCfg(
            num_steps_per_env=8,
            actor=RslRlModelCfg(hidden_dims=(8,), distribution=RslRlDistributionCfg(init_std=0.05)),
            critic=RslRlModelCfg(hidden_dims=(8,), rnn_type=rnn_type, rnn_hidden_dim=6, rnn_num_layers=2),
        )
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.alg: Any = RslRlLearner(self.env, agent, infos={}).method
            self._normalise_observations()
            self._act_until_the_step_under_test()

    def _normalise_observations(self) -> None:
        """Give the networks an observation scale of their own, so that a forgotten normalisation would show."""
        sample = batch_of(self.env, self.env.obs)
        for model in (self.alg.actor, self.alg.critic):
            model.train()
            model.update_normalization(sample)

    def _act_until_the_step_under_test(self) -> None:
        obs = batch_of(self.env, self.env.obs)
        for _ in range(WARM_UP):
            self._stand_upright()
            obs, rewards, dones, extras = self._step(self.alg.act(obs).clamp(-1.0, 1.0))
            self.alg.process_env_step(obs, rewards, dones, extras)
        actions = self.alg.act(obs).clamp(-1.0, 1.0)
        self._stand_upright()
        self.env.episode_length_buf[TIMED_OUT] = self.env.max_episode_length - 1
        self.env.engine.set_state(torch.tensor([FALLEN]), torch.tensor([[0.0, 0.6]]), torch.zeros(1, 2))
        self.obs, self.rewards, self.dones, self.extras = self._step(actions)
        self.critic_before = copy.deepcopy(self.alg.critic)

    def _step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        obs, rewards, terminated, truncated, extras = self.env.step(actions)
        return batch_of(self.env, obs), rewards, terminated | truncated, {**extras, "time_outs": truncated}

    def _stand_upright(self) -> None:
        """So that no world falls by itself, whatever an untrained actor does."""
        angles = torch.tensor([[0.0, 0.01], [0.1, 0.02], [0.2, 0.03], [0.3, 0.04]])
        self.env.engine.set_state(torch.arange(4), angles, torch.zeros(4, 2))

    def value(self, obs: dict[str, Tensor] | TensorDict) -> Tensor:
        """What the critic would say to one observation more, (N,), without telling it."""
        critic = copy.deepcopy(self.critic_before)
        batch = obs if isinstance(obs, TensorDict) else TensorDict(obs, batch_size=[4])
        return critic(batch).squeeze(-1)

    def record(self) -> Tensor:
        """Record the step; the rewards that were stored for it."""
        self.alg.process_env_step(self.obs, self.rewards, self.dones, self.extras)
        return self.alg.storage.rewards[WARM_UP].squeeze(-1)


@pytest.fixture(params=[None, "lstm", "gru"], ids=["mlp", "lstm", "gru"])
def rollout(request):
    with torch.no_grad():
        yield Rollout(request.param)


def hidden_tensors(critic) -> list[Tensor]:
    hidden = critic.get_hidden_state()
    if hidden is None:
        return []
    return list(hidden) if isinstance(hidden, tuple) else [hidden]


def test_the_step_under_test_has_a_time_out_and_a_fall(rollout):
    assert rollout.extras["time_outs"].nonzero().flatten().tolist() == [TIMED_OUT]
    assert rollout.dones.nonzero().flatten().tolist() == [TIMED_OUT, FALLEN]
    assert isinstance(rollout.alg, PPO)


def test_a_time_out_earns_the_discounted_value_of_its_final_observation(rollout):
    final_value = rollout.value(rollout.extras["final_obs"])[TIMED_OUT]
    expected = rollout.rewards[TIMED_OUT] + rollout.alg.gamma * final_value
    torch.testing.assert_close(rollout.record()[TIMED_OUT], expected, atol=1e-6, rtol=1e-5)


def test_the_value_is_not_that_of_the_observation_after_the_reset(rollout):
    wrong = rollout.rewards[TIMED_OUT] + rollout.alg.gamma * rollout.value(rollout.obs)[TIMED_OUT]
    assert not torch.isclose(rollout.record()[TIMED_OUT], wrong, atol=1e-6, rtol=1e-6)


def test_the_value_is_not_that_of_the_observation_before_the_step(rollout):
    before = rollout.alg.transition.values[TIMED_OUT, 0].clone()
    wrong = rollout.rewards[TIMED_OUT] + rollout.alg.gamma * before
    assert not torch.isclose(rollout.record()[TIMED_OUT], wrong, atol=1e-6, rtol=1e-6)


def test_a_recurrent_critic_judges_the_final_observation_with_its_memory_of_the_episode(rollout):
    if not rollout.alg.critic.is_recurrent:
        pytest.skip("an MLP remembers nothing")
    forgetful = copy.deepcopy(rollout.critic_before)
    forgetful.reset()
    value = forgetful(TensorDict(rollout.extras["final_obs"], batch_size=[4])).squeeze(-1)[TIMED_OUT]
    wrong = rollout.rewards[TIMED_OUT] + rollout.alg.gamma * value
    assert not torch.isclose(rollout.record()[TIMED_OUT], wrong, atol=1e-6, rtol=1e-6)


def test_worlds_that_fell_or_go_on_get_their_plain_reward(rollout):
    rewards = rollout.rewards.clone()
    stored = rollout.record()
    for world in (0, FALLEN, 3):
        assert stored[world] == rewards[world]


def test_the_rewards_of_the_environment_are_not_changed(rollout):
    before = rollout.rewards.clone()
    rollout.record()
    assert torch.equal(rollout.rewards, before)


def test_the_memory_of_the_critic_is_as_if_there_had_been_no_bootstrap(rollout):
    expected = [tensor.clone() for tensor in hidden_tensors(rollout.alg.critic)]
    for tensor in expected:
        tensor[:, rollout.dones] = 0.0
    rollout.record()
    got = hidden_tensors(rollout.alg.critic)
    assert len(got) == len(expected)
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


def test_without_time_outs_every_world_gets_its_plain_reward(rollout):
    rollout.extras["time_outs"] = torch.zeros(4, dtype=torch.bool)
    rewards = rollout.rewards.clone()
    assert torch.equal(rollout.record(), rewards)


@pytest.mark.parametrize(("decay", "rates"), [(False, [2e-3, 2e-3, 2e-3, 2e-3]), (True, [2e-3, 1.5e-3, 1e-3, 0.5e-3])])
def test_the_learning_rate_stays_below_its_bound_which_may_fall_over_the_training(
    tmp_path: Path, train_tiny: Callable[..., Any], decay: bool, rates: list[float]
) -> None:
    settings = {"desired_kl": 1e9, "max_learning_rate": 2e-3, "decay_learning_rate": decay}  # nothing else holds it
    overrides = {f"agent__algorithm__{name}": value for name, value in settings.items()}
    train_tiny(tmp_path / "run", agent__max_iterations=4, **overrides)
    lines = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["learning_rate"] for line in lines] == pytest.approx(rates)
