"""Where the results come from: commands, versions, machines and configs."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from genelab.experiment.pages import Cell, Section, Table
from genelab.experiment.pages.numbers import DASH, duration, utc
from genelab.experiment.report.results import plain, seed_list
from genelab.experiment.run.reading import Entry, RunData, unique

MISSING = "(not there)"


def provenance(entries: Sequence[Entry]) -> Section:
    """What was run, where, with what, and how it ended: one column per entry."""
    head = ["", *(Cell(entry.label, index if len(entries) > 1 else None) for index, entry in enumerate(entries))]
    rows = [(title, [list(show(entry)) for entry in entries]) for title, show in _ROWS.items()]
    return Section("provenance", "Provenance", {"head": head, "rows": rows})


def _different(read: Callable[[RunData], Any], code: bool = False) -> Callable[[Entry], list[Cell]]:
    """The different values that the runs of an entry have, each on a line of its own."""

    def show(entry: Entry) -> list[Cell]:
        values = unique(value for run in entry.runs if (value := read(run)) not in (None, "", DASH)) or [DASH]
        return [Cell(value, code=code) for value in values]

    return show


def _stored(key: str, code: bool = False) -> Callable[[Entry], list[Cell]]:
    return _different(lambda run: plain(run.meta.get(key)), code)


def _machine(run: RunData) -> str:
    machine = run.meta.get("machine", {})
    cores = f"{machine['cores']} cores" if "cores" in machine else None
    parts = [machine.get("cpu"), cores, machine.get("architecture"), machine.get("system")]
    return ", ".join(str(part) for part in parts if part)


def _threads(run: RunData) -> str:
    physics = run.config.get("env.simulation.threads")
    parts = [f"torch {run.meta['torch_threads']}"] if "torch_threads" in run.meta else []
    return ", ".join([*parts, f"physics {physics or 'all cores'}"] if physics is not None else parts)


def progress(run: RunData) -> str:
    """How many iterations there are, of how many."""
    done = run.rows[-1].get("iteration", len(run.rows)) if run.rows else 0
    asked = run.config.get("agent.max_iterations")
    return f"{done} of {asked}" if asked is not None and asked != done else str(done)


def _statuses(entry: Entry) -> Iterable[Cell | list[Cell]]:
    for status in unique(run.status for run in entry.runs):
        names = [run.name for run in entry.runs if run.status == status]
        yield [Cell(status, badge=status), Cell(f" {', '.join(names)}" if len(names) < len(entry.runs) else "")]


_ROWS: dict[str, Callable[[Entry], Iterable[Any]]] = {
    "Directory": lambda entry: [Cell(entry.directory, code=True)],
    "Task": lambda entry: [entry.task],
    "Status": _statuses,
    "Seeds": lambda entry: [seed_list(entry)],
    "Iterations": _different(progress),
    "Command": _stored("command", code=True),
    "Overrides": _different(lambda run: " ".join(f"--{path} {v}" for path, v in run.overrides.items()), code=True),
    "Preset": _stored("preset"),
    "Backend": _stored("backend"),
    "Engine": _stored("engine"),
    "Started": _different(lambda run: utc(str(run.meta.get("started_at", "")))),
    "Last record": _different(lambda run: utc(run.recorded_at)),
    "Training time": lambda entry: [", ".join(duration(run.train_s) for run in entry.runs)],
    "Git commit": _stored("git_commit", code=True),
    "Machine": _different(_machine),
    "Threads": _different(_threads),
    "Versions": _different(lambda run: ", ".join(f"{k} {v}" for k, v in run.meta.get("versions", {}).items())),
    "Warm start": _stored("warm_start"),
}


def configs(entries: Sequence[Entry]) -> Section | None:
    """Where the configs differ, and all of them in full."""
    if not any(run.config for entry in entries for run in entry.runs):
        return None
    several = len(entries) > 1
    columns = [(Cell(entry.label, index), entry.runs) for index, entry in enumerate(entries)]
    differences = [_differences(columns, "entries")] if several else []
    for entry in entries:
        if differing_paths([[run] for run in entry.runs]).keys() - {"agent.seed"}:
            differences.append(_differences([(run.name, [run]) for run in entry.runs], f"seeds of {entry.label}"))
    full = []
    for name, (run, *others) in columns:
        rows = [[Cell(path, code=True), Cell(json.dumps(value), code=True)] for path, value in run.config.items()]
        table = Table(["Path", "Value"], rows, text_columns=2, style="config")
        full.append({"name": name if several else None, "seed": run.name if others else "", "table": table})
    return Section("config", "Configuration", {"differences": differences, "full": full})


def differing_paths(groups: Sequence[Sequence[RunData]]) -> dict[str, list[str]]:
    """Config path to its value in each group of runs, where the groups differ."""

    def shown(run: RunData, path: str) -> str:
        return json.dumps(run.config[path]) if path in run.config else MISSING

    found = {}
    for path in unique(path for runs in groups for run in runs for path in run.config):
        values = [" | ".join(unique(shown(run, path) for run in runs)) for runs in groups]
        if len(set(values)) > 1:
            found[path] = values
    return found


def _differences(columns: Sequence[tuple[object, list[RunData]]], what: str) -> Table | str:
    if not (found := differing_paths([runs for _, runs in columns])):
        return f"The configs of the {what} do not differ."
    rows = [[Cell(text, code=True) for text in (path, *values)] for path, values in found.items()]
    caption = f"{len(rows)} {'difference' if len(rows) == 1 else 'differences'} between {what}"
    return Table(["Path", *(name for name, _ in columns)], rows, text_columns=99, caption=caption, style="config diff")
