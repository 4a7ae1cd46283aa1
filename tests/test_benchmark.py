"""The regression gate."""

import dataclasses
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab.core.files import read_json
from genelab.experiment.benchmark import compare_with_reference
from genelab.experiment.inference import bundle_directory
from genelab.rl.backends import BACKENDS

TASK, FRANKA = "GeneLab-Inverted-Pendulum-v0", "GeneLab-Franka-Pick-And-Place-v0"
NETWORKS = ("--agent.actor.hidden-dims", "64,64", "--agent.critic.hidden-dims", "64,64")
"""Those of the pendulum's bundled policy."""


def result(mean: float, ci95: float = 0.0, **others: Any) -> dict[str, Any]:
    return {"num_episodes": 100, "return_mean": mean, "return_ci95": ci95, "length_mean": 500.0, **others}


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


@pytest.mark.parametrize(
    ("change", "reference", "broke"),
    [
        ({"success_rate": 0.8}, {"success_rate": 1.0}, ["success_rate"]),
        ({"success_rate": 0.95}, {"success_rate": 1.0}, []),  # within the tolerance
        ({"success_rate": 0.8}, {"success_rate": 0.92}, ["success_rate"]),
        ({"success_rate": 0.8, "num_episodes": 5}, {"success_rate": 0.92}, []),  # one of five may be chance
        ({"success_rate": None}, {"success_rate": None}, []),
        ({"length_mean": 400.0}, {}, ["length_mean"]),
        ({"length_mean": 400.0, "length_ci95": 150.0}, {}, []),
        ({"length_mean": 600.0}, {}, []),
        ({"length_mean": 400.0, "success_ends_episode": True}, {}, []),  # it is quicker
        ({"length_mean": 600.0}, {"success_ends_episode": True}, ["length_mean"]),
        ({"failed_worlds": 100}, {}, ["failed_worlds"]),
        ({"failed_worlds": 1}, {}, []),
        ({"failed_worlds": 12}, {"failed_worlds": 12}, []),
        ({"success_rate": 0.0, "length_mean": 10.0}, {"success_rate": 1.0}, ["length_mean", "success_rate"]),
    ],
)
def test_the_gate_names_what_became_worse(change: dict[str, Any], reference: dict[str, Any], broke: list[str]) -> None:
    comparison = compare_with_reference({**result(40.0), **change}, {**result(40.0), **reference}, tolerance=0.1)
    assert comparison["broke"] == broke


@pytest.fixture
def suite(tmp_path: Path, trained_run: Path) -> Path:
    entry = {"task": TASK, "checkpoint": str(trained_run / "model_final.pt"), "episodes": 4, "num_envs": 4, "seed": 0}
    path = tmp_path / "suite.json"
    path.write_text(json.dumps([entry]))
    return path


@pytest.fixture
def broken_policy(tmp_path: Path, trained_run: Path) -> Path:
    """A checkpoint whose actor has one weight that is not a number."""
    checkpoint = torch.load(trained_run / "model_final.pt", weights_only=True)
    weights = next(value for value in checkpoint["actor_state_dict"].values() if value.dim() == 2)
    weights[0, 0] = float("nan")
    torch.save(checkpoint, tmp_path / "broken.pt")
    return tmp_path / "broken.pt"


def test_a_policy_that_is_not_finite_fails_the_gate_and_the_others_are_judged(
    suite: Path, broken_policy: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    cli("benchmark", "--suite", suite, "--out", tmp_path / "good.json")
    (good,) = json.loads(suite.read_text())
    suite.write_text(json.dumps([{**good, "checkpoint": str(broken_policy)}, good]))
    outcome = cli("benchmark", "--suite", suite, "--reference", tmp_path / "good.json", "--out", tmp_path / "now.json")
    assert outcome.code == 1
    assert f"{TASK}: FAILED: the policy's weights are not finite (" in outcome.out
    assert outcome.out.count(": ok") == 1
    report = json.loads((tmp_path / "now.json").read_text())
    assert report["passed"] is False
    assert "not finite" in report["results"][0]["failure"]


@pytest.mark.parametrize("command", ["eval", "export", "play"])
def test_a_policy_that_is_not_finite_is_one_line(
    command: str, broken_policy: Path, mistake: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = ("--checkpoint", broken_policy) if command == "play" else (broken_policy,)
    assert "the policy's weights are not finite" in mistake(command, TASK, *checkpoint, code=1)
    assert not list(tmp_path.glob("policy*"))


def test_what_was_measured_is_in_the_report(suite: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    cli("benchmark", "--suite", suite, "--out", tmp_path / "report.json")
    (measured,) = json.loads((tmp_path / "report.json").read_text())["results"]
    assert measured["failed_worlds"] == 0
    assert {"length_ci95", "success_rate", "success_ends_episode"} <= measured.keys()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"return_mean": float("nan")}, "'return_mean' must be a finite number, not nan"),
        ({"return_mean": "39.9"}, "'return_mean' must be float, not '39.9'"),
        ({"return_ci95": -1.0}, "'return_ci95' must be at least 0, not -1.0"),
        ({"length_mean": None}, "'length_mean' must be float, not None"),
        ({"success_rate": 1.5}, "'success_rate' must be at most 1, not 1.5"),
        ({"num_episodes": 0}, "'num_episodes' must be at least 1, not 0"),
        ({"failed_worlds": True}, "'failed_worlds' must be int, not True"),
    ],
)
def test_values_of_a_reference_are_checked(
    change: dict[str, Any], words: str, suite: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "reference.json").write_text(json.dumps({"results": [{"task": TASK, **result(40.0), **change}]}))
    message = mistake("benchmark", "--suite", suite, "--reference", tmp_path / "reference.json")
    assert f"'{TASK}': {words}" in message


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--episodes", 0), "--episodes must be at least 1"),
        (("--episodes", -3), "--episodes must be at least 1"),
        (("--tolerance", "nan"), "--tolerance must be a finite number"),
        (("--tolerance", "inf"), "--tolerance must be a finite number"),
    ],
)
def test_a_benchmark_of_nothing_is_an_error(
    option: tuple[Any, ...], words: str, suite: Path, mistake: Callable[..., str]
) -> None:
    assert words in mistake("benchmark", "--suite", suite, *option)


