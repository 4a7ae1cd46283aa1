"""What became of the runs of a campaign, from the files of the runs alone."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.json_data import finite
from genelab.core.run_files import EVAL_FILE, FINAL_MODELS, METRICS_FILE, RUN_FILE
from genelab.experiment.campaign.file import Campaign, Row
from genelab.experiment.launch import log_file
from genelab.experiment.run.lock import holder
from genelab.experiment.run.metrics import total_reward_ma
from genelab.experiment.run.reading import RunData, read_run, read_summary
from genelab.experiment.run.summary import spread

STATES = ("queued", "running", "stopped", "failed", "done")
RECENT = 20
"""Iterations that the remaining time is estimated from."""
_ERROR = re.compile(r"genelab: (?P<line>.+)|(?P<name>[\w.]*(Error|Exception)\b.*)")
"""The last line of a command that failed."""


@dataclass(frozen=True)
class RunState:
    """How a run of a campaign stands."""

    row: Row
    seed: int
    directory: Path
    state: str
    """One of `STATES`."""
    reason: str
    """Why it failed or stopped, or what it does."""
    data: RunData | None

    @property
    def score(self) -> float | None:
        """total_reward_ma over the training episodes so far."""
        rows = self.data.rows if self.data else ()
        returns = [value for row in rows if (value := finite(row.get("return_mean"))) is not None]
        return total_reward_ma(returns) if returns else None

    @property
    def evaluation(self) -> dict[str, Any]:
        """The metrics of eval.json; empty if there is none."""
        record = self.data.evaluation if self.data else None
        return record.get("metrics", {}) if record else {}

    @property
    def frames(self) -> int:
        """Environment steps so far."""
        return int(self.data.last("steps") or 0) if self.data else 0

    @property
    def progress(self) -> tuple[float, float | None]:
        """The part of the training that is done, and the seconds that the rest takes, as far as that is known."""
        rows, seconds = (self.data.rows, self.data.seconds) if self.data else ([], [])
        total = finite(self.data.config.get("agent.max_iterations")) if self.data else None
        done = [value for row in rows if (value := finite(row.get("iteration"))) is not None]
        if not total or not done:
            return 0.0, None
        first = max(0, len(done) - 1 - RECENT)
        if len(done) - first < 2 or len(seconds) != len(done):
            return done[-1] / total, None
        pace = (seconds[-1] - seconds[first]) / (done[-1] - done[first])
        return done[-1] / total, pace * max(0.0, total - done[-1])


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
    def score(self) -> dict[str, Any] | None:
        """Spread of total_reward_ma over the seeds that are done."""
        values = [value for run in self.done if (value := run.score) is not None]
        return spread(values) if values else None

    @property
    def reached(self) -> bool | None:
        """Whether the mean over all seeds is at the target; None before all are done, or without a target."""
        if self.row.target is None or self.score is None or len(self.done) < len(self.runs):
            return None
        return self.score["mean"] >= self.row.target

    @property
    def baseline(self) -> dict[str, Any] | None:
        """The return of random actions, which the summary of the row measured."""
        return read_summary(self.row.directory, []).get("baseline")


def is_final(evaluation: dict[str, Any] | None) -> bool:
    """Whether an evaluation is the one that tables show: of the last checkpoint, with the deterministic policy."""
    record = evaluation or {}
    return Path(str(record.get("checkpoint"))).name in FINAL_MODELS and record.get("deterministic") is True


def look_at(campaign: Campaign) -> list[RowState]:
    """All rows of a campaign as they are now."""
    active = holder(campaign.directory) is not None
    return [_look_at_row(row, active) for row in campaign.rows]


def tasks_at_target(campaign: Campaign) -> set[str]:
    """Tasks with a row that reached the target, also with rows that the file has no more."""
    found = set()
    for row in campaign.rows:
        for home in sorted((campaign.directory / row.task).glob("*")):
            names = (path.parent.name.removeprefix("seed_") for path in home.glob(f"seed_*/{RUN_FILE}"))
            seeds = tuple(sorted(int(name) for name in names if name.isdecimal()))
            if _look_at_row(replace(row, directory=home, seeds=seeds)).reached:
                found.add(row.task)
    return found


def _look_at_row(row: Row, active: bool = False) -> RowState:
    runs = []
    for directory, seed in row.runs.items():
        try:
            data = _read(directory, _stamp(directory))
            state, reason = _judge(directory, data, active)
        except UserError as error:
            data, state, reason = None, "failed", str(error)
        runs.append(RunState(row, seed, directory, state, reason, data))
    return RowState(row, runs)


def _judge(directory: Path, data: RunData | None, active: bool) -> tuple[str, str]:
    """State and reason of a run. `active`: whether a process works through the campaign."""
    fault = _fault(log_file(directory))
    if holder(directory) is not None:
        return "running", "training"
    if data is not None and data.status == "finished":
        if is_final(data.evaluation):
            return "done", ""
        if not fault:
            return ("running", "evaluating") if active else ("stopped", "not evaluated yet")
    elif data is not None and data.status in ("failed", "diverged"):
        return "failed", fault or f"{data.status}, see {log_file(directory)}"
    if fault:
        return "failed", fault
    return ("queued", "") if data is None else ("stopped", "to be continued")


def _fault(log: Path) -> str:
    """The error that a log ends with, if it does."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    match = _ERROR.fullmatch(next((line for line in reversed(lines) if line.strip()), ""))
    return (match["line"] or match["name"]) if match else ""


def _stamp(directory: Path) -> tuple[int, ...]:
    """Changes when a file of a run does."""
    paths: Sequence[Path] = [directory / name for name in (RUN_FILE, METRICS_FILE, EVAL_FILE)]
    return tuple(path.stat().st_mtime_ns if path.exists() else 0 for path in paths)


@functools.lru_cache(maxsize=1024)
def _read(directory: Path, stamp: tuple[int, ...]) -> RunData | None:
    return read_run(directory, []) if stamp[0] else None
