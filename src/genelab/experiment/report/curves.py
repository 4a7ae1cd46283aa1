"""Curves over seeds: one mean, one band, and the seeds themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from genelab.core.json_data import finite
from genelab.experiment.report.data import Entry, RunData

Line = tuple[np.ndarray, np.ndarray]
"""x and y of the same length, x rising."""


@dataclass(frozen=True)
class Curve:
    """One entry in one plot."""

    index: int
    """Place of the entry in the report; decides the colour."""
    label: str
    mean: Line
    low: Line | None
    """Lower edge of the band: the lowest seed, or the lower end of the interval of a single run."""
    high: Line | None
    seeds: list[tuple[str, Line]]
    """Name and line of each seed; empty if there is one."""


Reader = Callable[[RunData], tuple[Line, np.ndarray | None]]
"""Takes the line of a plot out of a run, with half widths of intervals if it has them."""


def of_metric(key: str, axis: str) -> Reader:
    """A metric against ``steps`` or ``time``."""

    def read(run: RunData) -> tuple[Line, None]:
        xs = run.seconds if axis == "time" else [_steps(row) for row in run.rows]
        pairs = [(x, y) for x, row in zip(xs, run.rows, strict=False) if (y := finite(row.get(key))) is not None]
        return _line([pair for pair in pairs if pair[0] is not None]), None

    return read


def of_evaluations(key: str = "return_mean", interval: str = "return_ci95") -> Reader:
    """An evaluation made during training against steps."""

    def read(run: RunData) -> tuple[Line, np.ndarray | None]:
        rows = {_steps(row): row for row in run.evaluations if finite(row.get(key)) is not None}
        line = _line([(steps, row[key]) for steps, row in rows.items() if steps is not None])
        return line, np.array([finite(rows[steps].get(interval)) or 0.0 for steps in line[0]])

    return read


def curves(entries: Sequence[Entry], read: Reader) -> list[Curve]:
    """One curve per entry that has the data."""
    found = []
    for index, entry in enumerate(entries):
        lines = [(run.name, *read(run)) for run in entry.runs]
        lines = [(name, line, width) for name, line, width in lines if len(line[0])]
        if lines:
            found.append(_curve(index, entry.label, lines))
    return found


def thin(line: Line, buckets: int) -> Line:
    """The line with at most two points per bucket, the lowest and the highest, so that no spike is lost."""
    x, y = line
    if len(x) <= 2 * buckets:
        return line
    edges = np.linspace(0, len(x), buckets + 1).astype(int)
    keep = {0, len(x) - 1}
    for start, end in pairwise(edges):
        keep |= {start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))}
    chosen = sorted(keep)
    return x[chosen], y[chosen]


def _curve(index: int, label: str, lines: list[tuple[str, Line, np.ndarray | None]]) -> Curve:
    if len(lines) == 1:
        _, (x, y), width = lines[0]
        band = (None, None) if width is None else ((x, y - width), (x, y + width))
        return Curve(index, label, (x, y), *band, seeds=[])
    # The mean is drawn where every seed has data: a mean over fewer and fewer seeds would jump as they end.
    start, end = max(line[0][0] for _, line, _ in lines), min(line[0][-1] for _, line, _ in lines)
    grid = np.unique(np.concatenate([line[0] for _, line, _ in lines]))
    grid = grid[(grid >= start) & (grid <= end)]
    stack = np.stack([np.interp(grid, *line) for _, line, _ in lines])  # (seeds, points)
    seeds = [(name, line) for name, line, _ in lines]
    return Curve(index, label, (grid, stack.mean(0)), (grid, stack.min(0)), (grid, stack.max(0)), seeds)


def _steps(row: dict[str, Any]) -> float | None:
    return finite(row["steps"] if "steps" in row else row.get("iteration"))


def _line(pairs: Sequence[tuple[Any, Any]]) -> Line:
    pairs = sorted(dict(pairs).items())
    return np.array([x for x, _ in pairs], dtype=float), np.array([y for _, y in pairs], dtype=float)
