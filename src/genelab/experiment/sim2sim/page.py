"""sim2sim.html: the record of a comparison as a page."""

from typing import Any

import numpy as np

from genelab.experiment.pages import Cell, Section, Table, render
from genelab.experiment.pages.numbers import DASH, number
from genelab.experiment.pages.plots import Curve, Layout, Mark, forest, line_plot, scatter
from genelab.experiment.sim2sim.contract import text_of

Record = dict[str, Any]
VERDICTS = {"equivalent": "finished", "gap": "failed", "undecided": "stopped"}
"""Verdict to the badge that carries its colour."""
BASELINES = ("half dt", "other seeds")
WORTH_A_NUMBER = 0.25
"""Share of the gap below which the estimate of a parameter says nothing."""
SMALL = Layout(width=270, height=140, left=46)


def gap_page(record: Record) -> str:
    """The whole HTML file."""
    sections = (_gap, _closed_loop, _open_loop, _contract, _attribution, _matrix, _origin)
    title = f"{record['task']} · genelab sim2sim"
    return render("sim2sim", title, _header(record), [section(record) for section in sections])


def _header(record: Record) -> Record:
    words = [f"trained in {record['source']}", f"{record['num_episodes']} episodes", f"seed {record['seed']}"]
    words += ["with the training's pushes" if record["pushes"] else "without pushes"]
    tiles: list[tuple[str, str, object]] = [
        (f"{engine}: return", _signed(c["equivalence"]["difference"]), _badge(c["verdict"]))
        for engine, c in _comparisons(record).items()
    ]
    if "margin" in record:
        tiles.append(("Margin", f"± {number(record['margin']['value'])}", record["margin"]["rule"]))
    broken = record["contract"]["broken"]
    state = "broken: nothing was run" if broken else f"{len(record['contract']['differences'])} differences"
    tiles.append(("Contract", "broken" if broken else "kept", state))
    return {"title": record["task"], "words": words, "tiles": tiles}


def _gap(record: Record) -> Section | None:
    comparisons = _comparisons(record) or _baselines(record)
    if not comparisons:
        return None
    rows: dict[str, list[Mark]] = {}
    for index, (engine, comparison) in enumerate(comparisons.items()):
        for name, metric in comparison["metrics"].items():
            rows.setdefault(name, []).append(_mark(index, engine, name, metric))
    returns = {e: np.array(run["episodes"]["return"], dtype=float) for e, run in record["closed_loop"].items()}
    pairs = [(index, returns[engine]) for index, engine in enumerate(_comparisons(record))]
    data = {
        "names": list(comparisons),
        "forest": forest(list(rows.items())),
        "scatter": scatter(returns[record["source"]], pairs) if pairs else None,
        "verdicts": _verdicts(record),
    }
    return Section("gap", "Gap", data)


def _mark(index: int, engine: str, name: str, metric: Record) -> Mark:
    # A metric that is the same in all episodes has no spread; its own size serves then.
    size = metric["spread"] or abs(metric["source"]) or 1.0
    low, high = metric["ci95"]
    text = f"{engine}, {name}: {_signed(metric['difference'])}, from {number(low)} to {number(high)}"
    return Mark(index, low / size, metric["difference"] / size, high / size, metric.get("clear", False), text)


def _verdicts(record: Record) -> Table:
    rows = []
    for engine, c in {**_comparisons(record), **_baselines(record)}.items():
        equivalence, falls = c["equivalence"], c["falls"]
        name = engine if engine in _comparisons(record) else f"{record['source']}, {engine}"
        tost = [_signed(equivalence["difference"]), _interval(equivalence["ci90"]), number(equivalence["p"], 2)]
        fell = [f"{falls['source']} → {falls['target']}", number(falls["p"], 2)]
        rows.append([name, _badge(c["verdict"]), *tost, *fell])
    head = ["", "Return", "Difference", "90 % interval", "p (TOST)", "Falls", "p (McNemar)"]
    return Table(head, rows, text_columns=2)


def _closed_loop(record: Record) -> Section | None:
    if "closed_loop" not in record:
        return None
    targets, baselines = _comparisons(record), _baselines(record)
    head = ["Metric", record["source"], *(word for name in targets for word in (name, "95 % interval", "p (Holm)"))]
    rows = []
    for metric, first in next(iter(baselines.values()))["metrics"].items():
        row: list[object] = [metric, number(first["source"])]
        for comparison in targets.values():
            m = comparison["metrics"].get(metric)
            p = None if m is None else Cell(number(m["p_holm"], 2), bold=m["clear"])
            row += [DASH] * 3 if m is None else [_signed(m["difference"], 3), _interval(m["ci95"]), p]
        changes = (comparison["metrics"].get(metric) for comparison in baselines.values())
        rows.append([*row, *(DASH if m is None else _signed(m["difference"], 3) for m in changes)])
    return Section("closed_loop", "Paired closed loop", Table([*head, *baselines], rows))


