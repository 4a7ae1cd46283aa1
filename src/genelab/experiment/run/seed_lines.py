"""How far each seed of a multi-seed training is: a line per seed, from what its process has logged."""

import json
from pathlib import Path
from typing import Any

from genelab.core.run_files import METRICS_FILE, seed_directory
from genelab.experiment.console import describe, open_display

INTERVAL_S = 60.0
"""Time between two plain lines about a seed, where standard output is not a terminal."""
TAIL = 16_384
"""Bytes at the end of a log that are read: more than one line of it."""


class SeedLines:
    """A row per seed that follows the metrics of its run."""

    def __init__(self, parent: Path, seeds: list[int], total: int, unit: str):
        self._parent = parent
        self._display = open_display(INTERVAL_S)
        self._rows = {seed: self._display.row(f"seed {seed}", total, unit) for seed in seeds}
        for row in self._rows.values():
            row.begin(0, "waiting")

    def __enter__(self) -> "SeedLines":
        return self

    def __exit__(self, *error: object) -> None:
        self._display.close()

    def begin(self, seed: int) -> None:
        """The process of a seed has been started."""
        logged = self._logged(seed)
        self._rows[seed].begin(0 if logged is None else logged["iteration"], "starting")

    def follow(self, seed: int) -> None:
        """Show what a running seed has logged last."""
        logged, row = self._logged(seed), self._rows[seed]
        if logged is not None and logged["iteration"] != row.done:
            row.update(logged["iteration"], describe(logged))

    def end(self, seed: int, how: str) -> None:
        """The process of a seed has ended."""
        self.follow(seed)
        row = self._rows[seed]
        row.status = f"{row.status}, {how}" if row.done else how

    def _logged(self, seed: int) -> dict[str, Any] | None:
        return last_line(seed_directory(self._parent, seed) / METRICS_FILE)


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
