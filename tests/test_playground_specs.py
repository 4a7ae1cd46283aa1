"""The named settings of PPO for the control suite: what they resolve to, and that each trains."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genelab.core.registry import TaskSpec, find, register, unregister
from genelab.experiment.setup import resolve
from genelab.experiment.train import TrainRequest, train
from genelab.rl.playground_specs import FRAMES, PLAYGROUND_SPECS

COLUMNS = ("gamma", "horizon", "epochs", "minibatch", "clip", "rates", "vnorm", "reward", "repeat")
DECAY, CONSTANT, SLOW = ("linear", 1e-3, 3.3e-5), ("fixed", 1e-3), ("fixed", 3e-4)
TABLE: dict[str, tuple[Any, ...]] = {
    "ppo_playground": (0.995, 30, 16, 4096, 0.2, DECAY, False, 10.0, 1),
    "ppo_playground_vnorm": (0.995, 30, 16, 2048, 0.2, DECAY, True, 1.0, 1),
    "ppo_playground_constlr": (0.995, 30, 16, 4096, 0.2, CONSTANT, False, 1.0, 1),
    "ppo_playground_vnorm_constlr": (0.995, 30, 16, 2048, 0.2, CONSTANT, True, 1.0, 1),
    "ppo_playground_constlr_clip03": (0.995, 30, 16, 2048, 0.3, CONSTANT, False, 1.0, 1),
    "ppo_playground_vnorm_constlr_clip03": (0.995, 30, 16, 2048, 0.3, CONSTANT, True, 1.0, 1),
    "ppo_playground_fingerspin": (0.95, 30, 16, 4096, 0.2, DECAY, False, 1.0, 1),
    "ppo_playground_pendulum": (0.995, 30, 4, 4096, 0.2, DECAY, False, 1.0, 4),
    "ppo_playground_humanoid": (0.995, 30, 16, 2048, 0.2, CONSTANT, True, 10.0, 1),
    "ppo_playground_loco": (0.97, 20, 4, 4096, 0.3, SLOW, False, 1.0, 1),
}
POLICIES = {"ppo_playground_humanoid": (256, 256), "ppo_playground_loco": (128,) * 4}
VALUES = {"ppo_playground_loco": (256,) * 5}
WORLDS = {"ppo_playground_loco": 8192}


@pytest.fixture(scope="module")
def task() -> Iterator[str]:
    pendulum = find("GeneLab-Inverted-Pendulum-v0")
    spec = TaskSpec(
        id="Pendulum-With-Specs-v0",
        summary="The inverted pendulum with the specs of the control suite",
        env=pendulum.env,
        agents={"rsl_rl": pendulum.agents["rsl_rl"]},
        presets="genelab.rl.playground_specs:PLAYGROUND_SPECS",
    )
    register(spec)
    yield spec.id
    unregister(spec.id)


@pytest.mark.parametrize("name", TABLE)
def test_a_spec_resolves_to_the_published_settings(name: str, task: str) -> None:
    setup = resolve(task, preset=name)
    agent, ppo = setup.agent_cfg, setup.agent_cfg.algorithm
    rates = (ppo.schedule, ppo.learning_rate, *([ppo.min_learning_rate] if ppo.schedule == "linear" else []))
    found = (ppo.gamma, agent.num_steps_per_env, ppo.num_learning_epochs, ppo.mini_batch_size, ppo.clip_param, rates)
    found = (*found, ppo.normalize_v_targets, ppo.reward_scale, agent.action_repeat)
    assert dict(zip(COLUMNS, found, strict=True)) == dict(zip(COLUMNS, TABLE[name], strict=True))
    assert agent.actor.hidden_dims == POLICIES.get(name, (64, 64))
    assert agent.critic.hidden_dims == VALUES.get(name, (256,) * 3)
    assert setup.env_cfg.num_envs == WORLDS.get(name, 2048)
    distribution = type(agent.actor.distribution).__name__
    assert distribution == ("RslRlTanhNormalCfg" if name == "ppo_playground_humanoid" else "RslRlDistributionCfg")


@pytest.mark.parametrize("name", TABLE)
def test_what_all_specs_share(name: str, task: str) -> None:
    agent = resolve(task, preset=name).agent_cfg
    for network in (agent.actor, agent.critic):
        assert (network.activation, network.obs_normalization) == ("swish", True)
    ppo = agent.algorithm
    assert (ppo.lam, ppo.entropy_coef, ppo.value_loss_coef, ppo.optimizer, ppo.max_grad_norm) == (
        0.95, 0.01, 0.5, "adam", 1.0,
    )  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_a_spec_stops_at_the_last_iteration_within_its_frames(name: str, task: str) -> None:
    setup = resolve(task, preset=name)
    agent = setup.agent_cfg
    frames = agent.actions_per_iteration * agent.action_repeat * setup.env_cfg.num_envs
    assert agent.max_iterations * frames <= FRAMES < (agent.max_iterations + 1) * frames


def test_the_table_has_every_spec() -> None:
    assert list(PLAYGROUND_SPECS) == list(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_spec_trains(name: str, task: str, tmp_path: Path) -> None:
    tiny = [("env.num_envs", "8"), ("agent.max_iterations", "2"), ("agent.algorithm.num_learning_epochs", "1")]
    _, result = train(TrainRequest(task, tiny, preset=name, log_dir=tmp_path), say=lambda line: None)
    assert (result.iteration, result.finished) == (2, True)
