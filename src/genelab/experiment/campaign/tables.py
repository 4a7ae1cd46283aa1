"""Tables of a campaign: how every run stands, and what every row reached, as text, Markdown and JSON."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import write_json, write_text
from genelab.core.table import Table
from genelab.experiment.campaign.file import Campaign
from genelab.experiment.campaign.state import STATES, RowState, RunState, look_at
from genelab.experiment.console import duration
from genelab.experiment.pages.numbers import si
from genelab.experiment.run.metrics import SCORE, WINDOW
from genelab.experiment.run.reading import unique
from genelab.experiment.run.summary import digits

METRIC = f"{SCORE}: mean of the last {WINDOW} mean returns of training episodes, one per iteration"
EVALUATION = "evaluation: mean return of the deterministic policy (genelab eval)"


def status_table(states: Sequence[RowState], height: int | None = None) -> str:
    """A line for every run, and one for all. Where the height does not suffice, queued and done runs are left out."""
    runs = [run for row in states for run in row.runs]
    shown = runs
    for state in ("queued", "done"):
        if height is not None and len(shown) + 4 > height:
            shown = [run for run in shown if run.state != state]
    counts = Counter(run.state for run in runs)
    parts = [f"{counts[state]} {state}" for state in reversed(STATES) if counts[state]]
    judged = [row.reached for row in states if row.row.target is not None]
    parts += [f"{judged.count(True)} of {len(judged)} rows at target"] if judged else []
    parts += [f"{si(sum(run.frames for run in runs))} frames"]
    return f"{run_table(shown)}\n\n{', '.join(parts)}"


def run_table(runs: Sequence[RunState]) -> Table:
    """A row for every run."""
    columns = ("task", "spec", "seed", "state", SCORE, "target", "", "evaluation", "frames", "frames/s", "training")
    return Table(columns, [_status_row(run) for run in runs])


def _status_row(run: RunState) -> tuple[object, ...]:
    row, data = run.row, run.data
    reached = None if row.target is None or run.score is None or run.state != "done" else run.score >= row.target
    return (
        row.task,
        row.spec,
        run.seed,
        _state(run),
        digits(run.score),
        digits(row.target),
        mark(reached),
        digits(run.evaluation.get("return_mean")),
        si(run.frames) if data else "",
        si(data.steps_per_s) if data else "",
        duration(data.train_s) if data and data.train_s else "",
    )


def _state(run: RunState) -> str:
    if run.state == "running" and run.reason == "training":
        part, eta = run.progress
        return f"running {100 * part:.0f} %{'' if eta is None else f', ETA {duration(eta)}'}"
    return f"{run.state}: {run.reason}" if run.reason else run.state


def status_record(campaign: Campaign, states: Sequence[RowState]) -> dict[str, Any]:
    """The same as data."""
    runs = []
    for row in states:
        for run in row.runs:
            part, eta = run.progress
            runs.append(
                {
                    **_names(row),
                    "seed": run.seed,
                    "state": run.state,
                    "reason": run.reason,
                    "progress": part,
                    "eta_s": eta if run.state == "running" else None,
                    SCORE: run.score,
                    "target": row.row.target,
                    "evaluation": run.evaluation.get("return_mean"),
                    "frames": run.frames,
                    "frames_per_s": run.data.steps_per_s if run.data else None,
                    "train_s": run.data.train_s if run.data else None,
                    "directory": str(run.directory),
                }
            )
    return {"campaign": str(campaign.file), "metric": METRIC, "runs": runs}


def write_table(campaign: Campaign, out: Path | None) -> tuple[Table, Path, Path]:
    """Write what every row reached as Markdown and JSON, from run files; the table and where both are."""
    path = out or campaign.directory / "table.md"
    if path.suffix != ".md":
        raise UserError(f"--out names the Markdown file, which ends with .md: '{path}' does not")
    states = look_at(campaign)
    table = row_table(states)
    text = f"{table.markdown()}\n\n{METRIC}. {EVALUATION}. Means over seeds.\n"
    record = {"metric": METRIC, "evaluation": EVALUATION, "rows": [row_record(state) for state in states]}
    try:
        write_text(path, text)
        write_json(path.with_suffix(".json"), record)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from error
    return table, path, path.with_suffix(".json")


def row_table(states: Sequence[RowState]) -> Table:
    """A row for every row of the campaign."""
    return Table(_COLUMNS, [_cells(state) for state in states])


def row_record(state: RowState) -> dict[str, Any]:
    """What a row reached, as data."""
    runs = [run.data for run in state.done if run.data is not None]
    return {
        **_names(state),
        "preset": unique(run.meta.get("preset") for run in runs),
        "overrides": runs[0].overrides if runs else {},
        "commits": unique(run.meta.get("git_commit") for run in runs),
        "seeds": [run.seed for run in state.done],
        "not_done": {str(run.seed): f"{run.state} {run.reason}".strip() for run in state.runs if run.state != "done"},
        SCORE: state.score,
        "by_seed": {str(run.seed): run.score for run in state.done},
        "target": state.row.target,
        "reached": state.reached,
        "evaluation": _mean(run.evaluation.get("return_mean") for run in state.done),
        "success_rate": _mean(run.evaluation.get("success_rate") for run in state.done),
        "baseline": state.baseline,
        "frames": max((run.frames for run in state.done), default=None),
        "frames_per_s": _mean(run.steps_per_s for run in runs),
        "train_s": _mean(run.train_s for run in runs),
        "weights_sha256": {str(run.meta.get("seed")): run.meta.get("weights_sha256") for run in runs},
    }


_COLUMNS = (
    *("task", "spec", "seeds", f"{SCORE} mean", "worst", "middle half (95 %)", "target", "", "evaluation", "random"),
    *("frames", "frames/s", "training", "commit", "not done"),
)


def _cells(state: RowState) -> list[str]:
    record = row_record(state)
    score, baseline = state.score or {}, state.baseline or {}
    low, high = map(digits, score.get("iqm_ci95", (None, None)))
    return [
        state.row.task,
        state.row.spec,
        ", ".join(map(str, record["seeds"])),
        digits(score.get("mean")),
        digits(score.get("worst")),
        f"{digits(score['iqm'])} ({low} to {high})" if score.get("n", 0) > 1 else "-",
        digits(state.row.target),
        mark(state.reached),
        digits(record["evaluation"]),
        digits(baseline.get("return_mean")),
        si(record["frames"]),
        si(record["frames_per_s"]),
        duration(record["train_s"]) if record["train_s"] else "",
        ", ".join(_short(commit) for commit in record["commits"] if commit),
        "; ".join(f"seed {seed} {why}" for seed, why in record["not_done"].items()),
    ]


def mark(reached: bool | None) -> str:
    """Whether a target was reached."""
    return "" if reached is None else "✓" if reached else "✗"


def _names(state: RowState) -> dict[str, str]:
    return {"task": state.row.task, "spec": state.row.spec}


def _short(commit: str) -> str:
    """The first digits of a commit, and whether files differed from it."""
    name, plus, rest = commit.partition("+")
    return f"{name[:9]}{plus}{rest}"


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
