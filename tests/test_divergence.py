"""Numbers that are not finite end a training as diverged, with what was first, and with the last good checkpoint."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from genelab.core.errors import Diverged, UserError
from genelab.core.registry import TaskSpec
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, ObservationTermCfg, RewardTermCfg
from genelab.experiment.train import TrainRequest, train
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, Sb3AgentCfg, SkrlAgentCfg
from genelab.tasks.pendulum.balance import single

TASK = "Test-Faulty-Pendulum-v0"
NEVER = 1_000_000
SMALL = {"env.num_envs": "4", "agent.random_episode_start": "false"}
RSL_RL = {"agent.max_iterations": "6", "agent.num_steps_per_env": "4", "agent.save_interval": "1"}
STEPS = {"agent.max_iterations": "96", "agent.on_policy.num_steps": "4"}
OFF_POLICY = {"agent.algorithm": "SAC", "agent.max_iterations": "400", "agent.off_policy.learning_starts": "16"}
AGENTS = {
    "rsl_rl": ("rsl_rl", RSL_RL),
    "skrl": ("skrl", STEPS),
    "sb3": ("sb3", STEPS),
    "skrl SAC": ("skrl", {**OFF_POLICY, "agent.off_policy.log_interval": "8"}),
    "sb3 SAC": ("sb3", {**OFF_POLICY, "agent.off_policy.log_interval": "8"}),
}


def faulty(env: ManagerBasedRlEnv, after: int = NEVER, value: str = "nan") -> Tensor:
    """Zero, but in world 1 something else from a control step on.  (N, 1)"""
    values = torch.zeros(env.num_envs, 1, device=env.device)
    if env.step_count >= after:
        values[1] = float(value)
    return values


def paid(env: ManagerBasedRlEnv, after: int = NEVER, value: str = "nan") -> Tensor:
    """The same as a reward.  (N,)"""
    return faulty(env, after, value).squeeze(1)


def env_cfg(play: bool = False) -> ManagerBasedRlEnvCfg:
    """The pendulum with terms that can be told to fail."""
    cfg = single(play)
    cfg.rewards["faulty"] = RewardTermCfg(paid, weight=1.0)
    for group in cfg.observations.values():
        group.terms["faulty"] = ObservationTermCfg(faulty)
    return cfg


@pytest.fixture(autouse=True)
def task(offer: Callable[[object], None]) -> None:
    classes = {"rsl_rl": RslRlOnPolicyRunnerCfg, "skrl": SkrlAgentCfg, "sb3": Sb3AgentCfg}
    agents = {name: f"{cls.__module__}:{cls.__name__}" for name, cls in classes.items()}
    offer(TaskSpec(id=TASK, summary="for tests", env=f"{__name__}:env_cfg", agents=agents))


def run(directory: Path, agent: str, checkpoint: Path | None = None, **changes: Any) -> None:
    backend, settings = AGENTS[agent]
    overrides = {**SMALL, **settings, **{path.replace("__", "."): str(value) for path, value in changes.items()}}
    request = TrainRequest(TASK, list(overrides.items()), backend=backend, log_dir=directory, checkpoint=checkpoint)
    train(request, say=lambda line: None)


def status(directory: Path) -> str:
    return json.loads((directory / "run.json").read_text())["status"]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_reward_that_is_not_finite_ends_the_training_and_names_its_term(
    agent: str, value: str, tmp_path: Path
) -> None:
    changes = {"env__rewards__faulty__params__after": 10, "env__rewards__faulty__params__value": value}
    with pytest.raises(Diverged, match=r"first not finite: reward term 'faulty'; .*checkpoint"):
        run(tmp_path / "run", agent, **changes)
    assert status(tmp_path / "run") == "diverged"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("after", [0, 10])
def test_an_observation_that_is_not_finite_ends_the_training_and_names_its_term(
    agent: str, after: int, tmp_path: Path
) -> None:
    with pytest.raises(Diverged, match=r"first not finite: observation term 'policy\.faulty'; .*checkpoint"):
        run(tmp_path / "run", agent, env__observations__policy__terms__faulty__params__after=after)
    assert status(tmp_path / "run") == "diverged"


@pytest.mark.parametrize("agent", ["rsl_rl", "sb3", "skrl"])
def test_a_network_that_comes_apart_ends_the_training_and_is_named(agent: str, tmp_path: Path) -> None:
    changes = {"env__rewards__alive__weight": 3e38, "env__scale_rewards_by_dt": "false"}  # whose returns overflow
    with pytest.raises(Diverged, match=r"first not finite: (network|loss) '.*checkpoint"):
        run(tmp_path / "run", agent, **changes)
    assert status(tmp_path / "run") == "diverged"


def test_the_last_checkpoint_of_a_diverged_training_is_good_and_named(tmp_path: Path) -> None:
    with pytest.raises(Diverged) as error:
        run(tmp_path / "run", "rsl_rl", env__observations__policy__terms__faulty__params__after=10)
    assert "after iteration 2;" in str(error.value)
    assert str(error.value).endswith(f"the last good checkpoint is {tmp_path / 'run' / 'model_2.pt'}")
    saved = torch.load(tmp_path / "run" / "model_2.pt", weights_only=True)
    assert all(value.isfinite().all() for value in saved["actor_state_dict"].values())


@pytest.mark.parametrize("network", ["actor", "critic"])
def test_a_checkpoint_that_is_not_finite_is_nothing_to_begin_with(network: str, tmp_path: Path) -> None:
    run(tmp_path / "first", "rsl_rl", agent__max_iterations=1)
    checkpoint = torch.load(tmp_path / "first" / "model_final.pt", weights_only=True)
    next(value for value in checkpoint[f"{network}_state_dict"].values() if value.dim() == 2)[0, 0] = torch.nan
    torch.save(checkpoint, tmp_path / "bad.pt")
    with pytest.raises(UserError, match=f"the checkpoint to begin with is not finite: network '{network}'"):
        run(tmp_path / "second", "rsl_rl", checkpoint=tmp_path / "bad.pt")
    assert not (tmp_path / "second").exists()


def test_an_exception_that_has_another_cause_is_not_called_divergence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="could not convert string"):
        run(tmp_path / "run", "rsl_rl", env__rewards__faulty__params__after=5, env__rewards__faulty__params__value="x")
    assert status(tmp_path / "run") == "failed"
