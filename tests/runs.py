"""What tests of trainings share: reading a run directory, and trainings in processes of their own."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genelab.core.files import read_json, read_json_lines

TIMING = {"steps_per_s", "collect_s", "learn_s"}


def metrics(directory: Path) -> list[dict[str, float]]:
    """The lines of metrics.jsonl without what depends on the clock."""
    lines = read_json_lines(directory / "metrics.jsonl")
    return [{key: value for key, value in line.items() if key not in TIMING} for line in lines]


def meta(directory: Path) -> dict[str, Any]:
    return read_json(directory / "run.json")


def leftovers(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.name.endswith(".tmp")]


def start(cwd: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "genelab", *arguments]
    # Shells start what runs in the background, such as these tests, with Ctrl-C switched off, and nohup switches SIGHUP
    # off; children inherit that.
    options |= {"preexec_fn": lambda: [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGINT, signal.SIGHUP)]}
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def wait_for_iteration(process: subprocess.Popen[str], directories: Sequence[Path], iteration: int) -> None:
    """Return when every run has logged that many iterations."""
    deadline = time.monotonic() + 90
    files = [directory / "metrics.jsonl" for directory in directories]
    while not all(file.exists() and file.read_text().count("\n") >= iteration for file in files):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
