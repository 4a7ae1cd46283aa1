"""What the runs reached: key figures, the table over seeds, run metrics, and evaluations, at the end and on the way."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from genelab.core.config import flatten
from genelab.core.ranges import finite
from genelab.core.stats import Summary, summarize
from genelab.experiment.pages import Cell, Section, Table
from genelab.experiment.pages.numbers import DASH, duration, mean_with_interval, number, percent, plus_minus, si
from genelab.experiment.report.curves import WIDE, figure, legend, of_evaluations
from genelab.experiment.run.reading import Entry, RunData, unique

GROUPS = {"reward_terms": "Reward term", "task": "Task metric", "terminations": "Termination"}
"""Nested records of the metrics of eval.json, and what one of their members is called."""
PROTOCOL = ("num_episodes", "seed", "deterministic", "noise", "engine")
IN_FIRST_TABLE = {"return_mean", "return_std", "return_ci95", "length_mean", "length_ci95", "success_rate"}


@dataclass(frozen=True)
class Result:
    """One number per run."""

    title: str
    read: Callable[[RunData], float | None]
    show: Callable[[float | None], str] = number
    """The key figures have an interval over seeds where this is `number`."""


def evaluated(name: str) -> Callable[[RunData], float | None]:
    return lambda run: finite(run.evaluated.get(name))


EVAL_RETURN = Result("Evaluation return", evaluated("return_mean"))
RETURN = Result("Return, last iteration", lambda run: run.last("return_mean"))
BEST = Result("Return, best iteration", lambda run: max(run.values("return_mean"), default=None))
LENGTH = Result("Episode length, last iteration", lambda run: run.last("length_mean"))
EVAL_SUCCESS = Result("Evaluation success rate", evaluated("success_rate"), percent)
SUCCESS = Result("Success rate, last iteration", lambda run: run.last("success_rate"), percent)
STEPS = Result("Environment steps", lambda run: run.last("steps"), si)
TIME = Result("Training time", lambda run: run.train_s, duration)
RATE = Result("Steps per second", lambda run: run.steps_per_s, si)
RESULTS = (EVAL_RETURN, RETURN, BEST, LENGTH, EVAL_SUCCESS, SUCCESS, STEPS, TIME, RATE)


def over_runs(runs: Sequence[RunData], read: Callable[[RunData], float | None]) -> Summary | None:
    """Mean, deviation and interval over the runs that have a number."""
    values = [value for run in runs if (value := read(run)) is not None]
    return summarize(values) if values else None


def show_result(entry: Entry, result: Result) -> str:
    """The number of an entry: of its run, or the mean over seeds with its 95 % interval."""
    if (found := over_runs(entry.runs, result.read)) is None:
        return DASH
    has_interval = found.n > 1 and result.show is number
    return plus_minus(found.mean, found.ci95) if has_interval else result.show(found.mean)


def key_figures(entries: Sequence[Entry]) -> dict[str, Any]:
    """The numbers to see first: tiles for one entry, a row each for several."""
    results = (EVAL_RETURN, RETURN, EVAL_SUCCESS, SUCCESS, STEPS, TIME, RATE)
    known = [result for result in results if any(over_runs(entry.runs, result.read) for entry in entries)]
    shown = [result for result in known if result is not SUCCESS or EVAL_SUCCESS not in known]
    if len(entries) == 1:
        tiles = [(result.title, show_result(entries[0], result), _small_print(entries[0], result)) for result in shown]
        return {"tiles": tiles, "table": None, "several_seeds": False}
    tasks = len(unique(entry.task for entry in entries)) > 1
    head = ["Entry", *(["Task"] if tasks else []), "Seeds", "Status", *(result.title for result in shown)]
    rows = []
    for index, entry in enumerate(entries):
        results = [show_result(entry, result) for result in shown]
        task = [entry.task] if tasks else []
        rows.append([Cell(entry.label, index), *task, seed_list(entry), badges(entry), *results])
    table = Table(head, rows, text_columns=3 + tasks, style="compare")
    return {"tiles": [], "table": table, "several_seeds": any(len(entry.runs) > 1 for entry in entries)}


def _small_print(entry: Entry, result: Result) -> str:
    found = over_runs(entry.runs, result.read)
    if found is not None and found.n > 1:
        return f"95 % over {found.n} seeds" if result.show is number else "mean per seed"
    if result is not EVAL_RETURN:
        return ""
    # The interval over episodes of the one run that was evaluated.
    run = next(run for run in entry.runs if EVAL_RETURN.read(run) is not None)
    interval, episodes = evaluated("return_ci95")(run), run.evaluation.get("num_episodes")
    name = f", {run.name} only" if len(entry.runs) > 1 else ""
    return f"± {number(interval, 2)} (95 %), {episodes} episodes{name}" if interval is not None else ""


def seeds(entries: Sequence[Entry]) -> Section | None:
    """Every number of every seed, with mean, standard deviation and interval."""
    tables = [_seed_table(i, entry, len(entries) > 1) for i, entry in enumerate(entries) if len(entry.runs) > 1]
    unfinished = any(run.status != "finished" for entry in entries for run in entry.runs)
    return Section("seeds", "Over seeds", {"tables": tables, "unfinished": unfinished}) if tables else None


def _seed_table(index: int, entry: Entry, several: bool) -> Table:
    rows = []
    for result in RESULTS:
        if (found := over_runs(entry.runs, result.read)) is not None:
            show = partial(number, digits=3) if result.show is number else result.show
            spread = [show(found.std), f"± {show(found.ci95)}"] if found.n > 1 else [DASH, DASH]
            values = [result.show(result.read(run)) for run in entry.runs]
            rows.append([result.title, Cell(result.show(found.mean), bold=True), *spread, found.n, *values])
    head = ["", "Mean", "Std. deviation", "95 % interval", "n", *(run.name for run in entry.runs)]
    return Table(head, rows, caption=Cell(entry.label, index) if several else None, style="seeds")


def run_metrics(entries: Sequence[Entry]) -> Section | None:
    """The run metrics that were stored with the seeds, whatever their names."""
    if not any(entry.run_metrics for entry in entries):
        return None
    columns: list[tuple[object, dict[str, Any]]]
    if len(entries) > 1:
        columns = [(Cell(entry.label, index), entry.run_metrics) for index, entry in enumerate(entries)]
    else:
        columns = [("Mean" if len(entries[0].runs) > 1 else "Value", entries[0].run_metrics), *_by_seed(entries[0])]
    cells = [_metric_cells(metrics) for _, metrics in columns]
    rows = [[name, *(column.get(name, DASH) for column in cells)] for name in unique(n for c in cells for n in c)]
    baselines = [entry.summary.get("baseline") for entry in entries]
    if any(baseline is not None for baseline in baselines):  # what strengths are measured from
        shown = [mean_with_interval(baseline or {}) for baseline in baselines]
        rows.append(["baseline (random policy)", *shown, *[""] * (len(columns) - len(entries))])
    head = ["Metric", *(title for title, _ in columns)]
    return Section("run_metrics", "Run metrics", Table(head, rows, style="" if len(columns) > 3 else "narrow"))


def _by_seed(entry: Entry) -> list[tuple[str, dict[str, Any]]]:
    """The run metrics of each seed, where summary.json has them."""
    stored = entry.summary.get("runs", {})
    records = [(run.name, stored.get(str(run.meta.get("seed")))) for run in entry.runs]
    known = [(name, r) for name, r in records if isinstance(r, dict) and isinstance(r.get("metrics"), dict)]
    return [(name, {"return_mean": r.get("return_mean"), **r["metrics"]}) for name, r in known]


def _metric_cells(metrics: dict[str, Any]) -> dict[str, str]:
    """Name to text. A value is a number, a record with mean and ci95, or a tree of those."""
    cells: dict[str, str] = {}
    for name, value in metrics.items():
        if isinstance(value, dict) and finite(value.get("mean")) is not None:
            spread, mean = finite(value.get("ci95")), value["mean"]
            cells[name] = plus_minus(mean, spread) if spread is not None and value.get("n") != 1 else number(mean)
        elif isinstance(value, dict):
            cells |= {f"{name}.{path}": text for path, text in _metric_cells(value).items()}
        else:
            cells[name] = plain(value)
    return cells


def plain(value: Any) -> str:
    if value is None:
        return DASH
    shown = finite(value)
    return number(shown) if shown is not None else value if isinstance(value, str) else json.dumps(value)


def badges(entry: Entry) -> list[Cell]:
    return [Cell(status, badge=status) for status in unique(run.status for run in entry.runs)]


def seed_list(entry: Entry) -> str:
    return ", ".join(unique(str(run.meta.get("seed", DASH)) for run in entry.runs))


def evaluation(entries: Sequence[Entry]) -> Section | None:
    """The evaluation section; None if nothing was evaluated."""
    records = [run.evaluation for entry in entries for run in entry.runs if run.evaluation]
    data = {
        "final": [_policies(entry) for entry in entries] if records else None,
        "same_protocol": len({tuple(str(record.get(key)) for key in PROTOCOL) for record in records}) < 2,
        "terms": _terms(entries),
        "figure": figure(entries, "Return in evaluations", of_evaluations, WIDE),
        "legend": legend(entries, lines=False),
        "best": _best(entries),
    }
    return Section("evaluation", "Evaluation", data) if any(data[k] for k in ("final", "terms", "figure")) else None


def _policies(entry: Entry) -> dict[str, Any]:
    """The policies of an entry that were evaluated, and means over them."""
    runs = [run for run in entry.runs if run.evaluation]
    over = {key: over_runs(runs, evaluated(key)) for key in ("return_mean", "length_mean", "success_rate")}
    return {"label": entry.label, "runs": runs, "over": over}


def _terms(entries: Sequence[Entry]) -> Table | None:
    """Everything else that was measured: one column per entry, or the seeds of the only one."""
    groups: list[tuple[object, list[RunData]]]
    if len(entries) > 1:
        groups = [(Cell(entry.label, index), entry.runs) for index, entry in enumerate(entries)]
    else:
        runs = [run for run in entries[0].runs if run.evaluation]
        groups = [("Mean per episode", runs), *((run.name, [run]) for run in runs if len(runs) > 1)]
    columns = [_term_values(runs) for _, runs in groups]
    keys = unique(key for column in columns for key in column)
    rows = []
    for position, (group, name) in enumerate(keys):
        show = percent if group == GROUPS["terminations"] else None
        shown = [_over(column.get((group, name), []), show) for column in columns]
        rows.append([group if position == 0 or keys[position - 1][0] != group else "", name, *shown])
    head = ["", "Name", *(title for title, _ in groups)]
    return Table(head, rows, text_columns=2, style="terms" if len(groups) > 3 else "narrow terms") if rows else None


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
            if records := [record for record in run.evaluations if finite(record.get("return_mean")) is not None]:
                best = max(records, key=lambda record: record["return_mean"])
                name = Cell(f"{entry.label} {run.name}", index) if several else Cell(run.name)
                at = [best.get("iteration", DASH), si(finite(best.get("steps")))]
                rows.append([name, len(records), *at, mean_with_interval(best), mean_with_interval(records[-1])])
    return Table(["Run", "Evaluations", "Best at iteration", "Steps", "Best return", "Last return"], rows)
