"""What became of the runs of a campaign, from the files of the runs alone."""

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.json_data import finite
from genelab.core.run_files import EVAL_FILE, FINAL_MODELS, METRICS_FILE, RUN_FILE
from genelab.experiment.campaign.file import Campaign, Row
from genelab.experiment.console import duration
from genelab.experiment.launch import log_file
from genelab.experiment.run.lock import holder
from genelab.experiment.run.metrics import total_reward_ma
from genelab.experiment.run.reading import RunData, read_run
from genelab.experiment.run.summary import spread

STATES = ("done", "running", "stopped", "failed", "queued")
RECENT = 20
"""Iterations that the remaining time is estimated from."""
_ERROR = re.compile(r"genelab: (?P<line>.+)|(?P<name>[\w.]*(Error|Exception)\b.*)")
"""The last line of a command that failed."""


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
        """A metric of eval.json."""
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


def is_final(evaluation: dict[str, Any] | None) -> bool:
    """Whether an evaluation is the one that tables show: of the last checkpoint, with the deterministic policy."""
    record = evaluation or {}
    return Path(str(record.get("checkpoint"))).name in FINAL_MODELS and record.get("deterministic") is True


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
    fault = _fault(log)
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


def _fault(log: Path) -> str:
    """The error that a log ends with, if it does."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    match = _ERROR.fullmatch(text.rstrip().rpartition("\n")[2])
    return (match["line"] or match["name"]) if match else ""


@functools.lru_cache(maxsize=1024)
def _read(directory: Path, *changed: int) -> RunData | None:
    """A run, read again only when one of its files has changed."""
    return read_run(directory, []) if changed[0] else None
