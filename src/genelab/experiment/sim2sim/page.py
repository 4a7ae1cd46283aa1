"""sim2sim.html: the record of a comparison as a page. The template shows the record; its plots are made here."""

from typing import Any

import numpy as np

from genelab.experiment.pages import Section, render
from genelab.experiment.pages.numbers import number, signed
from genelab.experiment.pages.plots import SMALL, Curve, Mark, forest, line_plot, scatter
from genelab.experiment.sim2sim.contract import text_of

Record = dict[str, Any]


def gap_page(record: Record) -> str:
    """The whole HTML file."""
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
    rows: dict[str, list[Mark]] = {}
    for index, (engine, comparison) in enumerate(shown.items()):
        for name, metric in comparison["metrics"].items():
            rows.setdefault(name, []).append(_mark(index, engine, name, metric))
    returns = {e: np.array(run["episodes"]["return"], dtype=float) for e, run in record["closed_loop"].items()}
    pairs = [(index, returns[engine]) for index, engine in enumerate(record["comparisons"])]
    dots = scatter(returns[record["source"]], pairs) if pairs else None
    return {"record": record, "names": list(shown), "forest": forest(list(rows.items())), "scatter": dots}


def _mark(index: int, engine: str, name: str, metric: Record) -> Mark:
    # A metric that is the same in all episodes has no spread; its own size serves then.
    size = metric["spread"] or abs(metric["source"]) or 1.0
    low, high = metric["ci95"]
    text = f"{engine}, {name}: {signed(metric['difference'])}, from {number(low)} to {number(high)}"
    return Mark(index, low / size, metric["difference"] / size, high / size, metric.get("clear", False), text)


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
