"""What became of the runs of a campaign, from the files of the runs alone, and tables of it: text, Markdown, JSON."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import write_json, write_text, writing
from genelab.core.ranges import finite
from genelab.core.run_files import EVAL_FILE, FINAL_MODELS, METRICS_FILE, RUN_FILE
from genelab.core.table import Table, cell
from genelab.experiment.campaign.file import Campaign, Row
from genelab.experiment.console import duration
from genelab.experiment.launch import log_file
from genelab.experiment.pages.numbers import si
from genelab.experiment.run.lock import holder
from genelab.experiment.run.metrics import SCORE, WINDOW, total_reward_ma
from genelab.experiment.run.reading import RunData, read_summary, unique
from genelab.experiment.run.summary import spread

STATES = ("done", "running", "stopped", "failed", "queued")
RECENT = 20
"""Iterations that the remaining time is estimated from."""
_ERROR = re.compile(r"genelab: (?P<line>.+)|(?P<name>[\w.]*(Error|Exception)\b.*)")
"""The last line of a command that failed."""
METRICS = (
    f"{SCORE} is the mean of the last {WINDOW} mean returns of training episodes, one per iteration; "
    "evaluation is the mean return of the deterministic policy by the protocol of genelab eval, random that of random "
    "actions. Over seeds: mean, worst, and mean of the middle half with its 95 % bootstrap interval."
)


@dataclass(frozen=True)
class RunState:
    """How a run of a campaign stands."""

    row: Row
    seed: int
    data: RunData | None
    """None if there is nothing of it."""
    state: str
    """One of `STATES`."""
    note: str
    """Why it failed or stopped, or how far it is."""

    @functools.cached_property
    def score(self) -> float | None:
        """total_reward_ma over the training episodes so far."""
        returns = self.data.values("return_mean") if self.data else []
        return total_reward_ma(returns) if returns else None

    @property
    def reached(self) -> bool | None:
        """Whether the score is at the target; None before the run is done, or without a target."""
        score, target = self.score, self.row.target
        return score >= target if self.state == "done" and score is not None and target is not None else None

    def evaluated(self, metric: str) -> float | None:
        return finite(self.data.evaluated.get(metric)) if self.data else None


@dataclass(frozen=True)
class RowState:
    """How a row stands: its runs together."""

    row: Row
    runs: list[RunState]

    @property
    def done(self) -> list[RunState]:
        """The runs that are trained and evaluated."""
        return [run for run in self.runs if run.state == "done"]

    @functools.cached_property
    def score(self) -> dict[str, Any]:
        """Spread of total_reward_ma over the seeds that are done; empty if none is."""
        values = [value for run in self.done if (value := run.score) is not None]
        return spread(values) if values else {}

    @property
    def reached(self) -> bool | None:
        """Whether the mean over all seeds is at the target; None before all are done, or without a target."""
        judged = self.row.target is not None and self.score and len(self.done) == len(self.runs)
        return self.score["mean"] >= self.row.target if judged else None


def look_at(campaign: Campaign) -> list[RowState]:
    """All rows of a campaign as they are now."""
    active = holder(campaign.directory) is not None
    return [_look_at_row(row, active) for row in campaign.rows]


def tasks_at_target(campaign: Campaign) -> set[str]:
    """Tasks with a row that reached the target, also with rows that the file has no more."""
    found = set()
    for row in campaign.rows:
        for home in (campaign.directory / row.task).glob("*"):
            names = [path.parent.name.removeprefix("seed_") for path in home.glob(f"seed_*/{RUN_FILE}")]
            seeds = tuple(int(name) for name in names if name.isdecimal())
            found |= {row.task} if _look_at_row(replace(row, directory=home, seeds=seeds)).reached else set()
    return found


def is_final(evaluation: dict[str, Any]) -> bool:
    """Whether an evaluation is the one that tables show: of the last checkpoint, with the deterministic policy."""
    return Path(str(evaluation.get("checkpoint"))).name in FINAL_MODELS and evaluation.get("deterministic") is True


def _look_at_row(row: Row, active: bool = False) -> RowState:
    runs = []
    for directory, seed in row.runs.items():
        try:
            files = [directory / name for name in (RUN_FILE, METRICS_FILE, EVAL_FILE)]
            data = _read(directory, *(path.stat().st_mtime_ns if path.exists() else 0 for path in files))
            runs.append(RunState(row, seed, data, *_judge(directory, data, active)))
        except UserError as error:
            runs.append(RunState(row, seed, None, "failed", str(error)))
    return RowState(row, runs)


def _judge(directory: Path, data: RunData | None, active: bool) -> tuple[str, str]:
    """State and note of a run. `active`: whether a process works through the campaign."""
    log, status = log_file(directory), data.status if data else ""
    if holder(directory) is not None:
        return "running", _progress(data) if data else ""
    if status == "finished" and data is not None and is_final(data.evaluation):
        return "done", ""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    match = _ERROR.fullmatch(text.rstrip().rpartition("\n")[2])
    fault = (match["line"] or match["name"]) if match else ""
    if fault or status in ("failed", "diverged"):
        return "failed", fault or f"{status}, see {log}"
    if status == "finished":
        return ("running", "evaluation") if active else ("stopped", "not evaluated yet")
    return ("stopped", "to be continued") if data else ("queued", "")


def _progress(data: RunData) -> str:
    """How much of a training is done, and when the rest will be."""
    total, seconds = finite(data.config.get("agent.max_iterations")), data.seconds[-RECENT:]
    done = [value for row in data.rows[-RECENT:] if (value := finite(row.get("iteration"))) is not None]
    if not total or len(done) < 2 or len(seconds) != len(done):
        return ""
    left = (seconds[-1] - seconds[0]) / (done[-1] - done[0]) * max(0.0, total - done[-1])
    return f"{100 * done[-1] / total:.0f} %, ETA {duration(left)}"


@functools.lru_cache(maxsize=1024)
def _read(directory: Path, *changed: int) -> RunData | None:
    """A run, read again only when one of its files has changed."""
    return RunData(directory, []) if changed[0] else None


def run_table(runs: Iterable[RunState]) -> Table:
    """How every run stands."""
    return _table(
        {
            "task": run.row.task,
            "spec": run.row.spec,
            "seed": run.seed,
            "state": run.state,
            "note": run.note,
            SCORE: run.score,
            "target": run.row.target,
            "reached": run.reached,
            "evaluation": run.evaluated("return_mean"),
            "M frames": _millions(run.data.last("steps")) if run.data else None,
            "frames/s": _whole(run.data.steps_per_s) if run.data else None,
            "training s": _whole(run.data.train_s) if run.data else None,
        }
        for run in runs
    )


def status_text(states: Sequence[RowState], height: int | None = None) -> str:
    """A line for every run, and one for all. Where the height does not suffice, queued and done runs are left out."""
    shown = [run for row in states for run in row.runs]
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
    return _table(map(_row, states))


def _row(state: RowState) -> dict[str, Any]:
    runs = [run.data for run in state.done if run.data is not None]
    score, several = state.score, state.score.get("n", 0) > 1
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
        "random": read_summary(state.row.directory, []).get("baseline", {}).get("return_mean"),
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
    with writing(path):
        write_text(path, f"{table.markdown()}\n\n{METRICS}\n")
        write_json(data, {"metrics": METRICS, "rows": table.records()})
    return table, path, data


def _table(records: Iterable[dict[str, Any]]) -> Table:
    rows = list(records)
    return Table(list(rows[0]) if rows else (), [list(row.values()) for row in rows])


def _millions(frames: float | None) -> float | None:
    return None if frames is None else frames / 1e6


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
