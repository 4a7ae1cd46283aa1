"""Fixtures of the whole suite: the command line in and out of this process, and one small trained run."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: tests share the cores, and weights depend on it
os.environ.setdefault("MUJOCO_GL", "egl")  # before mujoco, which some tests import by themselves
os.environ.pop("COLUMNS", None)  # the workers of pytest-xdist set it: tables would wrap as on a narrow terminal

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TASK = "GeneLab-Inverted-Pendulum-v0"


@dataclass(frozen=True)
class Outcome:
    """What a command did: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs the control suite's models where they are not installed."""
    if importlib.util.find_spec("dm_control") is None:
        left_out = pytest.mark.skip(reason="dm_control is not installed: make suite")
        for item in items:
            if item.get_closest_marker("suite") or "Playground-" in item.nodeid:
                item.add_marker(left_out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a genelab command in this process."""
    from genelab.cli.main import run

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def mistake(cli: Callable[..., Outcome]) -> Callable[..., str]:
    """Run a genelab command that must fail with exactly one line on standard error; returns that line."""

    def call(*arguments: object, code: int = 2) -> str:
        outcome = cli(*arguments)
        assert outcome.code == code, outcome
        assert len(outcome.err.splitlines()) == 1, outcome.err
        assert "Traceback" not in outcome.out + outcome.err
        return outcome.err.strip()

    return call


@pytest.fixture(scope="session")
def genelab() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``python -m genelab`` in a process of its own."""

    def call(
        *arguments: object, cwd: Path, env: dict[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "genelab", *map(str, arguments)]
        environment = {**os.environ, **(env or {})}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, **options)

    return call


@pytest.fixture
def offer() -> Iterator[Callable[[object], None]]:
    """Register tasks for one test."""
    from genelab.core.registry import TaskSpec, register, unregister

    offered: list[str] = []

    def call(spec: TaskSpec) -> None:
        register(spec)
        offered.append(spec.id)

    yield call
    for task_id in offered:
        unregister(task_id)


@pytest.fixture(scope="session")
def train_tiny() -> Callable[..., object]:
    """Train a few iterations in a few worlds; keyword arguments with ``__`` for dots are overrides."""
    from genelab.experiment.train import TrainRequest, train

    def call(directory: Path, task: str = TASK, checkpoint: Path | None = None, **overrides: object):
        settings = {"env__num_envs": 16, "agent__max_iterations": 3, **overrides}
        typed = [(path.replace("__", "."), str(value)) for path, value in settings.items()]
        run, result = train(TrainRequest(task, typed, log_dir=directory, checkpoint=checkpoint), say=lambda line: None)
        return run, result

    return call


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., object]) -> Path:
    """Directory of a finished run of the inverted pendulum: 16 worlds, 3 iterations. Read it, do not change it."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    train_tiny(directory)
    return directory
