"""sim2sim.html: the record as a page that opens without network, from the building blocks of the training report."""

from typing import Any

import numpy as np

from genelab.core.json_data import text_of
from genelab.experiment.report.charts import SMALL
from genelab.experiment.report.curves import Curve
from genelab.experiment.report.gap_plots import Mark, forest, scatter, share_bar
from genelab.experiment.report.markup import Html, Section, html, note, swatch, table, tag
from genelab.experiment.report.numbers import DASH, number
from genelab.experiment.report.page import contents, document
from genelab.experiment.report.svg import plot

Record = dict[str, Any]
VERDICTS = {"equivalent": "finished", "gap": "failed", "undecided": "stopped"}
"""Verdict to the badge that carries its colour."""
BASELINES = ("half dt", "other seeds")
WORTH_A_NUMBER = 0.25
"""Share of the gap below which the estimate of a parameter says nothing."""


def render(record: Record) -> str:
    """The whole HTML file."""
    parts = [
        _gap(record),
        _closed_loop(record),
        _open_loop(record),
        _contract(record),
        _attribution(record),
        _matrix(record),
        _origin(record),
    ]
    sections = [part for part in parts if part is not None]
    return document(f"{record['task']} · genelab sim2sim", _header(record, sections), sections)


def _header(record: Record, sections: list[Section]) -> Html:
    words = [tag("b", "Sim2sim gap report"), f"trained in {record['source']}", f"{record['num_episodes']} episodes"]
    words += [f"seed {record['seed']}", "with the training's pushes" if record["pushes"] else "without pushes"]
    lead = tag("p", *(tag("span", word) for word in words), class_="lead")
    tiles = [
        _tile(f"{engine}: return", _signed(c["equivalence"]["difference"]), _badge(c["verdict"]))
        for engine, c in _comparisons(record).items()
    ]
    if "margin" in record:
        tiles.append(_tile("Margin", f"± {number(record['margin']['value'])}", record["margin"]["rule"]))
    broken = record["contract"]["broken"]
    state = "broken: nothing was run" if broken else f"{len(record['contract']['differences'])} differences"
    tiles.append(_tile("Contract", "broken" if broken else "kept", state))
    return tag("header", tag("h1", record["task"]), lead, tag("div", *tiles, class_="tiles"), contents(sections))


def _gap(record: Record) -> Section | None:
    comparisons = _comparisons(record) or _baselines(record)
    if not comparisons:
        return None
    rows: dict[str, list[Mark]] = {}
    for index, (engine, comparison) in enumerate(comparisons.items()):
        for name, metric in comparison["metrics"].items():
            rows.setdefault(name, []).append(_mark(index, engine, name, metric))
    text = (
        "Mean difference from the source engine over paired episodes, with its 95 % bootstrap interval. Filled: "
        "significant after Holm's correction over all metrics, and larger than what halving dt does."
    )
    returns = {e: np.array(run["episodes"]["return"], dtype=float) for e, run in record["closed_loop"].items()}
    pairs = [(index, returns[engine]) for index, engine in enumerate(_comparisons(record))]
    caption = tag("figcaption", tag("b", "Return per episode"))
    right = tag("figure", caption, scatter(returns[record["source"]], pairs)) if pairs else None
    shown = tag("div", tag("figure", forest(list(rows.items()))), right, class_="hero")
    return Section("gap", "Gap", tag("p", text), _legend(list(comparisons)), shown, _verdicts(record))


def _mark(index: int, engine: str, name: str, metric: Record) -> Mark:
    # A metric that is the same in all episodes has no spread; its own size serves then.
    size = metric["spread"] or abs(metric["source"]) or 1.0
    low, high = metric["ci95"]
    text = f"{engine}, {name}: {_signed(metric['difference'])}, from {number(low)} to {number(high)}"
    return Mark(index, low / size, metric["difference"] / size, high / size, metric.get("clear", False), text)


