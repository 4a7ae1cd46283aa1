"""The regression gate."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.experiment.benchmark import compare_with_reference
from genelab.experiment.bundle import directory
from genelab.rl.backends import BACKENDS

TASK = "GeneLab-Inverted-Pendulum-v0"


def result(mean: float, ci95: float = 0.0) -> dict[str, float]:
    return {"return_mean": mean, "return_ci95": ci95}


@pytest.mark.parametrize(
    ("new", "reference", "regression"),
    [
        (result(40.0), result(40.0), False),
        (result(36.5), result(40.0), False),  # within the tolerance of 10 %
        (result(35.0), result(40.0), True),
        (result(35.0, 6.0), result(40.0), False),  # beyond the tolerance, but not beyond the interval
        (result(35.0, 3.0), result(40.0, 4.5), False),  # the intervals of both count
        (result(-10.5), result(-10.0), False),  # of a negative return, 10 % of its magnitude
        (result(-12.0), result(-10.0), True),
        (result(-8.0), result(-10.0), False),
        (result(float("nan")), result(10.0), True),
    ],
)
def test_a_regression_is_a_drop_beyond_tolerance_and_interval(
    new: dict[str, float], reference: dict[str, float], regression: bool
) -> None:
    assert compare_with_reference(new, reference, tolerance=0.1)["regression"] is regression


@pytest.fixture
def suite(tmp_path: Path, trained_run: Path) -> Path:
    entry = {"task": TASK, "checkpoint": str(trained_run / "model_final.pt"), "episodes": 4, "num_envs": 4, "seed": 0}
    path = tmp_path / "suite.json"
    path.write_text(json.dumps([entry]))
    return path


def test_a_drop_exits_with_one_and_names_the_task(suite: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    cli("benchmark", "--suite", suite, "--out", tmp_path / "good.json")
    better = json.loads((tmp_path / "good.json").read_text())
    better["results"][0]["return_mean"] += 100.0
    (tmp_path / "better.json").write_text(json.dumps(better))
    outcome = cli("benchmark", "--suite", suite, "--reference", tmp_path / "better.json")
    assert outcome.code == 1
    assert f"{TASK}: return_mean" in outcome.out
    assert "REGRESSION" in outcome.out


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], "must be a list of entries"),
        ([3], "entry 1: expected an object"),
        ([{"task": TASK}], "entry 1: 'checkpoint' is missing"),
        ([{"task": "GeneLab-Inverted-Pendlum-v0", "checkpoint": "x"}], "entry 1: unknown task"),
        ([{"task": TASK, "checkpoint": "nowhere.pt"}], "entry 1: no checkpoint at"),
        (
            [{"task": TASK, "checkpoint": "x", "episode": 3}],
            "entry 1: unknown field 'episode' (did you mean 'episodes'?)",
        ),
        ([{"task": TASK, "checkpoint": "x", "episodes": "3"}], "entry 1: 'episodes' must be int"),
        ([{"task": TASK, "checkpoint": "bundled:Nothing"}], "entry 1: unknown bundled policy"),
        (
            [{"task": TASK, "checkpoint": "bundled:GeneLab-Double-Inverted-Pendulum-v0"}],
            "is a checkpoint of task 'GeneLab-Double-Inverted-Pendulum-v0', not of",
        ),
    ],
)
def test_a_bad_suite_is_one_line_that_names_the_entry(
    entries: list[Any], words: str, mistake: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(entries))
    assert words in mistake("benchmark", "--suite", tmp_path / "suite.json")


def test_a_reference_without_the_entry_is_an_error(suite: Path, mistake: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "reference.json").write_text(json.dumps({"results": []}))
    assert "no result for entry 1" in mistake("benchmark", "--suite", suite, "--reference", tmp_path / "reference.json")


def test_what_comes_with_the_package_passes_its_own_gate(cli: Callable[..., Any]) -> None:
    outcome = cli("benchmark", "--reference", "bundled", "--episodes", "8")
    assert outcome.code == 0, outcome.out + outcome.err
    assert outcome.out.count(": ok") == len(json.loads((directory() / "suite.json").read_text()))


@pytest.mark.parametrize("path", sorted(directory().glob("*.pt")), ids=lambda path: path.stem)
def test_bundled_policies_are_small(path: Path) -> None:
    assert path.stat().st_size < 1_000_000


def test_a_suite_whose_library_is_missing_fails_before_anything_is_evaluated(
    suite: Path, mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BACKENDS, "rsl_rl", dataclasses.replace(BACKENDS["rsl_rl"], requires="no_such_library"))
    assert "entry 1: backend 'rsl_rl' is not installed" in mistake("benchmark", "--suite", suite)


def test_a_bundled_policy_can_be_named_wherever_a_checkpoint_is(cli: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "eval.json"
    assert cli("eval", TASK, f"bundled:{TASK}", "--episodes", "1", "--num-envs", "1", "--out", out).code == 0
    assert json.loads(out.read_text())["checkpoint"] == f"bundled:{TASK}"


def test_play_without_a_run_takes_the_bundled_policy_and_says_so(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("play", TASK, "--agent", "trained", "--steps", "5")
    assert outcome.code == 0, outcome.err
    assert "(the bundled one)" in outcome.out
