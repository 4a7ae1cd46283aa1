"""``genelab runs``: the runs below a directory, as a table and as JSON."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.core.files import read_json, write_json

TASK = "GeneLab-Inverted-Pendulum-v0"


@pytest.fixture
def logs(tmp_path: Path, trained_run: Path) -> Path:
    """Three runs: a finished one, an evaluated one with another seed, and one whose process was killed."""
    for name, changes in {"plain": {}, "deep/evaluated": {"seed": 7}, "killed": {"status": "running"}}.items():
        copy = tmp_path / name
        shutil.copytree(trained_run, copy)
        write_json(copy / "run.json", read_json(copy / "run.json") | changes)
    write_json(tmp_path / "deep/evaluated/eval.json", {"metrics": {"return_mean": 39.5, "return_ci95": 0.25}})
    return tmp_path


def listed(cli: Callable[..., Any], *arguments: object) -> dict[str, Any]:
    outcome = cli("runs", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_runs_are_found_at_any_depth_with_all_that_is_known(cli: Callable[..., Any], logs: Path):
    runs = {run["run"]: run for run in listed(cli, logs)["runs"]}
    assert set(runs) == {"plain", "deep/evaluated", "killed"}
    run = runs["deep/evaluated"]
    assert (run["task"], run["preset"], run["seed"], run["status"]) == (TASK, "cpu", 7, "finished")
    assert (run["return"], run["interval"], run["measured"]) == (39.5, 0.25, "eval")
    assert run["steps/s"] > 0
    assert run["age"] >= 0


def test_without_an_evaluation_the_return_is_that_of_training(cli: Callable[..., Any], logs: Path):
    last = json.loads((logs / "plain/metrics.jsonl").read_text().splitlines()[-1])
    run = next(run for run in listed(cli, logs)["runs"] if run["run"] == "plain")
    assert (run["return"], run["interval"]) == (last.get("return_mean"), None)


def test_a_run_that_nobody_trains_any_more_was_killed(cli: Callable[..., Any], logs: Path):
    assert {run["run"]: run["status"] for run in listed(cli, logs)["runs"]}["killed"] == "killed"


def test_runs_can_be_sorted_by_any_column(cli: Callable[..., Any], logs: Path):
    assert [run["seed"] for run in listed(cli, logs, "--sort", "seed")["runs"]][-1] == 42
    assert listed(cli, logs, "--sort", "return")["runs"][0]["run"] == "deep/evaluated"
    assert [run["run"] for run in listed(cli, logs, "--sort", "run")["runs"]] == ["deep/evaluated", "killed", "plain"]


def test_the_table_has_a_line_per_run(cli: Callable[..., Any], logs: Path):
    lines = cli("runs", logs, "--sort", "run").out.splitlines()
    assert lines[0].split() == ["run", "task", "preset", "seed", "status", "return", "measured", "steps/s", "age"]
    assert "39.5 ± 0.25" in lines[2]
    assert len(lines) == 5


def test_what_is_damaged_or_not_ours_is_a_note(cli: Callable[..., Any], logs: Path):
    (logs / "damaged").mkdir()
    (logs / "damaged/run.json").write_text('{"task": ')
    (logs / "foreign").mkdir()
    (logs / "foreign/run.json").write_text('["somebody else\'s"]')
    (logs / "plain/metrics.jsonl").write_text("nonsense\n")
    record = listed(cli, logs)
    assert len(record["runs"]) == 3
    assert [sum(name in note for note in record["notes"]) > 0 for name in ("damaged", "foreign", "plain")] == [True] * 3
    assert "note: left out" in cli("runs", logs).out


def test_a_directory_without_runs_is_no_mistake(cli: Callable[..., Any], tmp_path: Path):
    outcome = cli("runs", tmp_path)
    assert (outcome.code, outcome.out.strip()) == (0, f"there is no run below '{tmp_path}'")


def test_a_wrong_directory_or_column_is_one_line(mistake: Callable[..., str], tmp_path: Path):
    assert "there is no directory" in mistake("runs", tmp_path / "nowhere")
    assert "did you mean 'status'" in mistake("runs", tmp_path, "--sort", "stat")


def test_nothing_heavy_is_imported(logs: Path):
    code = "import sys; from genelab.cli.main import run; run(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "runs", str(logs)], capture_output=True, text=True, check=True)
    assert not {"torch", "mujoco", "numpy", "jinja2", "rsl_rl"} & set(done.stdout.splitlines()[-1].split())
