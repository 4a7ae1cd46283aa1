"""Curves over seeds: one mean, one band, and the seeds themselves; and the figures they are drawn in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genelab.core.ranges import finite
from genelab.experiment.pages import Cell, Section
from genelab.experiment.pages.numbers import number, percent
from genelab.experiment.pages.plots import SMALL, Curve, Layout, Line, Plot, line_plot
from genelab.experiment.run.reading import Entry, RunData, unique

HERO = Layout(width=660, height=400, left=52, bottom=28, x_ticks=6, y_ticks=6, x_label=True)
WIDE = Layout(width=660, height=230, left=52, bottom=28, x_ticks=6, y_ticks=4, x_label=True, markers=True)
SIDE = Layout(width=330, height=178, left=50, bottom=22, x_ticks=4, y_ticks=3)
MAIN = {"return_mean": "Return", "length_mean": "Episode length", "success_rate": "Success rate"}
NOT_PLOTTED = {"iteration", "steps", *MAIN}
GROUPS = {
    "reward": ("Reward terms", "Weighted return of each term per episode."),
    "metric": ("Task metrics", ""),
    "termination": ("Terminations", "Share of finished episodes that each term ended."),
    "loss": ("Optimisation", "Losses, learning rate and exploration. Wide ranges are logarithmic."),
    "run": ("Speed and health", ""),
}
"""Title and explanation of metrics by the word before the slash. Other words become groups of their own."""
HOME = {"learning_rate": "loss", "action_std": "loss"}
"""Groups of metrics without a slash; all others belong to the run itself."""
Reader = Callable[[RunData], tuple[Line, np.ndarray | None]]
"""Takes the line of a plot out of a run, with half widths of intervals if it has them."""


@dataclass(frozen=True)
class Figure:
    """A plot with its name and the newest values."""

    title: str
    plot: Plot
    values: list[Cell]
    """None at all if there are too many of them."""


def learning_curves(entries: Sequence[Entry]) -> Section:
    """Return, episode length and success rate, against steps or time."""
    by_axis: dict[str, Any] = {}
    for axis, title in (("steps", "Environment steps"), ("time", "Training time")):
        drawn = [
            figure(entries, MAIN[key], of_metric(key, axis), HERO if key == "return_mean" else SIDE, axis=axis, key=key)
            for key in MAIN
        ]
        if any(drawn):
            by_axis[axis] = {"title": title, "hero": drawn[0], "side": [one for one in drawn[1:] if one is not None]}
    return Section("curves", "Learning curves", {"axes": by_axis, "legend": legend(entries)})


def small_multiples(entries: Sequence[Entry]) -> Iterator[Section]:
    """Every other metric, grouped by the word before the slash."""
    grouped: dict[str, list[str]] = {word: [] for word in GROUPS}
    for key in unique(key for entry in entries for run in entry.runs for row in run.rows for key in row):
        if key not in NOT_PLOTTED:
            word = key.partition("/")[0] if "/" in key else HOME.get(key, "run")
            grouped.setdefault(word, []).append(key)
    for word, keys in grouped.items():
        title, explanation = GROUPS.get(word, (word.replace("_", " ").capitalize(), ""))
        drawn = [figure(entries, k.removeprefix(f"{word}/"), of_metric(k, "steps"), SMALL, key=k) for k in keys]
        if figures := [one for one in drawn if one is not None]:
            data = {"explanation": explanation, "legend": legend(entries, lines=False), "figures": figures}
            yield Section("metrics", title, data, anchor=f"metrics-{word}")


def figure(
    entries: Sequence[Entry], title: str, read: Reader, layout: Layout, *, axis: str = "steps", key: str = ""
) -> Figure | None:
    """A plot with its name and the newest values; None if no entry has the data. Small ones leave the seeds out."""
    if not (found := curves(entries, read)):
        return None
    fraction = key == "success_rate" or key.startswith("termination/")
    may_be_log, alone = key.startswith("loss/") or key in HOME, len(entries) == 1
    looks = {"may_be_log": may_be_log, "fraction": fraction, "name_seeds": alone, "draw_seeds": layout is not SMALL}
    drawn = line_plot(found, title, layout, axis=axis, **looks)
    show = percent if fraction else number
    few = len(found) <= (2 if layout is SMALL else 3)
    values = [Cell(show(float(c.mean[1][-1])), c.index) for c in found if len(c.mean[1])] if few else []
    return Figure(title, drawn, values)


def legend(entries: Sequence[Entry], *, lines: bool = True) -> dict[str, Any]:
    """The colours of the entries and, if `lines`, what each kind of mark means."""
    names = [Cell(entry.label, index) for index, entry in enumerate(entries)] if len(entries) > 1 else []
    counts = unique(len(entry.runs) for entry in entries)
    meanings = {}
    if lines and counts != [1]:
        over = f"{counts[0]} seeds" if len(counts) == 1 else "seeds"
        meanings = {"line": f"mean over {over}", "band": "lowest to highest seed", "seed": "each seed"}
    return {"names": names, "meanings": meanings}


def of_metric(key: str, axis: str) -> Reader:
    """A metric against ``steps`` or ``time``."""

    def read(run: RunData) -> tuple[Line, None]:
        xs = run.seconds if axis == "time" else [_steps(row) for row in run.rows]
        pairs = [(x, y) for x, row in zip(xs, run.rows, strict=False) if (y := finite(row.get(key))) is not None]
        return _line([pair for pair in pairs if pair[0] is not None]), None

    return read


def of_evaluations(run: RunData) -> tuple[Line, np.ndarray]:
    """The returns of evaluations made during training against steps, with their intervals."""
    rows = {_steps(row): row for row in run.evaluations if finite(row.get("return_mean")) is not None}
    line = _line([(steps, row["return_mean"]) for steps, row in rows.items() if steps is not None])
    return line, np.array([finite(rows[steps].get("return_ci95")) or 0.0 for steps in line[0]])


def curves(entries: Sequence[Entry], read: Reader) -> list[Curve]:
    """One curve per entry that has the data."""
    found = []
    for index, entry in enumerate(entries):
        lines = [(run.name, *read(run)) for run in entry.runs]
        if drawn := [(name, line, width) for name, line, width in lines if len(line[0])]:
            found.append(_curve(index, entry.label, drawn))
    return found


def _curve(index: int, label: str, lines: list[tuple[str, Line, np.ndarray | None]]) -> Curve:
    if len(lines) == 1:
        _, (x, y), width = lines[0]
        return Curve(index, label, (x, y), None if width is None else ((x, y - width), (x, y + width)))
    # The mean is drawn where every seed has data: a mean over fewer and fewer seeds would jump as they end.
    start, end = max(line[0][0] for _, line, _ in lines), min(line[0][-1] for _, line, _ in lines)
    grid = np.unique(np.concatenate([line[0] for _, line, _ in lines]))
    grid = grid[(grid >= start) & (grid <= end)]
    stack = np.stack([np.interp(grid, *line) for _, line, _ in lines])  # (seeds, points)
    band = (grid, stack.min(0)), (grid, stack.max(0))
    return Curve(index, label, (grid, stack.mean(0)), band, [(name, line) for name, line, _ in lines])


def _steps(row: dict[str, Any]) -> float | None:
    return finite(row["steps"] if "steps" in row else row.get("iteration"))


def _line(pairs: Sequence[tuple[Any, Any]]) -> Line:
    pairs = sorted(dict(pairs).items())
    return np.array([x for x, _ in pairs], dtype=float), np.array([y for _, y in pairs], dtype=float)
