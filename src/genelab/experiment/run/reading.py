"""Run directories, read as they are, finished or not, for reports and summaries.

A directory is one entry: a run (it holds run.json), or the parent of the same run with several seeds
(it holds ``seed_<S>/run.json``). What cannot be read is left out and said so in the entry's notes.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

from genelab.core.config import flatten
from genelab.core.errors import UserError
from genelab.core.files import parse_json_line, read_json
from genelab.core.ranges import CountOrZero, Range, finite
from genelab.core.run_files import AGENT_FILE, ENV_FILE, EVAL_FILE, METRICS_FILE, RUN_FILE, SUMMARY_FILE
from genelab.core.stored_config import check_record
from genelab.experiment.run.logs import LINE_FILES, lines_written
from genelab.rl.eval_settings import EvalSettings

RECORD: dict[str, Any] = {
    **dict.fromkeys(("task", "backend", "engine", "preset", "command", "status", "started_at"), str),
    **dict.fromkeys(("git_commit", "warm_start", "warm_start_sha256", "weights_sha256", "logger"), str | None),
    **dict.fromkeys(("versions", "env_changes", "overrides", "machine", "metrics"), dict[str, Any]),
    "seed": int,
    "lines": dict[str, int],
    "iteration": CountOrZero,
    "torch_threads": Annotated[int, Range(1, 1024)],
    "evaluation": EvalSettings | None,
}
"""run.json"""
SOURCE = ("task", "backend", "seed", "preset", "engine", "git_commit", "versions")
"""Entries of run.json that every checkpoint carries too."""
CONTINUED_BY = (*SOURCE, "env_changes", "evaluation", "torch_threads")
"""Entries of run.json without which a run cannot be continued."""
ROW: dict[str, Any] = {"iteration": CountOrZero}
"""A line of metrics.jsonl and of evaluations.jsonl; all else in it are numbers, and what is not is left out."""
EVALUATION: dict[str, Any] = {
    "metrics": dict[str, Any],
    "num_episodes": CountOrZero,
    **dict.fromkeys(("complete", "deterministic", "noise"), bool),
    "seed": int,
    "engine": str,
}
"""eval.json"""
SUMMARY: dict[str, Any] = {
    **dict.fromkeys(("metrics", "runs", "baseline"), dict[str, Any]),
    **dict.fromkeys(("seeds", "failed"), tuple[int, ...]),
}
"""summary.json"""
NOTHING_YET = "no iteration has been recorded yet"


class RunData:
    """One run as it is on disk. What is missing or not readable is added to `notes`."""

    def __init__(self, directory: Path, notes: list[str]):
        path, log = directory / RUN_FILE, directory / METRICS_FILE
        self.directory = directory
        self.meta: dict[str, Any] = read_json(path)
        """run.json."""
        check_record(f"'{path}' is not the record of a genelab run", self.meta, RECORD)
        self.name = f"seed {self.meta['seed']}" if "seed" in self.meta else directory.name
        """``seed 1``, unless the run does not know its seed."""
        rows, self.evaluations = (_read_lines(directory / name, notes, self.meta) for name in LINE_FILES)
        """The evaluations made during training."""
        self.rows = list({row.get("iteration", index): row for index, row in enumerate(rows)}.values())
        """metrics.jsonl, one dict per iteration, in order."""
        if not rows:
            notes.append(f"{directory}: {NOTHING_YET}")
        self.config: dict[str, Any] = {}
        """Dotted path to value, of the environment and the agent."""
        for name, file in (("env", ENV_FILE), ("agent", AGENT_FILE)):
            params = _read_record(directory / file, {}, notes)
            self.config |= flatten(params, name) if params else {}
        self.evaluation = _read_record(directory / EVAL_FILE, EVALUATION, notes)
        """eval.json; empty if there is none."""
        written = datetime.fromtimestamp(log.stat().st_mtime, UTC) if log.exists() else None
        self.recorded_at = written.isoformat(timespec="seconds") if written else ""
        """When the last iteration was written down, UTC; empty if none was."""

    @property
    def status(self) -> str:
        """How the run ended, or that it has not."""
        return str(self.meta.get("status", "unknown"))

    @property
    def overrides(self) -> dict[str, Any]:
        """What the user changed about the configs, but for the seed."""
        return {path: value for path, value in self.meta.get("overrides", {}).items() if path != "agent.seed"}

    @property
    def evaluated(self) -> dict[str, Any]:
        """The metrics of eval.json; empty if there are none."""
        return self.evaluation.get("metrics", {})

    @cached_property
    def train_s(self) -> float | None:
        """Seconds of collecting and learning up to the last iteration."""
        return self.seconds[-1] if self.seconds else None

    @property
    def steps_per_s(self) -> float | None:
        """Environment steps per second of collecting and learning, over the whole run."""
        steps = self.last("steps")
        return steps / self.train_s if steps and self.train_s else None

    @cached_property
    def seconds(self) -> list[float]:
        """Training time at the end of every iteration; empty if it was not recorded."""
        spent = [[finite(row.get(key)) for key in ("collect_s", "learn_s")] for row in self.rows]
        if [None, None] in spent:
            return []
        return list(accumulate(sum(part or 0.0 for part in parts) for parts in spent))

    def values(self, key: str) -> list[float]:
        """All values of a metric, as far as they are numbers."""
        return [value for row in self.rows if (value := finite(row.get(key))) is not None]

    def last(self, key: str) -> float | None:
        return next(reversed(self.values(key)), None)


@dataclass(frozen=True)
class Entry:
    """A run, or several seeds of one."""

    label: str
    directory: Path
    runs: list[RunData]
    summary: dict[str, Any]
    """summary.json of the directory; empty if there is none."""
    notes: list[str] = field(default_factory=list)
    """What was missing or not readable."""

    @property
    def task(self) -> str:
        return ", ".join(unique(str(run.meta.get("task", "unknown task")) for run in self.runs))

    @cached_property
    def run_metrics(self) -> dict[str, Any]:
        """The run metrics of summary.json, or of run.json if the entry is one run; empty if there are none."""
        own = self.runs[0].meta.get("metrics", {}) if len(self.runs) == 1 else {}
        return self.summary.get("metrics", own)


def unique(values: Any) -> list[Any]:
    """The different values, in the order of their first appearance."""
    return list(dict.fromkeys(values))


def load_entries(directories: Sequence[Path]) -> list[Entry]:
    """Read every directory, each a run or the parent of seeds."""
    paths = [directory.resolve() for directory in directories]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise UserError(f"'{directories[index]}' is named twice: a comparison needs different directories")
    return [_load_entry(given, label) for given, label in zip(directories, _labels(paths), strict=True)]


def _load_entry(directory: Path, label: str) -> Entry:
    if not directory.exists():
        raise UserError(f"there is no directory '{directory}'")
    if not directory.is_dir():
        raise UserError(f"'{directory}' is a file: give the directory of a run")
    seeds = sorted((path.parent for path in directory.glob(f"seed_*/{RUN_FILE}")), key=_seed_order)
    homes = [directory] if (directory / RUN_FILE).is_file() else seeds
    if not homes:
        found = (path.parent for pattern in ("*", "*/*", "*/*/*") for path in directory.glob(f"{pattern}/{RUN_FILE}"))
        below = next((run.parent if run.name.startswith("seed_") else run for run in found), None)
        tail = f" (did you mean '{below}'?)" if below else ""
        raise UserError(f"no run at '{directory}': neither {RUN_FILE} nor seed_<S>/{RUN_FILE} is in it{tail}")
    notes: list[str] = []
    summary = read_summary(directory, notes)
    if summary.get("failed"):
        notes.append(f"{directory}: seeds that failed: {', '.join(map(str, summary['failed']))}")
    return Entry(label, directory, [RunData(home, notes) for home in homes], summary, notes)


def read_summary(directory: Path, notes: list[str]) -> dict[str, Any]:
    """summary.json of several seeds; empty if there is none."""
    return _read_record(directory / SUMMARY_FILE, SUMMARY, notes)


def _read_record(path: Path, fields: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A JSON file; empty if it is missing, or not what it should be, which is noted."""
    if path.exists():
        try:
            data = read_json(path)
            check_record(f"'{path}'", data, fields)
            return data
        except UserError as error:
            notes.append(f"left out: {error}")
    return {}


