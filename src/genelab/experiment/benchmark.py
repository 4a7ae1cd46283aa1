"""Batch evaluation of a suite, and the gate that compares it with a reference.

A suite is ``[{"task", "checkpoint", "episodes", "seed", "num_envs"}, …]``; a report adds what was measured, and a
report can serve as the reference of the next one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genelab.core.components import find_installed
from genelab.core.errors import UserError, hint
from genelab.core.files import make_parent, write_json
from genelab.core.json_data import read_json
from genelab.core.registry import find
from genelab.experiment import provenance
from genelab.experiment.bundle import resolve_checkpoint
from genelab.experiment.evaluate import EvalRequest, run_evaluation
from genelab.rl.backends import BACKENDS
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint

_FIELDS = {"task": str, "checkpoint": str, "episodes": int, "seed": int, "num_envs": int}
_REQUIRED = ("task", "checkpoint")


@dataclass(frozen=True)
class BenchmarkRequest:
    """What the user asked to compare."""

    suite: Path
    out: Path | None = None
    reference: Path | None = None
    tolerance: float = 0.1
    episodes: int | None = None
    """Episodes of every entry instead of what the suite says."""


def run_benchmark(request: BenchmarkRequest, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Evaluate every entry of the suite; compare with the reference if there is one."""
    entries = read_suite(request.suite)
    reference = read_reference(request.reference, entries) if request.reference is not None else None
    if not request.tolerance >= 0.0:
        raise UserError(f"--tolerance must not be negative, but is {request.tolerance}")
    if request.out is not None:
        make_parent(request.out)
    results = []
    for i, entry in enumerate(entries):
        record = run_evaluation(_eval_request(entry, request), say=say)
        keys = ("return_mean", "return_std", "return_ci95", "length_mean", "success_rate")
        result = {**entry, "num_episodes": record["num_episodes"], **{key: record["metrics"][key] for key in keys}}
        if reference is not None:
            result["comparison"] = compare_with_reference(result, reference[i], request.tolerance)
        results.append(result)
        say(_line(result))
    report = {
        "results": results,
        "passed": all(not result.get("comparison", {}).get("regression", False) for result in results),
        "tolerance": request.tolerance,
        "measured_at": provenance.now(),
        **provenance.stamp(),
    }
    if request.out is not None:
        write_json(request.out, report)
    return report


def read_suite(path: Path) -> list[dict[str, Any]]:
    """The entries of a suite file; a mistake is an error that names the entry."""
    data = read_json(path)
    if not isinstance(data, list) or not data:
        raise UserError(f"suite '{path}' must be a list of entries with task and checkpoint")
    for number, entry in enumerate(data, start=1):
        label = f"suite '{path}', entry {number}"
        if not isinstance(entry, dict):
            raise UserError(f"{label}: expected an object, got {type(entry).__name__}")
        for key in entry:
            if key not in _FIELDS:
                raise UserError(f"{label}: unknown field '{key}'{hint(key, _FIELDS)}")
        for key in _REQUIRED:
            if key not in entry:
                raise UserError(f"{label}: '{key}' is missing")
        for key, value in entry.items():
            if not isinstance(value, _FIELDS[key]) or isinstance(value, bool):
                raise UserError(f"{label}: '{key}' must be {_FIELDS[key].__name__}, not {value!r}")
        try:
            find(entry["task"])
            entry["path"] = str(resolve_checkpoint(entry["checkpoint"], relative_to=path.parent))
            origin = read_checkpoint(Path(entry["path"]), entry["task"])[INFO_KEY]
            find_installed("backend", origin["backend"], BACKENDS)
        except UserError as error:
            raise UserError(f"{label}: {error}") from error
    return data


def read_reference(path: Path, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each entry of a suite, the result of an earlier report for the same task and checkpoint."""
    data = read_json(path)
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list):
        raise UserError(f"reference '{path}' is not a report of genelab benchmark")
    found = []
    for number, entry in enumerate(entries, start=1):
        same_task = [r for r in results if r.get("task") == entry["task"] and "return_mean" in r]
        exact = [r for r in same_task if r.get("checkpoint") == entry["checkpoint"]]
        candidates = exact or same_task
        if len(candidates) != 1:
            count = "no result" if not candidates else f"{len(candidates)} results"
            raise UserError(f"reference '{path}' has {count} for entry {number} of the suite, '{entry['task']}'")
        found.append(candidates[0])
    return found


def compare_with_reference(result: dict[str, Any], reference: dict[str, Any], tolerance: float) -> dict[str, Any]:
    """A regression is a drop beyond `tolerance` of the reference's magnitude and beyond its own 95 % interval."""
    drop = reference["return_mean"] - result["return_mean"]
    allowed = tolerance * abs(reference["return_mean"])
    interval = math.hypot(reference.get("return_ci95", 0.0), result["return_ci95"])
    return {
        "reference": reference["return_mean"],
        "drop": drop,
        "allowed": allowed,
        "ci95": interval,
        "regression": not drop <= max(allowed, interval),
    }


def _eval_request(entry: dict[str, Any], request: BenchmarkRequest) -> EvalRequest:
    return EvalRequest(
        task=entry["task"],
        checkpoint=Path(entry.pop("path")),
        num_envs=entry.get("num_envs", 64),
        episodes=request.episodes or entry.get("episodes", 100),
        seed=entry.get("seed", 0),
    )


def _line(result: dict[str, Any]) -> str:
    line = f"{result['task']}: return_mean {result['return_mean']:.3f} ± {result['return_ci95']:.3f}"
    if "comparison" in result:
        verdict = "REGRESSION" if result["comparison"]["regression"] else "ok"
        line += f", reference {result['comparison']['reference']:.3f}: {verdict}"
    return line
