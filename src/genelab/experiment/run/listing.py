"""The runs below a directory at a glance, from their files alone."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError, require_known
from genelab.core.ranges import finite
from genelab.core.run_files import RUN_FILE
from genelab.core.table import Table
from genelab.experiment.console import duration
from genelab.experiment.run.lock import holder
from genelab.experiment.run.reading import NOTHING_YET, RunData

COLUMNS = ("run", "task", "preset", "seed", "status", "return", "interval", "measured", "steps/s", "age")
LARGEST_FIRST = ("return", "steps/s")


def list_runs(directory: Path, sort: str = "age") -> tuple[list[dict[str, Any]], list[str]]:
    """A record of every run below a directory, and notes on what is damaged or not ours.

    ``return`` comes with the half width of its 95 % ``interval`` and where it was ``measured``: by ``genelab eval``, in
    the last evaluation during training, or in the last training episodes. ``age`` is the time since the start, in s.
    """
    require_known("column", sort, COLUMNS)
    if not directory.is_dir():
        raise UserError(f"there is no directory '{directory}'")
    records, notes = [], []
    for file in sorted(directory.rglob(RUN_FILE)):
        try:
            records.append(_describe(RunData(file.parent, notes), directory))
        except (UserError, OSError) as error:
            notes.append(f"left out: {error}")
    known = [record for record in records if record[sort] is not None]
    known.sort(key=lambda record: record[sort], reverse=sort in LARGEST_FIRST)
    notes = [note for note in notes if not note.endswith(NOTHING_YET)]  # the status says that
    return known + [record for record in records if record[sort] is None], notes


def run_table(records: list[dict[str, Any]]) -> Table:
    """The records for people: a return together with its interval, an age in its own unit."""
    rows = []
    for record in records:
        mean, half, speed, age = (record[name] for name in ("return", "interval", "steps/s", "age"))
        reached = "" if mean is None else f"{mean:.5g}" if half is None else f"{mean:.5g} ± {half:.2g}"
        numbers = ["" if speed is None else f"{speed:.0f}", "" if age is None else duration(age)]
        rows.append([*(record[name] for name in COLUMNS[:5]), reached, record["measured"], *numbers])
    return Table([name for name in COLUMNS if name != "interval"], rows)


def _describe(run: RunData, root: Path) -> dict[str, Any]:
    returns = {"eval": run.evaluated, "evaluation": (run.evaluations or [{}])[-1]}
    returns["training"] = {"return_mean": run.last("return_mean")}
    measured = next((name for name, record in returns.items() if finite(record.get("return_mean")) is not None), "")
    mean, half = (finite(returns.get(measured, {}).get(f"return_{what}")) for what in ("mean", "ci95"))
    status = "killed" if run.status == "running" and holder(run.directory) is None else run.status
    try:
        age = (datetime.now(UTC) - datetime.fromisoformat(run.meta["started_at"])).total_seconds()
    except (KeyError, TypeError, ValueError):  # an earlier version, or a time without a zone
        age = None
    place, about = str(run.directory.relative_to(root)), (run.meta.get(name) for name in ("task", "preset", "seed"))
    return dict(zip(COLUMNS, (place, *about, status, mean, half, measured, run.steps_per_s, age), strict=True))
