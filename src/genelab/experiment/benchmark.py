"""Batch evaluation of a suite, and the gate that compares it with a reference.

A suite is ``[{"task", "checkpoint", "episodes", "seed", "num_envs"}, …]``; a report adds what was measured, and a
report can serve as the reference of the next one. Entries whose backend or engine is not installed are marked with the
reason and left out; the rest is judged.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genelab.core.errors import RunStopped, UserError
from genelab.core.files import prepare_output, write_json, write_result
from genelab.core.json_data import read_json
from genelab.core.ranges import Count, Seed
from genelab.core.registry import NotInstalledError, find, find_installed
from genelab.core.stored_config import check_record, refuse_unknown
from genelab.engines import ENGINES
from genelab.experiment import provenance
from genelab.experiment.evaluate import EvalRequest, run_evaluation
from genelab.experiment.gate import compare_with_reference, read_reference
from genelab.experiment.inference import resolve_checkpoint
from genelab.rl.backends import BACKENDS
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint

_FIELDS: dict[str, Any] = {"task": str, "checkpoint": str, "episodes": Count, "seed": Seed, "num_envs": Count}
MEASURED = ("return_mean", "return_std", "return_ci95", "length_mean", "length_ci95", "success_rate")
"""Metrics of an evaluation that a report keeps."""


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
    if not 0.0 <= request.tolerance < math.inf:
        raise UserError(f"--tolerance must be a finite number and not negative, but is {request.tolerance}")
    if request.episodes is not None and request.episodes < 1:
        raise UserError(f"--episodes must be at least 1, but is {request.episodes}")
    if all("not_run" in entry for entry in entries):
        raise UserError(f"nothing of suite '{request.suite}' can run here: {entries[0]['not_run']}")
    if request.out is not None:
        prepare_output(request.out)
    results = []
    for i, entry in enumerate(entries):
        result = entry if "not_run" in entry else _measure(entry, request, say)
        if reference is not None and "return_mean" in result:
            result["comparison"] = compare_with_reference(result, reference[i], request.tolerance)
        results.append(result)
        say(_line(result))
    report = {
        "results": results,
        "passed": not any("failure" in r or r.get("comparison", {}).get("regression") for r in results),
        "tolerance": request.tolerance,
        "measured_at": provenance.now(),
        **provenance.stamp(),
    }
    if request.out is not None:
        write_result(request.out, lambda path: write_json(path, report))
    return report


def read_suite(path: Path) -> list[dict[str, Any]]:
    """The entries of a suite file; a mistake is an error that names the entry.

    What cannot run on this machine has the reason under ``not_run``.
    """
    data = read_json(path)
    if not isinstance(data, list) or not data:
        raise UserError(f"suite '{path}' must be a list of entries with task and checkpoint")
    for number, entry in enumerate(data, start=1):
        label = f"suite '{path}', entry {number}"
        if not isinstance(entry, dict):
            raise UserError(f"{label}: expected an object, got {type(entry).__name__}")
        refuse_unknown(label, entry, _FIELDS)
        check_record(label, entry, _FIELDS, ("task", "checkpoint"))
        try:
            find(entry["task"])
            entry["path"] = str(resolve_checkpoint(entry["checkpoint"], entry["task"], relative_to=path.parent))
            origin = read_checkpoint(Path(entry["path"]), entry["task"])[INFO_KEY]
            find_installed("backend", origin["backend"], BACKENDS)
            find_installed("engine", find(entry["task"]).env_cfg(play=True).simulation.engine, ENGINES)
        except NotInstalledError as error:
            entry.pop("path")
            entry["not_run"] = str(error)
        except UserError as error:
            raise UserError(f"{label}: {error}") from error
    return data


def _measure(entry: dict[str, Any], request: BenchmarkRequest, say: Callable[[str], None]) -> dict[str, Any]:
    """An entry with what was measured, or with ``failure`` and the reason why its policy could not be evaluated."""
    asked = EvalRequest(
        task=entry["task"],
        checkpoint=Path(entry.pop("path")),
        num_envs=entry.get("num_envs", 64),
        episodes=entry.get("episodes", 100) if request.episodes is None else request.episodes,
        seed=entry.get("seed", 0),
    )
    try:
        record = run_evaluation(asked, say=say)
    except RunStopped as error:  # no reason to leave the others unjudged
        return {**entry, "failure": str(error)}
    lengths, success = record["episodes"]["length"], record["episodes"].get("success", ())
    successes = [length for length, succeeded in zip(lengths, success, strict=False) if succeeded]
    return {
        **entry,
        "num_episodes": record["num_episodes"],
        **{key: record["metrics"][key] for key in MEASURED},
        "success_ends_episode": any(length < max(lengths) for length in successes),
        "failed_worlds": record["failed_worlds"],
    }


def _line(result: dict[str, Any]) -> str:
    if "not_run" in result:
        return f"{result['task']}: not run: {result['not_run']}"
    if "failure" in result:
        return f"{result['task']}: FAILED: {result['failure']}"
    before = result.get("comparison", {})

    def shown(name: str, value: str) -> str:
        return f"{name} {value}" + (f" (reference {before[name]['reference']:.3f})" if name in before else "")

    parts = [
        shown("return_mean", f"{result['return_mean']:.3f} ± {result['return_ci95']:.3f}"),
        shown("length_mean", f"{result['length_mean']:.1f} ± {result['length_ci95']:.1f}"),
    ]
    if result["success_rate"] is not None:
        parts.append(shown("success_rate", f"{result['success_rate']:.3f}"))
    parts.append(f"failed_worlds {result['failed_worlds']}")
    line = f"{result['task']}: {', '.join(parts)}"
    if before:
        line += f": REGRESSION in {', '.join(before['broke'])}" if before["regression"] else ": ok"
    return line
