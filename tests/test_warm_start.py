"""Warm starts from a policy that sees less than the new task shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from genelab.core.errors import UserError
from genelab.rl.rsl_rl.learner import widen

PENDULUM = "GeneLab-Inverted-Pendulum-v0"
FLAT, ROUGH = "Genelab-Velocity-Flat-Unitree-Go1-v0", "Genelab-Velocity-Rough-Unitree-Go1-v0"
SMALL = {
    "env__num_envs": 2,
    "agent__num_steps_per_env": 2,
    "agent__actor__hidden_dims": "8",
    "agent__critic__hidden_dims": "8",
}


def test_a_widened_network_computes_what_it_did_whatever_the_new_inputs_are() -> None:
    old, new = nn.Sequential(nn.Linear(2, 3), nn.ELU()), nn.Sequential(nn.Linear(4, 3), nn.ELU())
    state = {f"mlp.{name}": value for name, value in old.state_dict().items()}
    widened = widen(state, ["a", "b"], ["x", "b", "y", "a"])
    new.load_state_dict({name.removeprefix("mlp."): value for name, value in widened.items()})
    seen = torch.randn(5, 4)
    torch.testing.assert_close(new(seen), old(seen[:, [3, 1]]))


def test_an_input_that_is_gone_is_an_error_that_names_it() -> None:
    with pytest.raises(UserError, match="sees b, which"):
        widen({"mlp.0.weight": torch.zeros(1, 2)}, ["a", "b"], ["a", "c"])


def test_a_rough_training_begins_with_the_policy_of_the_flat_task(
    tmp_path: Path, train_tiny: Callable[..., Any], cli: Callable[..., Any]
) -> None:
    train_tiny(tmp_path / "flat", FLAT, agent__max_iterations=1, **SMALL)
    checkpoint = tmp_path / "flat/model_final.pt"
    options = [f"--{name.replace('__', '.')}={value}" for name, value in SMALL.items()]
    outcome = cli(
        *("train", ROUGH, "--checkpoint", checkpoint, "--max-iterations", 0, "--log-dir", tmp_path / "rough"),
        *options,
        "--env.scene.terrain.rows=2",
    )
    assert outcome.code == 0, outcome.err
    flat, rough = (
        torch.load(path, weights_only=True)["actor_state_dict"]
        for path in (checkpoint, tmp_path / "rough/model_final.pt")
    )
    torch.testing.assert_close(rough["mlp.0.weight"][:, :45], flat["mlp.0.weight"])
    assert not rough["mlp.0.weight"][:, 45:].any()
    torch.testing.assert_close(rough["mlp.2.weight"], flat["mlp.2.weight"])


def test_a_flat_training_cannot_begin_with_a_policy_that_sees_the_ground(
    tmp_path: Path, train_tiny: Callable[..., Any], mistake: Callable[..., str]
) -> None:
    train_tiny(tmp_path / "rough", ROUGH, agent__max_iterations=0, **SMALL)
    line = mistake("train", FLAT, "--checkpoint", tmp_path / "rough/model_final.pt", "--log-dir", tmp_path / "flat")
    assert "height_scan[0]" in line
    assert not (tmp_path / "flat").exists()


@pytest.mark.parametrize(("schedule", "rate"), [("adaptive", 1e-5), ("fixed", 1e-3)])
def test_an_adaptive_training_begins_with_small_steps_from_a_policy(
    tmp_path: Path, train_tiny: Callable[..., Any], cli: Callable[..., Any], schedule: str, rate: float
) -> None:
    one_step = ("--agent.algorithm.num_learning_epochs=1", "--agent.algorithm.num_mini_batches=1", "--num-envs=4")
    _, result = train_tiny(tmp_path / "first", PENDULUM, agent__max_iterations=1)
    outcome = cli(
        *(
            "train",
            PENDULUM,
            "--checkpoint",
            result.checkpoint,
            "--max-iterations",
            1,
            "--log-dir",
            tmp_path / "second",
        ),
        *one_step,
        f"--agent.algorithm.schedule={schedule}",
    )
    assert outcome.code == 0, outcome.err
    before, after = (
        torch.load(path, weights_only=True)["actor_state_dict"]["mlp.0.weight"]
        for path in (result.checkpoint, tmp_path / "second/model_final.pt")
    )
    assert float((after - before).abs().max()) == pytest.approx(rate, rel=0.05)
