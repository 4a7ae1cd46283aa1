"""Where the results come from: commands, versions, machines and configs."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from genelab.experiment.report.data import Entry, RunData, unique
from genelab.experiment.report.markup import Html, Section, html, named, note, table, tag
from genelab.experiment.report.numbers import DASH, duration
from genelab.experiment.report.results import badge, plain, seed_list, status_of

MISSING = "(not there)"


def provenance(entries: Sequence[Entry]) -> Section:
    """What was run, where, with what, and how it ended: one column per entry."""
    several = len(entries) > 1
    rows = [[title, *(show(entry) for entry in entries)] for title, show in _ROWS.items()]
    head = ["", *(named(index, entry.label, several) for index, entry in enumerate(entries))]
    return Section("provenance", "Provenance", table(head, rows, text_columns=99, class_="provenance"))


def _different(entry: Entry, read: Callable[[RunData], Any]) -> list[Any]:
    return unique(value for run in entry.runs if (value := read(run)) not in (None, "", DASH)) or [DASH]


def _plain(key: str) -> Callable[[Entry], Html]:
    return lambda entry: _lines(_different(entry, lambda run: plain(run.meta.get(key))))


def _lines(values: Sequence[object], name: str = "div") -> Html:
    return html(*(tag(name, value) for value in values))


def _commands(entry: Entry) -> Html:
    first, *more = _different(entry, lambda run: run.meta.get("command"))
    if not more:
        return _code(first)
    rest = tag("details", tag("summary", f"{len(more)} more"), _lines([_code(line) for line in more]))
    return html(_code(first), rest)


def _code(command: str) -> Html:
    """A command that breaks between options, not within them."""
    first, *options = re.split(r" (?=--)", str(command))
    return tag("code", first, *(html(" ", tag("span", option)) for option in options))


def _times(entry: Entry, read: Callable[[RunData], Any]) -> Html:
    return _lines([str(time).replace("T", " ").replace("+00:00", " UTC") for time in _different(entry, read)])


def _machine(run: RunData) -> str:
    machine = run.meta.get("machine")
    if not isinstance(machine, dict):
        return plain(machine)
    cores = f"{machine['cores']} cores" if "cores" in machine else None
    named_parts = [machine.get("cpu"), cores, machine.get("architecture"), machine.get("system")]
    return ", ".join(str(part) for part in named_parts if part)


def _threads(run: RunData) -> str:
    physics = run.config.get("env.simulation.threads")
    parts = [f"torch {run.meta['torch_threads']}"] if "torch_threads" in run.meta else []
    return ", ".join([*parts, f"physics {physics or 'all cores'}"] if physics is not None else parts)


def _versions(run: RunData) -> str:
    versions = run.meta.get("versions")
    return ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else plain(versions)


def _overrides(run: RunData) -> str:
    overrides = run.meta.get("overrides")
    changes = overrides.items() if isinstance(overrides, dict) else ()
    return " ".join(f"--{path} {value}" for path, value in changes if path != "agent.seed")


def progress(run: RunData) -> str:
    """How many iterations there are, of how many."""
    done = run.rows[-1].get("iteration", len(run.rows)) if run.rows else 0
    asked = run.config.get("agent.max_iterations")
    return f"{done} of {asked}" if asked is not None and asked != done else str(done)


def _statuses(entry: Entry) -> Html:
    parts = []
    for status in unique(map(status_of, entry.runs)):
        names = [run.name for run in entry.runs if status_of(run) == status]
        parts.append(html(badge(status), f" {', '.join(names)}" if len(names) < len(entry.runs) else ""))
    return _lines(parts)


_ROWS: dict[str, Callable[[Entry], Html]] = {
    "Directory": lambda entry: tag("code", entry.directory),
    "Task": lambda entry: html(entry.task),
    "Status": _statuses,
    "Seeds": lambda entry: html(seed_list(entry)),
    "Iterations": lambda entry: _lines(_different(entry, progress)),
    "Command": _commands,
    "Overrides": lambda entry: _lines([_code(line) for line in _different(entry, _overrides)]),
    "Preset": _plain("preset"),
    "Backend": _plain("backend"),
    "Engine": _plain("engine"),
    "Started": lambda entry: _times(entry, lambda run: run.meta.get("started_at")),
    "Last record": lambda entry: _times(entry, lambda run: run.recorded_at),
    "Training time": lambda entry: html(", ".join(duration(run.train_s) for run in entry.runs)),
    "Git commit": lambda entry: _lines([tag("code", c) for c in _different(entry, lambda r: r.meta.get("git_commit"))]),
    "Machine": lambda entry: _lines(_different(entry, _machine)),
    "Threads": lambda entry: _lines(_different(entry, _threads)),
    "Versions": lambda entry: _lines(_different(entry, _versions)),
    "Warm start": _plain("warm_start"),
}


def configs(entries: Sequence[Entry]) -> Section | None:
    """Where the configs differ, and all of them in full."""
    if not any(run.config for entry in entries for run in entry.runs):
        return None
    parts: list[Html] = []
    if len(entries) > 1:
        parts.append(_differences([(entry.label, entry.runs) for entry in entries], "entries"))
    for entry in entries:
        within = {path for path in _paths(entry.runs) if len(_values(entry.runs, path)) > 1} - {"agent.seed"}
        if within:
            parts.append(_differences([(run.name, [run]) for run in entry.runs], f"seeds of {entry.label}"))
    for index, entry in enumerate(entries):
        title = html("Full config of ", named(index, entry.label, True)) if len(entries) > 1 else html("Full config")
        config = entry.runs[0].config
        rows = [[tag("code", path), tag("code", json.dumps(value))] for path, value in config.items()]
        summary = tag("summary", title, tag("span", f" {len(config)} values", class_="muted"))
        seed = f" These are the values of {entry.runs[0].name}." if len(entry.runs) > 1 else ""
        hint = note(f"Paths as they are overridden on the command line, --path value.{seed}")
        parts.append(tag("details", summary, hint, table(["Path", "Value"], rows, text_columns=2, class_="config")))
    return Section("config", "Configuration", *parts)


def differing_paths(groups: Sequence[Sequence[RunData]]) -> dict[str, list[str]]:
    """Config path to its value in each group of runs, where the groups differ."""
    found = {}
    for path in _paths([run for runs in groups for run in runs]):
        values = [" | ".join(_values(runs, path)) for runs in groups]
        if len(set(values)) > 1:
            found[path] = values
    return found


def _differences(columns: Sequence[tuple[str, list[RunData]]], what: str) -> Html:
    found = differing_paths([runs for _, runs in columns])
    if not found:
        return tag("p", f"The configs of the {what} do not differ.")
    rows = [[tag("code", path), *(tag("code", value) for value in values)] for path, values in found.items()]
    head = ["Path", *(named(index, label, what == "entries") for index, (label, _) in enumerate(columns))]
    noun = "difference" if len(rows) == 1 else "differences"
    return table(head, rows, text_columns=99, caption=f"{len(rows)} {noun} between {what}", class_="config diff")


def _paths(runs: Sequence[RunData]) -> list[str]:
    return unique(path for run in runs for path in run.config)


def _values(runs: Sequence[RunData], path: str) -> list[str]:
    return unique(json.dumps(run.config[path]) if path in run.config else MISSING for run in runs)
