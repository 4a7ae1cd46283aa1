"""Learning methods: the type of a config selects one, and whatever it adds is trained, stored, resumed and exported."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from rsl_rl.algorithms import PPO as RslRlPPO  # noqa: N811

from estimator_method import EstimatorCfg
from genelab.core.config import to_dict
from genelab.core.registry import TaskSpec, find, register, unregister
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.rl.cfg import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.rl.methods.ppo import PPO
from genelab.rl.methods.spo import SPO, SpoCfg
from genelab.rl.rsl_rl.learner import RslRlLearner

PENDULUM = "GeneLab-Inverted-Pendulum-v0"


def small_agent(algorithm: RslRlPpoCfg, rnn_type: Any = None) -> RslRlOnPolicyRunnerCfg:
    cfg: RslRlOnPolicyRunnerCfg = find(PENDULUM).agent_cfg("rsl_rl")
    cfg.algorithm, cfg.num_steps_per_env = algorithm, 8
    cfg.actor.hidden_dims, cfg.actor.rnn_type, cfg.actor.rnn_hidden_dim = (16,), rnn_type, 8
    cfg.critic = RslRlModelCfg(hidden_dims=(16,), rnn_type=rnn_type, rnn_hidden_dim=8)
    return cfg


def small_learner(algorithm: RslRlPpoCfg, rnn_type: Any = None) -> RslRlLearner:
    env_cfg = find(PENDULUM).env_cfg()
    env_cfg.num_envs, env_cfg.simulation.threads = 8, 1
    torch.manual_seed(0)
    return RslRlLearner(ManagerBasedRlEnv(env_cfg, seed=0), small_agent(algorithm, rnn_type), infos={})


@pytest.mark.parametrize(
    ("rnn_type", "settings"),
    [
        (None, {}),
        (None, {"use_clipped_value_loss": False, "normalize_advantage_per_mini_batch": True, "schedule": "fixed"}),
        ("gru", {}),
        ("lstm", {"optimizer": "sgd"}),
    ],
)
def test_an_update_has_the_bits_of_an_update_by_rsl_rl(
    rnn_type: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = small_learner(RslRlPpoCfg(**settings), rnn_type)
    monkeypatch.setattr(ours.method, "_written_out", None)  # rsl_rl lets torch find the gradients
    for _ in range(2):
        ours.run_iteration()
    theirs = small_learner(RslRlPpoCfg(**settings), rnn_type)
    method: Any = theirs.method
    monkeypatch.setattr(method, "update", lambda: RslRlPPO.update(method))
    monkeypatch.setattr(method, "compute_returns", lambda obs: RslRlPPO.compute_returns(method, obs))
    monkeypatch.setattr(method, "compute_advantages", lambda: None)  # rsl_rl has them with the returns
    for _ in range(2):
        theirs.run_iteration()
    assert isinstance(method, PPO)
    assert ours.digest() == theirs.digest()
    assert ours.metrics() == theirs.metrics()


def test_the_loss_of_spo_is_the_one_worked_out_by_hand() -> None:
    method = small_learner(SpoCfg(clip_param=0.2)).method
    assert isinstance(method, SPO)
    ratio, advantages = torch.tensor([1.0, 1.2, 0.5, 2.0]), torch.tensor([3.0, 2.0, -1.0, -0.5])
    # |A| (r - 1)² / (2 * 0.2) - A r: 0 - 3; 2 * 0.04 / 0.4 - 2.4; 1 * 0.25 / 0.4 + 0.5; 0.5 * 1 / 0.4 + 1
    torch.testing.assert_close(method.surrogate(ratio, advantages), torch.tensor([-3.0, -2.2, 1.125, 2.25]))


@pytest.mark.parametrize(("advantage", "best"), [(2.0, 1.2), (-2.0, 0.8)])
def test_the_loss_of_spo_is_least_where_the_ratio_is_on_its_bound(advantage: float, best: float) -> None:
    method: Any = small_learner(SpoCfg(clip_param=0.2)).method
    ratio = torch.tensor([best, best + 0.3, best - 0.3], requires_grad=True)
    method.surrogate(ratio, torch.full((3,), advantage)).sum().backward()
    at_best, above, below = ratio.grad.tolist()  # type: ignore[union-attr]
    assert at_best == pytest.approx(0.0, abs=1e-6)
    assert above > 0.1  # a ratio that went too far is brought back, where PPO's loss is flat
    assert below < -0.1


def test_an_agent_with_another_method_survives_being_stored() -> None:
    cfg = small_agent(SpoCfg(clip_param=0.3))
    assert from_dict(RslRlOnPolicyRunnerCfg, json.loads(json.dumps(to_dict(cfg, RslRlOnPolicyRunnerCfg)))) == cfg


def test_a_method_is_chosen_by_name_and_keeps_what_it_shares(mistake: Callable[..., str]) -> None:
    changes = [("agent.algorithm.gamma", "0.9"), ("agent.algorithm", "spo"), ("agent.algorithm.clip_param", "0.3")]
    algorithm = resolve(PENDULUM, overrides=changes).agent_cfg.algorithm
    assert type(algorithm) is SpoCfg
    assert (algorithm.gamma, algorithm.clip_param) == (0.9, 0.3)
    error = mistake("train", PENDULUM, "--agent.algorithm", "sop")
    assert "agent.algorithm expects ppo|spo, got 'sop' (did you mean 'spo'?)" in error


def test_spo_trains_from_the_command_line(tmp_path: Path, cli: Callable[..., Any]) -> None:
    options = ("--num-envs", 8, "--max-iterations", 2, "--agent.algorithm", "spo", "--log-dir", tmp_path / "run")
    assert cli("train", PENDULUM, *options).code == 0
    assert json.loads((tmp_path / "run/params/agent.json").read_text())["algorithm"]["class"].endswith(":SpoCfg")
    assert cli("eval", PENDULUM, tmp_path / "run/model_final.pt", "--episodes", 2).code == 0


def estimator_agent() -> RslRlOnPolicyRunnerCfg:
    return small_agent(EstimatorCfg())


@pytest.fixture
def estimator_task() -> Iterator[str]:
    spec = TaskSpec(
        id="Estimator-Pendulum-v0",
        summary="A pendulum with a method of its own",
        env=find(PENDULUM).env,
        agents={"rsl_rl": "test_methods:estimator_agent"},
        packages=("estimator_method",),
    )
    register(spec)
    yield spec.id
    unregister(spec.id)


def test_what_a_method_adds_is_trained_stored_and_resumed_exactly(
    estimator_task: str, tmp_path: Path, train_tiny: Callable[..., Any]
) -> None:
    from genelab.experiment.train import resume

    run, result = train_tiny(tmp_path / "whole", estimator_task, agent__max_iterations=4)
    checkpoint = torch.load(result.checkpoint, weights_only=True)
    assert {"estimator_state_dict", "regression_state_dict"} <= set(checkpoint)
    lines = [json.loads(line) for line in (run.directory / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["loss/estimate"] < lines[0]["loss/estimate"]
    assert [line["optimiser_steps"] for line in lines] == [21, 42, 63, 84]  # five epochs of four, and one
    train_tiny(tmp_path / "part", estimator_task, agent__max_iterations=2)
    _, resumed = resume(estimator_task, tmp_path / "part", [("agent.max_iterations", "4")], say=lambda line: None)
    assert resumed.weights_sha256 == result.weights_sha256


def test_the_actor_that_a_method_makes_explores_less_and_less(
    estimator_task: str, tmp_path: Path, train_tiny: Callable[..., Any]
) -> None:
    train_tiny(tmp_path, estimator_task, agent__max_iterations=2, agent__actor__distribution__final_std=0.2)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    first = small_agent(EstimatorCfg()).actor.distribution.init_std
    assert lines[1]["action_std"] == pytest.approx((first + 0.2) / 2, rel=0.05)


@pytest.mark.parametrize("format", ["torchscript", "onnx"])
def test_what_a_method_deploys_is_exported(
    estimator_task: str, format: str, tmp_path: Path, train_tiny: Callable[..., Any], cli: Callable[..., Any]
) -> None:
    _, result = train_tiny(tmp_path / "run", estimator_task)
    out = tmp_path / f"policy.{'ts' if format == 'torchscript' else 'onnx'}"
    outcome = cli("export", estimator_task, result.checkpoint, "--format", format, "--out", out)
    assert outcome.code == 0, outcome.err
    assert json.loads(Path(f"{out}.metadata.json").read_text())["self_check"]["max_error"] <= 1e-5
