"""A campaign is a file: tasks, presets, seeds, overrides, targets, and how many frames may be trained.

A *row* is a task with a preset and overrides; it has a run for each of its seeds. ``docs/campaigns.md`` has an example.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from genelab.core.config import flatten
from genelab.core.errors import UserError, about, hint
from genelab.core.overrides import show
from genelab.core.ranges import Range, Seed
from genelab.core.registry import find
from genelab.core.run_files import seed_directory
from genelab.core.stored_config import check_record
from genelab.experiment.setup import choose_preset

_Names = str | tuple[str, ...]
_Frames = Annotated[int, Range(1, 1e15)]
_SHARED: dict[str, Any] = {"seeds": tuple[Seed, ...], "preset": _Names}
"""What an entry has to itself or takes from the top of the file."""
_TOP: dict[str, Any] = {
    "directory": str,
    "frames_per_run": _Frames,
    "total_frames": _Frames,
    **_SHARED,
    "targets": dict[str, float],
    "entry": Any,
}
_ENTRY: dict[str, Any] = {"task": _Names, **_SHARED, "name": str, "backend": str, "overrides": dict[str, Any]}


@dataclass(frozen=True)
class Row:
    """A task with a preset and overrides, trained with several seeds."""

    task: str
    preset: str
    spec: str
    """The preset, with the entry's name behind it if it has one: tells rows of one task apart."""
    backend: str | None
    overrides: tuple[tuple[str, str], ...]
    seeds: tuple[int, ...]
    target: float | None
    directory: Path
    """Where the directories of its seeds are."""

    @property
    def label(self) -> Path:
        return Path(self.task) / self.spec

    @property
    def runs(self) -> dict[Path, int]:
        return {seed_directory(self.directory, seed): seed for seed in self.seeds}


@dataclass(frozen=True)
class Campaign:
    """A campaign file."""

    file: Path
    directory: Path
    """Where everything is that the campaign writes."""
    frames_per_run: int
    total_frames: int | None
    rows: tuple[Row, ...]

    @property
    def tasks(self) -> list[str]:
        """The tasks in the order of the file."""
        return list(dict.fromkeys(row.task for row in self.rows))


def read_campaign(file: Path) -> Campaign:
    """The rows of a campaign file, with every mistake in it found that can be found without configs."""
    if file.suffix != ".toml":
        raise UserError(f"a campaign file ends with .toml, '{file}' does not")
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read '{file}': {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"'{file}' is not TOML: {error}") from error
    with about(file):
        top = check_record("the file", data, _TOP, ("frames_per_run", "entry"), complete=True)
        directory = Path(os.path.normpath(file.parent / top.get("directory", file.with_suffix("").name)))
        entries = top["entry"] if isinstance(top["entry"], tuple | list) else ()
        if not entries:
            raise UserError("there is no [[entry]]")
        rows: list[Row] = []
        for number, entry in enumerate(entries, start=1):
            for row in _rows(f"entry {number}", entry, top, directory):
                if any(other.directory == row.directory for other in rows):
                    raise UserError(f"entry {number}: '{row.label}' is there twice: give one a name")
                rows.append(row)
        campaign = Campaign(file, directory, top["frames_per_run"], top.get("total_frames"), tuple(rows))
        for task in top.get("targets", {}):
            if task not in campaign.tasks:
                raise UserError(f"targets: no entry trains '{task}'{hint(task, campaign.tasks)}")
        return campaign


def _rows(label: str, entry: Any, top: Mapping[str, Any], directory: Path) -> Iterator[Row]:
    """A row for every task and preset of an entry."""
    own = check_record(label, entry, _ENTRY, ("task",), complete=True)
    found = {name: top[name] for name in _SHARED if name in top} | own
    seeds, name = found.get("seeds", ()), found.get("name", "")
    if not seeds or len(set(seeds)) != len(seeds):
        raise UserError(f"{label}: {'a seed is there twice' if seeds else 'it has no seeds'}")
    if not re.fullmatch(r"[\w.-]*", name):
        raise UserError(f"{label}: the name '{name}' becomes a directory: use letters, digits, '.', '_' and '-'")
    overrides = tuple((path, show(value)) for path, value in flatten(found.get("overrides") or {}).items() if path)
    if any(path.replace("-", "_") == "agent.seed" for path, _ in overrides):
        raise UserError(f"{label}: agent.seed is no override: list the seeds under 'seeds'")
    with about(label):
        for task, preset in product(_several(found["task"]), _several(found.get("preset", "auto"))):
            chosen, backend = find(task), found.get("backend")
            chosen.agent_cfg(backend)
            preset = choose_preset(chosen, preset, backend, list(overrides))
            chosen.preset(preset, backend)
            spec, target = f"{preset}-{name}" if name else preset, top.get("targets", {}).get(task)
            yield Row(task, preset, spec, backend, overrides, seeds, target, directory / task / spec)


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names