def test_a_drop_exits_with_one_and_names_the_task(suite: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    cli("benchmark", "--suite", suite, "--out", tmp_path / "good.json")
    better = read_json(tmp_path / "good.json")
    better["results"][0]["return_mean"] += 100.0
    (tmp_path / "better.json").write_text(json.dumps(better))
    outcome = cli("benchmark", "--suite", suite, "--reference", tmp_path / "better.json")
    assert outcome.code == 1
    assert f"{TASK}: return_mean" in outcome.out
    assert "REGRESSION in return_mean" in outcome.out


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
        ([{"task": TASK, "checkpoint": "x", "episodes": 0}], "entry 1: 'episodes' must be at least 1, not 0"),
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
    # On rough ground the first ten episodes are all on stairs; fifty meet every shape on every level.
    outcome = cli("benchmark", "--reference", "bundled", "--episodes", "50")
    assert outcome.code == 0, outcome.out + outcome.err
    assert outcome.out.count(": ok") == len(json.loads((bundle_directory() / "suite.json").read_text()))


@pytest.mark.parametrize("path", sorted(bundle_directory().glob("*.pt")), ids=lambda path: path.stem)
def test_bundled_policies_are_small(path: Path) -> None:
    assert path.stat().st_size < 1_000_000


def test_what_is_not_installed_is_marked_with_the_reason_and_the_rest_is_judged(
    suite: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = json.loads(suite.read_text())
    franka = {"task": FRANKA, "checkpoint": "bundled", "episodes": 4, "num_envs": 4}
    suite.write_text(json.dumps([franka, entry]))
    monkeypatch.setitem(BACKENDS, "sb3", dataclasses.replace(BACKENDS["sb3"], requires="no_such_library"))
    report = tmp_path / "report.json"
    assert cli("benchmark", "--suite", suite, "--out", report).code == 0
    outcome = cli("benchmark", "--suite", suite, "--reference", report)
    assert outcome.code == 0, outcome.err
    assert f"{FRANKA}: not run: backend 'sb3' is not installed: pip install genelab[sb3]" in outcome.out
    assert outcome.out.count(": ok") == 1
    assert "sb3" in json.loads(report.read_text())["results"][0]["not_run"]


def test_a_task_whose_models_are_not_installed_is_left_out(
    suite: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = json.loads(suite.read_text())
    walker = {"task": "Playground-WalkerWalk-v0", "checkpoint": "bundled", "episodes": 4, "num_envs": 4}
    suite.write_text(json.dumps([walker, entry]))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None if name == "dm_control" else found(name))
    outcome = cli("benchmark", "--suite", suite)
    assert outcome.code == 0, outcome.err
    assert "Playground-WalkerWalk-v0: not run: entity 'robot': the control suite needs the models" in outcome.out


def test_a_suite_of_which_nothing_can_run_is_an_error(
    suite: Path, mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BACKENDS, "rsl_rl", dataclasses.replace(BACKENDS["rsl_rl"], requires="no_such_library"))
    assert "can run here: backend 'rsl_rl' is not installed" in mistake("benchmark", "--suite", suite)


@pytest.mark.parametrize("name", ["bundled", f"bundled:{TASK}"])
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("eval", ("CHECKPOINT", "--episodes", 1, "--num-envs", 1)),
        ("play", ("--checkpoint", "CHECKPOINT", "--steps", 2)),
        ("export", ("CHECKPOINT", "--out", "policy.ts")),
        ("train", ("--checkpoint", "CHECKPOINT", "--max-iterations", 0, "--env.num-envs", 4, *NETWORKS)),
    ],
)
def test_a_bundled_policy_can_be_named_wherever_a_checkpoint_is(
    name: str,
    command: str,
    options: tuple[Any, ...],
    cli: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli(command, TASK, *(name if option == "CHECKPOINT" else option for option in options))
    assert outcome.code == 0, outcome.err


def test_play_without_a_run_takes_the_bundled_policy_and_says_so(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("play", TASK, "--agent", "trained", "--steps", "5")
    assert outcome.code == 0, outcome.err
    assert "(the bundled one)" in outcome.out