def _read_lines(path: Path, notes: list[str], meta: dict[str, Any]) -> list[dict[str, Any]]:
    """A file with one JSON record per line, which may still be growing."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    except OSError as error:
        notes.append(f"{path} is not readable and is left out: {error}")
        return []
    *lines, rest = text.split("\n")
    if len(lines) < (written := lines_written(meta).get(path.name, 0)):
        notes.append(f"{path}: {written} lines were written, {len(lines)} are there")
    lines += [rest] if rest else []
    records: list[dict[str, Any]] = []
    odd: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        try:
            record = parse_json_line(line, str(path))
            check_record(str(path), record, ROW)
            records.append(record)
            odd.update(k for k, value in record.items() if isinstance(value, float) and not math.isfinite(value))
        except UserError:
            cut_off = " (cut off: the run was writing, or was killed)" if rest and number == len(lines) else ""
            notes.append(f"{path}: line {number} is not readable and is left out{cut_off}")
    for key, count in odd.items():
        notes.append(f"{path}: {count} value{'s' if count > 1 else ''} of {key} not finite and left out")
    return records


def _labels(paths: list[Path]) -> Iterator[str]:
    """The shortest ends of the paths that tell them apart. A seed is named together with its parent."""
    for path in paths:
        parts = path.parts
        length = 2 if path.name.startswith("seed_") else 1
        others = [other.parts for other in paths if other != path]
        while length < len(parts) and any(other[-length:] == parts[-length:] for other in others):
            length += 1
        yield "/".join(parts[-length:])


def _seed_order(directory: Path) -> tuple[int, str]:
    text = directory.name.removeprefix("seed_")
    return (int(text) if text.isdecimal() else 10**9, text)