def _verdicts(record: Record) -> Html | None:
    rows = []
    for engine, c in {**_comparisons(record), **_baselines(record)}.items():
        equivalence, falls = c["equivalence"], c["falls"]
        name = engine if engine in _comparisons(record) else f"{record['source']}, {engine}"
        tost = [_signed(equivalence["difference"]), _interval(equivalence["ci90"]), number(equivalence["p"], 2)]
        fell = [f"{falls['source']} → {falls['target']}", number(falls["p"], 2)]
        rows.append([name, _badge(c["verdict"]), *tost, *fell])
    head = ["", "Return", "Difference", "90 % interval", "p (TOST)", "Falls", "p (McNemar)"]
    text = (
        "Equivalent: two one-sided tests show the difference within the margin. Gap: beyond the margin and beyond "
        "chance. Undecided: neither; more episodes would tell. The last two rows are the source engine against itself: "
        "the spread that is chaos and luck, not the engine."
    )
    return html(table(head, rows, text_columns=2), note(text))


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
            row += [DASH] * 3 if m is None else [_signed(m["difference"], 3), _interval(m["ci95"]), _p(m)]
        changes = (comparison["metrics"].get(metric) for comparison in baselines.values())
        rows.append([*row, *(DASH if m is None else _signed(m["difference"], 3) for m in changes)])
    text = "The same initial states, noise, commands and pushes in every engine. Differences from the source engine."
    return Section("closed-loop", "Paired closed loop", tag("p", text), table([*head, *baselines], rows))


def _open_loop(record: Record) -> Section | None:
    if "open_loop" not in record:
        return None
    runs = {**record["open_loop"], f"{record['source']}, half dt": record["self_baseline"]["half dt"]["open_loop"]}
    parts: list[object] = []
    rows = []
    for script in next(iter(runs.values())):
        figures = []
        for quantity, first in next(iter(runs.values()))[script].items():
            curves = [_curve(i, e, r[script][quantity], record) for i, (e, r) in enumerate(runs.items())]
            caption = tag("figcaption", tag("b", quantity), tag("span", first["unit"], class_="values"))
            figures.append(tag("figure", caption, plot(curves, quantity, SMALL, axis="time", may_be_log=True)))
            for engine, run in runs.items():
                q = run[script][quantity]
                step = DASH if q["first_step"] is None else f"{q['first_step']} ({number(q['first_time_s'], 3)} s)"
                error = [number(q["tolerance"], 2), step, number(q["error_there"], 3), number(q["max_error"], 3)]
                rows.append([script, quantity, engine, *error])
        parts += [tag("h3", script), tag("div", *figures, class_="grid-small")]
    head = ["Script", "Quantity", "Engine", "Tolerance", "First step beyond", "Error there", "Largest error"]
    text = (
        "The same states and actions, with no policy to make up for differences: distance from the source engine over "
        "time (mean over worlds, worst component; often logarithmic). The table takes the worst world."
    )
    full = tag("details", tag("summary", "All numbers"), table(head, rows, text_columns=3))
    return Section("open-loop", "Open loop", tag("p", text), _legend(list(runs)), *parts, full)


def _curve(index: int, engine: str, quantity: Record, record: Record) -> Curve:
    y = np.array([np.nan if v is None else v for v in quantity["mean_curve"]], dtype=float)
    time = record["control_dt"] * np.arange(1, len(y) + 1)
    shown = np.isfinite(y)
    return Curve(index, engine, (time[shown], np.maximum(y[shown], 1e-6 * quantity["tolerance"])), None, None, [])


def _contract(record: Record) -> Section:
    contract = record["contract"]
    rows = [
        [
            _badge("gap", "structural") if d["structural"] else "number",
            *(d["owner"], d["field"], d["name"]),
            *(text_of(d["found"]), f"{text_of(d['expected'])} ({d['reference']})"),
        ]
        for d in contract["differences"]
    ]
    head = ["Kind", "Engine", "Field", "Name", "Found", "Expected"]
    text = tag("p", "Names, order, layouts and numbers agree.") if not rows else table(head, rows, text_columns=4)
    return Section("contract", "Contract", text, *(note(line) for line in contract["notes"]))


