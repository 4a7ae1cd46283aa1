"""How far each seed of a multi-seed training is: a line per seed, from what its process has logged."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from genelab.core.run_files import METRICS_FILE
from genelab.experiment.console import describe, open_display
from genelab.experiment.launch import log_file

INTERVAL_S = 60.0
"""Time between two plain lines about a seed, where standard output is not a terminal."""
TAIL = 16_384
"""Bytes at the end of a log that are read: more than one line of it."""


class SeedLines:
    """A row per seed that follows the metrics of its run, and a line for each that begins or ends."""

    def __init__(self, seeds: dict[Path, int], total: int, unit: str, say: Callable[[str], None]):
        self._seeds, self._say = seeds, say
        self._display = open_display(INTERVAL_S)
        self._rows = {directory: self._display.row(f"seed {seed}", total, unit) for directory, seed in seeds.items()}
        for row in self._rows.values():
            row.begin(0, "waiting")

    def close(self) -> None:
        """Give the terminal back."""
        self._display.close()

    def begin(self, directory: Path, command: list[str]) -> None:
        """The process of a seed has been started."""
        logged = last_line(directory / METRICS_FILE)
        self._rows[directory].begin(0 if logged is None else logged["iteration"], "starting")
        verb = "continued" if "--resume" in command else "started"
        self._say(f"seed {self._seeds[directory]}: {verb}, log {log_file(directory)}")

    def follow(self, running: Iterable[Path]) -> None:
        """Show what running seeds have logged last."""
        for directory in running:
            logged, row = last_line(directory / METRICS_FILE), self._rows[directory]
            if logged is not None and logged["iteration"] != row.done:
                row.update(logged["iteration"], describe(logged))

    def end(self, directory: Path, code: int | None) -> None:
        """The process of a seed has ended."""
        self.follow([directory])
        row, done = self._rows[directory], code in (0, None)
        how = "done" if done else "failed"
        row.status = f"{row.status}, {how}" if row.done else how
        self._say(f"seed {self._seeds[directory]}: {how if done else f'failed, see {log_file(directory)}'}")


def last_line(path: Path) -> dict[str, Any] | None:
    """The last complete line of a run's metrics, without reading all of them; None while there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL))
            whole = file.read().rpartition(b"\n")[0]
        line = json.loads(whole.rpartition(b"\n")[2])
    except (OSError, ValueError):
        return None
    return line if isinstance(line, dict) and {"iteration", "steps_per_s"} <= line.keys() else None
