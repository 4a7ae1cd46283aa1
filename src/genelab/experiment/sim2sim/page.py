"""sim2sim.html: the record of a comparison as a page. The template shows the record; its plots are made here."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from genelab.experiment.pages import Section, colour, render
from genelab.experiment.pages.numbers import number, signed, tick_labels, ticks
from genelab.experiment.pages.plots import SMALL, Curve, Plot, Scale, dot, line_plot, path, words
from genelab.experiment.sim2sim.contract import text_of

Record = dict[str, Any]
ROW, LEFT, WIDTH = 20, 170, 660
BEND = 0.1
"""The axis of the forest is linear around zero up to here, and logarithmic further out."""


def gap_page(record: Record) -> str:
    has_run = "closed_loop" in record
    sections = [
        Section("gap", "Gap", _gap(record)) if has_run else None,
        Section("closed_loop", "Paired closed loop", record) if has_run else None,
        Section("open_loop", "Open loop", _open_loop(record)) if has_run else None,
        Section("contract", "Contract", {**record["contract"], "text_of": text_of}),
        Section("attribution", "Attribution", record) if record.get("moves") else None,
        Section("matrix", "Matrix", _matrix(record)) if record.get("matrix") else None,
        Section("origin", "Origin", record),
    ]
    return render("sim2sim", f"{record['task']} · genelab sim2sim", record, sections)


def _gap(record: Record) -> Record:
    shown = record["comparisons"] or record["self_baseline"]
    returns = {e: np.array(run["episodes"]["return"], dtype=float) for e, run in record["closed_loop"].items()}
    targets = [returns[engine] for engine in record["comparisons"]]
    dots = _scatter(returns[record["source"]], targets) if targets else None
    return {"record": record, "names": list(shown), "forest": _forest(shown), "scatter": dots}


def _forest(comparisons: dict[str, Record]) -> Plot:
    """Differences with intervals over their spread, a row per metric, on an axis that is linear near zero."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for index, (engine, comparison) in enumerate(comparisons.items()):
        for name, metric in comparison["metrics"].items():
            # A metric that is the same in all episodes has no spread; its own size serves then.
            size, (low, high) = metric["spread"] or abs(metric["source"]) or 1.0, metric["ci95"]
            text = f"{engine}, {name}: {signed(metric['difference'])}, from {number(low)} to {number(high)}"
            look = colour(index), "" if metric.get("clear", False) else " hollow"  # unless it is significant
            rows.setdefault(name, []).append((low / size, metric["difference"] / size, high / size, *look, text))
    reach = max(1.0, *(abs(end) for marks in rows.values() for low, _, high, *_ in marks for end in (low, high)))
    reach = float(np.arcsinh(reach * 1.1 / BEND))
    x = Scale(-reach, reach, LEFT, WIDTH - 14)
    height = ROW * len(rows) + 44
    bottom = height - 34

    def at(value: float) -> str:
        return f"{float(x(np.arcsinh(value / BEND))):.1f}"

    shapes = []
    for tick in (-100.0, -10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0):
        if abs(float(np.arcsinh(tick / BEND))) <= reach:
            shapes.append(path("axis" if tick == 0 else "grid", f"M{at(tick)},6V{bottom}"))
            shapes.append(words(number(tick), at(tick), bottom + 15, "middle"))
    shapes.append(words("difference / spread over episodes", f"{(LEFT + WIDTH - 14) / 2:g}", height - 3, "middle"))
    for row, (name, marks) in enumerate(rows.items()):
        centre = 6 + ROW * (row + 0.5)
        shapes.append(words(name, LEFT - 10, f"{centre:g}", "end", dy="0.34em"))
        for place, (low, value, high, look, hollow, text) in enumerate(marks):
            y = f"{centre + 5.0 * (place - (len(marks) - 1) / 2):g}"
            shapes.append(path(f"line {look}", f"M{at(low)},{y}H{at(high)}"))
            shapes.append(dot(f"{look}{hollow}", at(value), y, 3.5, text))
    shapes.append(path("cross", "M0,0"))  # what the page's script moves in every plot
    return Plot("Differences of all metrics", WIDTH, height, shapes)


def _scatter(source: np.ndarray, targets: Sequence[np.ndarray]) -> Plot:
    """One dot per episode: x is its return in the source engine, y in a target; the diagonal is no gap."""
    size, left = 400, 56
    values = np.concatenate([source, *targets])
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.01 * max(1.0, abs(high))
    x = Scale(low - margin, high + margin, left, size - 12)
    y = Scale(low - margin, high + margin, size - 44, 10)
    shapes = [path("axis", f"M{left},{size - 44}H{size - 12}M{left},{size - 44}V10")]
    marks = ticks(low - margin, high + margin, 5)
    for value, label in zip(marks, tick_labels(marks), strict=True):
        shapes.append(words(label, x.at(value), size - 28, "middle"))
        shapes.append(words(label, left - 7, y.at(value), "end", dy="0.34em"))
    shapes.append(path("grid", f"M{left},{size - 44}L{size - 12},10"))
    for index, target in enumerate(targets):
        shapes += [dot(f"seed {colour(index)}", x.at(a), y.at(b), 3.5) for a, b in zip(source, target, strict=True)]
    shapes.append(words("return in the source engine", (left + size) / 2, size - 8, "middle"))
    shapes.append(path("cross", "M0,0"))
    return Plot("Returns of paired episodes", size, size, shapes)


def _open_loop(record: Record) -> Record:
    runs = {**record["open_loop"], f"{record['source']}, half dt": record["self_baseline"]["half dt"]["open_loop"]}
    scripts: dict[str, Record] = {}
    for script, quantities in next(iter(runs.values())).items():
        for quantity, first in quantities.items():
            curves = [_curve(i, e, r[script][quantity], record["control_dt"]) for i, (e, r) in enumerate(runs.items())]
            plot = line_plot(curves, quantity, SMALL, axis="time", may_be_log=True)
            scripts.setdefault(script, {})[quantity] = {"unit": first["unit"], "plot": plot}
    return {"runs": runs, "scripts": scripts}


def _curve(index: int, engine: str, quantity: Record, control_dt: float) -> Curve:
    y = np.array([np.nan if v is None else v for v in quantity["mean_curve"]], dtype=float)
    time = control_dt * np.arange(1, len(y) + 1)
    shown = np.isfinite(y)
    return Curve(index, engine, (time[shown], np.maximum(y[shown], 1e-6 * quantity["tolerance"])))


def _matrix(record: Record) -> Record:
    means = [cell["return_mean"] for row in record["matrix"] for cell in row["tested_in"].values()]
    spread = max(max(means) - min(means), 2.0 * record["margin"]["value"])
    return {"rows": record["matrix"], "lowest": min(means), "spread": spread}
