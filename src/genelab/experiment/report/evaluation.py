"""Evaluations: of finished policies (eval.json) and during training (evaluations.jsonl)."""

from collections.abc import Callable, Sequence
from typing import Any

from genelab.core.config import flatten
from genelab.core.ranges import finite
from genelab.core.stats import summarize
from genelab.experiment.pages import Section, Table, named
from genelab.experiment.pages.numbers import DASH, mean_with_interval, number, percent, plus_minus, si
from genelab.experiment.report.curves import WIDE, figure, legend, of_evaluations
from genelab.experiment.report.results import evaluated, over_runs
from genelab.experiment.run.reading import Entry, RunData, unique

GROUPS = {"reward_terms": "Reward term", "task": "Task metric", "terminations": "Termination"}
"""Nested records of the metrics of eval.json, and what one of their members is called."""
PROTOCOL = ("num_episodes", "seed", "deterministic", "noise", "engine")
IN_FIRST_TABLE = {"return_mean", "return_std", "return_ci95", "length_mean", "length_ci95", "success_rate"}


def evaluation(entries: Sequence[Entry]) -> Section | None:
    """The evaluation section; None if nothing was evaluated."""
    records = [run.evaluation for entry in entries for run in entry.runs if run.evaluation is not None]
    protocols = unique(tuple(str(record.get(key)) for key in PROTOCOL) for record in records)
    data = {
        "final": [_policies(entry) for entry in entries] if records else None,
        "same_protocol": len(protocols) < 2,
        "terms": _terms(entries),
        "figure": figure(entries, "Return in evaluations", of_evaluations, WIDE),
        "legend": legend(entries, lines=False),
        "best": _best(entries),
    }
    return Section("evaluation", "Evaluation", data) if any(data[k] for k in ("final", "terms", "figure")) else None


def _policies(entry: Entry) -> dict[str, Any]:
    """The policies of an entry that were evaluated, and means over them."""
    runs = [run for run in entry.runs if run.evaluation is not None]
    over = {key: over_runs(runs, evaluated(key)) for key in ("return_mean", "length_mean", "success_rate")}
    return {"label": entry.label, "runs": runs, "over": over}


def _terms(entries: Sequence[Entry]) -> Table | None:
    """Everything else that was measured: one column per entry, or the seeds of the only one."""
    groups: list[tuple[object, list[RunData]]]
    if len(entries) > 1:
        groups = [(named(index, entry.label, True), entry.runs) for index, entry in enumerate(entries)]
    else:
        runs = [run for run in entries[0].runs if run.evaluation is not None]
        groups = [("Mean per episode", runs), *((run.name, [run]) for run in runs if len(runs) > 1)]
    columns = [_term_values(runs) for _, runs in groups]
    keys = unique(key for column in columns for key in column)
    rows = []
    for position, (group, name) in enumerate(keys):
        show = percent if group == GROUPS["terminations"] else None
        shown = [_over(column.get((group, name), []), show) for column in columns]
        rows.append([group if position == 0 or keys[position - 1][0] != group else "", name, *shown])
    head = ["", "Name", *(title for title, _ in groups)]
    style = "terms" if len(groups) > 3 else "narrow terms"
    return Table(head, rows, text_columns=2, style=style) if rows else None


def _term_values(runs: Sequence[RunData]) -> dict[tuple[str, str], list[float]]:
    """Group and name to the value of every evaluated run."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for path, value in flatten(run.evaluated).items():
            group, _, name = path.partition(".")
            shown = finite(value)
            if path not in IN_FIRST_TABLE and shown is not None:
                found.setdefault((GROUPS.get(group, group) if name else "Metric", name or path), []).append(shown)
    return found


def _over(values: list[float], show: Callable[[float], str] | None) -> str:
    if not values:
        return DASH
    stats = summarize(values)
    if show is not None:
        return show(stats.mean)
    return number(stats.mean, 5 if abs(stats.mean) >= 1 else 4) if stats.n == 1 else plus_minus(stats.mean, stats.ci95)


def _best(entries: Sequence[Entry]) -> Table:
    """The evaluations of each run during training, with the best and the last of them."""
    several = len(entries) > 1
    rows: list[list[Any]] = []
    for index, entry in enumerate(entries):
        for run in entry.runs:
            records = [record for record in run.evaluations if finite(record.get("return_mean")) is not None]
            if records:
                best = max(records, key=lambda record: record["return_mean"])
                name = named(index, f"{entry.label} {run.name}" if several else run.name, several)
                at = [best.get("iteration", DASH), si(finite(best.get("steps")))]
                rows.append([name, len(records), *at, mean_with_interval(best), mean_with_interval(records[-1])])
    return Table(["Run", "Evaluations", "Best at iteration", "Steps", "Best return", "Last return"], rows)
