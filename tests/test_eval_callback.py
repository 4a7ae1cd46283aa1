"""Evaluation during training: it watches and keeps the best, and changes nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.core.errors import UserError
from genelab.experiment.train import TrainRequest, resume, train
from genelab.rl.checkpoint import read_checkpoint
from genelab.rl.eval_callback import EvalCallback, EvalSettings

TASK = "GeneLab-Inverted-Pendulum-v0"
SHORT = [("env.num_envs", "16"), ("env.episode_length_s", "0.3"), ("agent.max_iterations", "4")]


def run_with(directory: Path, settings: EvalSettings | None, *more: tuple[str, str], said: list[str] | None = None):
    request = TrainRequest(TASK, [*SHORT, *more], log_dir=directory, evaluation=settings)
    return train(request, say=(said if said is not None else []).append)


@pytest.mark.parametrize("rnn_type", ["none", "lstm"])
def test_weights_are_the_same_with_and_without_it(tmp_path: Path, rnn_type: str) -> None:
    networks = ("agent.actor.rnn_type", rnn_type), ("agent.algorithm.symmetry", "none")
    _, without = run_with(tmp_path / "without", None, *networks)
    _, watched = run_with(tmp_path / "watched", EvalSettings(every=1, episodes=4), *networks)
    assert watched.weights_sha256 == without.weights_sha256


def test_the_best_checkpoint_is_that_of_the_best_evaluation(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path / "run", EvalSettings(every=1, episodes=4))
    lines = [json.loads(line) for line in (run.directory / "evaluations.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == [1, 2, 3, 4]
    best = max(lines, key=lambda line: line["return_mean"])
    meta = json.loads((run.directory / "best_model_meta.json").read_text())
    assert (meta["iteration"], meta["return_mean"]) == (best["iteration"], best["return_mean"])
    assert read_checkpoint(run.directory / "best_model.pt", TASK)["iter"] == best["iteration"]


def test_a_failing_evaluation_is_reported_and_training_goes_on(tmp_path: Path, monkeypatch: Any) -> None:
    def explode(*arguments: object, **options: object) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr("genelab.rl.eval_callback.evaluate", explode)
    said: list[str] = []
    _, result = run_with(tmp_path / "run", EvalSettings(every=2), said=said)
    assert result.finished
    assert "evaluation at iteration 2 failed: ValueError: no luck" in said


def test_a_resumed_run_goes_on_evaluating_without_repeating_lines(tmp_path: Path) -> None:
    run_with(tmp_path / "run", EvalSettings(every=1, episodes=4))
    resume(TASK, tmp_path / "run", [("agent.max_iterations", "6")], say=lambda line: None)
    lines = (tmp_path / "run/evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2, 3, 4, 5, 6]


def test_it_takes_no_more_worlds_than_episodes(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path / "run", EvalSettings(every=4, episodes=3))
    assert json.loads((run.directory / "evaluations.jsonl").read_text())["num_episodes"] == 3


def test_impossible_settings_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="at least one episode"):
        run_with(tmp_path / "run", EvalSettings(every=1, episodes=0))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--eval-episodes", "3"], "--eval-episodes goes with --eval-every"),
        (["--eval-every", "0"], "--eval-every must be at least 1"),
        (["--eval-every", "1", "--eval-episodes", "0"], "at least one episode"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], words: str, mistake: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in mistake("train", TASK, "--num-envs", 8, "--max-iterations", 1, *arguments)


def test_the_callback_is_importable_under_its_promised_name() -> None:
    assert EvalCallback.__module__ == "genelab.rl.eval_callback"