def _open_loop(record: Record) -> Section | None:
    if "open_loop" not in record:
        return None
    runs = {**record["open_loop"], f"{record['source']}, half dt": record["self_baseline"]["half dt"]["open_loop"]}
    scripts: dict[str, list[Record]] = {}
    rows = []
    for script, quantities in next(iter(runs.values())).items():
        for quantity, first in quantities.items():
            curves = [_curve(i, e, r[script][quantity], record["control_dt"]) for i, (e, r) in enumerate(runs.items())]
            plot = line_plot(curves, quantity, SMALL, axis="time", may_be_log=True)
            scripts.setdefault(script, []).append({"name": quantity, "unit": first["unit"], "plot": plot})
            for engine, run in runs.items():
                q = run[script][quantity]
                step = DASH if q["first_step"] is None else f"{q['first_step']} ({number(q['first_time_s'], 3)} s)"
                error = [number(q["tolerance"], 2), step, number(q["error_there"], 3), number(q["max_error"], 3)]
                rows.append([script, quantity, engine, *error])
    head = ["Script", "Quantity", "Engine", "Tolerance", "First step beyond", "Error there", "Largest error"]
    data = {"names": list(runs), "scripts": scripts, "numbers": Table(head, rows, text_columns=3)}
    return Section("open_loop", "Open loop", data)


def _curve(index: int, engine: str, quantity: Record, control_dt: float) -> Curve:
    y = np.array([np.nan if v is None else v for v in quantity["mean_curve"]], dtype=float)
    time = control_dt * np.arange(1, len(y) + 1)
    shown = np.isfinite(y)
    return Curve(index, engine, (time[shown], np.maximum(y[shown], 1e-6 * quantity["tolerance"])))


def _contract(record: Record) -> Section:
    rows = [
        [
            _badge("gap", "structural") if d["structural"] else "number",
            *(d["owner"], d["field"], d["name"]),
            *(text_of(d["found"]), f"{text_of(d['expected'])} ({d['reference']})"),
        ]
        for d in record["contract"]["differences"]
    ]
    differences = Table(["Kind", "Engine", "Field", "Name", "Found", "Expected"], rows, text_columns=4)
    return Section("contract", "Contract", {"differences": differences, "notes": record["contract"]["notes"]})


def _attribution(record: Record) -> Section | None:
    if not record.get("moves"):
        return None
    engines, head = [], ["Moved", "Return", "Lost, %", "95 % interval", "Falls"]
    moves = Table(
        head,
        [
            [m["tried"], number(m["return_mean"]), f"{m['lost_percent']:.1f}", _interval(m["ci95"]), str(m["falls"])]
            for m in sorted(record["moves"], key=lambda move: -move["lost_percent"])
        ],
    )
    for engine, found in record["attribution"].items():
        ranked = found["ranking"]
        rows = [
            {
                **{key: one[key] for key in ("parameter", "explained", "tried")},
                "estimate": one["estimate"] if one["explained"] >= WORTH_A_NUMBER else DASH,
                "parts": list(one["parts"].values()),
            }
            for one in ranked
        ]
        head = ["Parameter", "Explains", "Would have to be", "Tried", *(ranked[0]["parts"] if ranked else [])]
        caption = f"{engine}: the gap is {number(found['size'], 3)} times what halving dt does"
        engines.append({"caption": caption, "head": head, "rows": rows})
    return Section("attribution", "Attribution", {"moves": moves, "engines": engines})


def _matrix(record: Record) -> Section | None:
    rows = record.get("matrix")
    if not rows:
        return None
    means = [cell["return_mean"] for row in rows for cell in row["tested_in"].values()]
    low, spread = min(means), max(max(means) - min(means), 2.0 * record["margin"]["value"])
    body = []
    for row in rows:
        cells = []
        for cell in row["tested_in"].values():
            fall = f", {100 * cell['fall_rate']:.0f} % fell" if cell["fall_rate"] else ""
            heat = 100.0 * (cell["return_mean"] - low) / spread
            change = f"{_signed(cell['difference'])}{fall}"
            cells.append({"mean": number(cell["return_mean"]), "change": change, "heat": heat})
        trained = f"{row['trained_in']}, seed {row['seed']}"
        body.append({"policy": row["checkpoint"], "trained": trained, "cells": cells})
    head = ["Policy", "Trained in", *(f"tested in {engine}" for engine in rows[0]["tested_in"])]
    return Section("matrix", "Matrix", {"head": head, "rows": body})


def _origin(record: Record) -> Section:
    trained = ", ".join(f"{key} {value}" for key, value in record["trained"].items() if value is not None)
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    rows = [
        ["Checkpoint", Cell(record["checkpoint"], code=True)],
        ["Trained", trained],
        ["Worlds", f"{record['num_envs']} with {record['episodes_per_env']} episodes each"],
        ["Versions", versions],
        ["Commit", record["git_commit"] or DASH],
        ["Config", record["config_hash"]],
        ["Measured", f"{record['evaluated_at']}, {record['wall_clock_seconds']} s"],
    ]
    return Section("origin", "Origin", Table(["", ""], rows, text_columns=2, style="provenance"))


def _comparisons(record: Record) -> Record:
    return record.get("comparisons", {})


def _baselines(record: Record) -> Record:
    return {name: record["self_baseline"][name] for name in BASELINES if name in record.get("self_baseline", {})}


def _badge(verdict: str, text: str = "") -> Cell:
    return Cell(text or verdict, badge=VERDICTS[verdict])


def _interval(ends: list[float]) -> str:
    return f"{number(ends[0], 2)} to {number(ends[1], 2)}"


def _signed(value: float, digits: int = 4) -> str:
    return f"{'+' if value > 0 else ''}{number(value, digits)}"
