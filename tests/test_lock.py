"""Run directories belong to one process at a time."""

import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.core.errors import UserError
from genelab.experiment.run.lock import locked

TASK = "GeneLab-Inverted-Pendulum-v0"
TINY = ("--num-envs", 8, "--max-iterations", 1)


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained_run, tmp_path / "run")


def test_a_second_resume_is_refused_and_the_first_process_named(run: Path, mistake: Callable[..., str]) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with locked(run):
        said = mistake("train", TASK, "--resume", run, "--max-iterations", 5)
    assert f"in use by process {os.getpid()} on " in said
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_second_training_is_refused_too(tmp_path: Path, mistake: Callable[..., str]) -> None:
    with locked(tmp_path / "run"):
        assert f"process {os.getpid()}" in mistake("train", TASK, *TINY, "--log-dir", tmp_path / "run")


def test_the_lock_of_a_dead_process_is_taken_over(run: Path, cli: Callable[..., Any]) -> None:
    (run / "run.lock").write_text("process 1 on another-machine\n")
    assert cli("train", TASK, "--resume", run, "--max-iterations", 4).code == 0
    assert not (run / "run.lock").exists()


def _count_up(directory: Path, times: int) -> None:
    """Add one to a number in a file, which is lost if another process does so at the same time."""
    number = directory / "number"
    while times:
        try:
            with locked(directory):
                number.write_text(str(int(number.read_text()) + 1))
        except UserError:
            continue
        times -= 1


def test_no_two_processes_ever_hold_it(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("0")
    workers = [multiprocessing.get_context("fork").Process(target=_count_up, args=(tmp_path, 200)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (tmp_path / "number").read_text() == "600"
