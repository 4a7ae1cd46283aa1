"""Tables of a campaign: how every run stands, and what every row reached, as text, Markdown and JSON."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import write_json, write_text
from genelab.core.table import Table, cell
from genelab.experiment.campaign.file import Campaign
from genelab.experiment.campaign.state import STATES, RowState, RunState, look_at
from genelab.experiment.console import duration
from genelab.experiment.pages.numbers import si
from genelab.experiment.run.metrics import SCORE, WINDOW
from genelab.experiment.run.reading import read_summary, unique

METRICS = (
    f"{SCORE} is the mean of the last {WINDOW} mean returns of training episodes, one per iteration; "
    "evaluation is the mean return of the deterministic policy by the protocol of genelab eval, random that of random "
    "actions. Over seeds: mean, worst, and mean of the middle half with its 95 % bootstrap interval."
)


def run_table(runs: Iterable[RunState]) -> Table:
    """How every run stands."""
    return _table([_run(run) for run in runs])


def _run(run: RunState) -> dict[str, Any]:
    data = run.data
    return {
        "task": run.row.task,
        "spec": run.row.spec,
        "seed": run.seed,
        "state": run.state,
        "note": run.note,
        SCORE: run.score,
        "target": run.row.target,
        "reached": run.reached,
        "evaluation": run.evaluated("return_mean"),
        "M frames": _millions(data.last("steps")) if data else None,
        "frames/s": _whole(data.steps_per_s) if data else None,
        "training s": _whole(data.train_s) if data else None,
    }


def status_text(states: Sequence[RowState], height: int | None = None) -> str:
    """A line for every run, and one for all. Where the height does not suffice, queued and done runs are left out."""
    runs = [run for row in states for run in row.runs]
    shown = runs
    for state in ("queued", "done"):
        if height is not None and len(shown) + 5 > height:
            shown = [run for run in shown if run.state != state]
    columns = ("task", "spec", "state", SCORE, "eval", "frames", "frames/s", "time")
    return f"{Table(columns, list(map(_line, shown)))}\n\n{in_words(states)}"


def _line(run: RunState) -> list[str]:
    """The same as in `run_table` in a few words, for a terminal."""
    row, data, score = run.row, run.data, "" if run.score is None else f"{run.score:.4g}"
    evaluation = run.evaluated("return_mean")
    return [
        row.task,
        f"{row.spec} {run.seed}",
        f"{run.state}: {run.note}" if run.note else run.state,
        f"{score} / {row.target:g} {cell(run.reached)}" if score and row.target is not None else score,
        "" if evaluation is None else f"{evaluation:.4g}",
        *((si(data.last("steps")), si(data.steps_per_s), duration(data.train_s or 0.0)) if data else ("", "", "")),
    ]


def in_words(states: Sequence[RowState]) -> str:
    """How many runs are in which state, and how many rows have reached their target."""
    counts = Counter(run.state for row in states for run in row.runs)
    judged = [row.reached for row in states if row.row.target is not None]
    at_target = [f"{judged.count(True)} of {len(judged)} rows at target"] if judged else []
    return ", ".join([*(f"{counts[state]} {state}" for state in STATES if counts[state]), *at_target])


def row_table(states: Iterable[RowState]) -> Table:
    """What every row reached, from the files of its runs."""
    return _table([_row(state) for state in states])


def _row(state: RowState) -> dict[str, Any]:
    runs = [run.data for run in state.done if run.data is not None]
    score, several = state.score, state.score.get("n", 0) > 1
    baseline = read_summary(state.row.directory, []).get("baseline", {})
    return {
        "task": state.row.task,
        "spec": state.row.spec,
        "seeds": [run.seed for run in state.done],
        f"{SCORE} mean": score.get("mean"),
        "worst": score.get("worst"),
        "middle half": score["iqm"] if several else None,
        "95 %": score["iqm_ci95"] if several else None,
        "target": state.row.target,
        "reached": state.reached,
        "evaluation": _mean(run.evaluated("return_mean") for run in state.done),
        "success": _mean(run.evaluated("success_rate") for run in state.done),
        "random": baseline.get("return_mean"),
        "M frames": _millions(max((run.last("steps") or 0 for run in runs), default=None)),
        "frames/s": _whole(_mean(run.steps_per_s for run in runs)),
        "training s": _whole(_mean(run.train_s for run in runs)),
        "commit": ", ".join(unique(re.sub(r"(?<=^.{9})\w+", "", str(run.meta.get("git_commit"))) for run in runs)),
        "overrides": runs[0].overrides if runs else {},
        "not done": {f"seed {run.seed}": f"{run.state} {run.note}" for run in state.runs if run.state != "done"},
    }


def write_table(campaign: Campaign, out: Path | None) -> tuple[Table, Path, Path]:
    """Write what every row reached as Markdown and JSON, from run files; the table and where both are."""
    path = out or campaign.directory / "table.md"
    if path.suffix != ".md":
        raise UserError(f"--out names the Markdown file, which ends with .md: '{path}' does not")
    table, data = row_table(look_at(campaign)), path.with_suffix(".json")
    try:
        write_text(path, f"{table.markdown()}\n\n{METRICS}\n")
        write_json(data, {"metrics": METRICS, "rows": table.records()})
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from error
    return table, path, data


def _table(records: list[dict[str, Any]]) -> Table:
    return Table(list(records[0]) if records else (), [list(record.values()) for record in records])


def _millions(frames: float | None) -> float | None:
    return None if frames is None else frames / 1e6


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
