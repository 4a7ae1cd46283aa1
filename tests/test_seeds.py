"""The same training with several seeds: what is on disk, and that a repeated command continues it."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.core.files import read_json, write_json
from genelab.rl.checkpoint import read_tensors
from runs import meta, start, wait_for_iteration

TASK = "GeneLab-Inverted-Pendulum-v0"
TINY = ("--num-envs", "8", "--max-iterations", "3")


def test_several_seeds_are_runs_of_their_own_with_a_summary(
    cli: Callable[..., Any], train_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    outcome = cli("train", TASK, "--seeds", "1,2", "--parallel", 2, *TINY, "--log-dir", tmp_path / "runs")
    assert outcome.code == 0, outcome.out
    summary = json.loads((tmp_path / "runs/summary.json").read_text())
    assert (summary["task"], summary["seeds"], summary["failed"]) == (TASK, [1, 2], [])
    for seed in (1, 2):
        found = meta(tmp_path / f"runs/seed_{seed}")
        assert (found["seed"], found["status"]) == (seed, "finished")
        assert summary["runs"][str(seed)]["weights_sha256"] == found["weights_sha256"]
    _, alone = train_tiny(tmp_path / "alone", env__num_envs=8, agent__seed=1)
    assert alone.weights_sha256 == summary["runs"]["1"]["weights_sha256"]
    assert "95 % interval" in outcome.out


def test_a_seed_that_fails_is_named_with_its_log_and_the_others_finish(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/seed_1").touch()  # in the way of the directory
    outcome = cli("train", TASK, "--seeds", "1,2", *TINY, "--log-dir", tmp_path / "runs")
    assert outcome.code == 1
    assert f"seed 1: failed, see {tmp_path / 'runs/seed_1.log'}" in outcome.out + outcome.err
    assert "cannot write to" in (tmp_path / "runs/seed_1.log").read_text()
    assert meta(tmp_path / "runs/seed_2")["status"] == "finished"
    summary = json.loads((tmp_path / "runs/summary.json").read_text())
    assert (summary["seeds"], summary["failed"]) == ([2], [1])


def test_several_seeds_have_a_directory_of_their_own_by_default(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("train", TASK, "--seeds", "3", "--num_envs", 8, "--max_iterations", 1).code == 0
    (parent,) = (tmp_path / "logs/multi-seed" / TASK).iterdir()
    assert (parent / "seed_3/model_final.pt").is_file()


def test_ctrl_c_on_several_seeds_stops_each_with_a_checkpoint(tmp_path: Path) -> None:
    options = ("--seeds", "1,2", "--parallel", "2", "--num-envs", "16", "--max-iterations", "2000")
    process = start(tmp_path, "train", TASK, *options, "--log-dir", "runs", start_new_session=True)
    seeds = [tmp_path / f"runs/seed_{seed}" for seed in (1, 2)]
    try:
        wait_for_iteration(process, seeds, 3)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends Ctrl-C to the whole group
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "go on with the same command and --log-dir runs" in out
    assert err == ""
    for directory in seeds:
        assert meta(directory)["status"] == "stopped"
        assert read_tensors(directory / "state/resume.pt")["checkpoint"]["iter"] == meta(directory)["iteration"]


# Repeating the command


@pytest.fixture
def two_seeds(train_tiny: Callable[..., Any], tmp_path: Path) -> Path:
    """Seed 1 finished, seed 2 stopped after one of three iterations, both with a log."""
    parent = tmp_path / "runs"
    for seed in (1, 2):
        train_tiny(parent / f"seed_{seed}", env__num_envs=8, agent__seed=seed)
        (parent / f"seed_{seed}.log").write_text("the first time\n")
    shutil.rmtree(parent / "seed_2/state")
    record = meta(parent / "seed_2")
    (parent / "seed_2/run.json").write_text(json.dumps({**record, "status": "stopped"}))
    return parent


def files(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_repeated_command_continues_what_is_unfinished_and_repeats_nothing(
    two_seeds: Path, cli: Callable[..., Any]
) -> None:
    finished, weights = files(two_seeds / "seed_1"), meta(two_seeds / "seed_2")["weights_sha256"]
    outcome = cli("train", TASK, "--seeds", "1,2", *TINY, "--log-dir", two_seeds)
    assert outcome.code == 0, outcome
    assert "seed 1: finished before" in outcome.out
    assert "seed 2: continued" in outcome.out
    assert files(two_seeds / "seed_1") == finished
    assert (meta(two_seeds / "seed_2")["status"], meta(two_seeds / "seed_2")["weights_sha256"]) == ("finished", weights)
    assert (two_seeds / "seed_2.log").read_text().startswith("the first time\nrun: ")
    assert json.loads((two_seeds / "summary.json").read_text())["seeds"] == [1, 2]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("--agent.algorithm.gamma", 0.9), "agent.algorithm.gamma"),
        (("--num-envs", 4), "env.num_envs"),
        (("--eval-every", 1), "--eval-every"),
        (("--checkpoint", f"bundled:{TASK}"), "--checkpoint"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_a_command_with_other_settings_is_refused_before_anything_is_trained(
    change: tuple[Any, Any], named: str, two_seeds: Path, mistake: Callable[..., str]
) -> None:
    before = files(two_seeds)
    options = (*TINY, *change) if change[0] != "--num-envs" else (*change, *TINY[2:])
    assert f"is a run with another {named}" in mistake(
        "train", TASK, "--seeds", "3,2", *options, "--log-dir", two_seeds
    )
    assert files(two_seeds) == before


def test_the_summary_alone_is_written_again_from_the_runs(two_seeds: Path, cli: Callable[..., Any]) -> None:
    assert cli("summary", two_seeds).code == 0
    summary = json.loads((two_seeds / "summary.json").read_text())
    assert (summary["task"], summary["seeds"], summary["failed"], summary["unfinished"]) == (TASK, [1], [], [2])
    assert summary["runs"]["1"]["weights_sha256"] == meta(two_seeds / "seed_1")["weights_sha256"]


def test_a_run_that_is_older_than_a_setting_has_its_default(two_seeds: Path, cli: Callable[..., Any]) -> None:
    file = two_seeds / "seed_1/params/agent.json"
    stored = read_json(file)
    del stored["rollout"]["learners"]
    write_json(file, stored)
    outcome = cli("summary", two_seeds)
    assert outcome.code == 0, outcome.err


def test_a_summary_is_over_seeds_of_one_training(
    two_seeds: Path, trained_run: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    assert "one run" in mistake("summary", trained_run)
    assert "no directory 'nowhere'" in mistake("summary", "nowhere")
    shutil.copytree(trained_run, two_seeds / "seed_42")
    assert "seed 1 and seed 42 differ in env.num_envs" in mistake("summary", two_seeds)