def _attribution(record: Record) -> Section | None:
    if not record.get("attribution"):
        return None
    parts: list[object] = []
    for engine, found in record["attribution"].items():
        rows, ranked = [], found["ranking"]
        for one in ranked:
            worth = one["explained"] >= WORTH_A_NUMBER
            share = html(share_bar(one["explained"]), f"{100 * one['explained']:.0f} %")
            by_part = [f"{100 * value:.0f} %" for value in one["parts"].values()]
            rows.append([one["parameter"], share, one["estimate"] if worth else DASH, one["tried"], *by_part])
        head = ["Parameter", "Explains", "Would have to be", "Tried", *(ranked[0]["parts"] if ranked else [])]
        parts.append(
            table(
                head,
                rows,
                caption=f"{engine}: the gap is {number(found['size'], 3)} times what halving dt does",
                text_columns=4,
            )
        )
    text = (
        "The source engine with one parameter moved at a time. Explains: the share of the gap, over open loop and "
        "episodes, that the move takes away when it is scaled as well as possible. A gap that is smaller than "
        "what halving dt does is numerics: there is nothing to explain."
    )
    return Section("attribution", "Attribution", tag("p", text), *parts)


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
            warmth = (cell["return_mean"] - low) / spread
            fall = f", {100 * cell['fall_rate']:.0f} % fell" if cell["fall_rate"] else ""
            text = html(tag("b", number(cell["return_mean"])), f" ({_signed(cell['difference'])}{fall})")
            cells.append(tag("span", text, class_="heat", style=f"--heat:{100 * warmth:.0f}%"))
        body.append([row["checkpoint"], f"{row['trained_in']}, seed {row['seed']}", *cells])
    head = ["Policy", "Trained in", *(f"tested in {engine}" for engine in rows[0]["tested_in"])]
    text = "Mean return; in brackets the paired difference from the engine the policy was trained in."
    return Section("matrix", "Matrix", tag("p", text), table(head, body, text_columns=2))


def _origin(record: Record) -> Section:
    trained = ", ".join(f"{key} {value}" for key, value in record["trained"].items() if value is not None)
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    rows = [
        ["Checkpoint", tag("code", record["checkpoint"])],
        ["Trained", trained],
        ["Worlds", f"{record['num_envs']} with {record['episodes_per_env']} episodes each"],
        ["Versions", versions],
        ["Commit", record["git_commit"] or DASH],
        ["Config", record["config_hash"]],
        ["Measured", f"{record['evaluated_at']}, {record['wall_clock_seconds']} s"],
    ]
    return Section("origin", "Origin", table(["", ""], rows, text_columns=2, class_="provenance"))


def _comparisons(record: Record) -> Record:
    return record.get("comparisons", {})


def _baselines(record: Record) -> Record:
    return {name: record["self_baseline"][name] for name in BASELINES if name in record.get("self_baseline", {})}


def _legend(names: list[str]) -> Html:
    return tag("div", *(tag("span", swatch(i), name) for i, name in enumerate(names)), class_="legend")


def _tile(title: str, value: object, small: object) -> Html:
    parts = [("title", title), ("value", value), ("note", small)]
    return tag("div", *(tag("div", what, class_=f"tile-{kind}") for kind, what in parts), class_="tile")


def _badge(verdict: str, text: str | None = None) -> Html:
    return tag("span", text or verdict, class_=f"badge {VERDICTS[verdict]}")


def _interval(ends: list[float]) -> str:
    return f"{number(ends[0], 2)} to {number(ends[1], 2)}"


def _p(metric: Record) -> object:
    shown = number(metric["p_holm"], 2)
    return tag("b", shown) if metric["clear"] else shown


def _signed(value: float, digits: int = 4) -> str:
    return f"{'+' if value > 0 else ''}{number(value, digits)}"
