"""Batch evaluation of a suite, and the gate that compares it with a reference.

A suite is ``[{"task", "checkpoint", "episodes", "seed", "num_envs"}, …]``; a report adds what was measured, and a
report can serve as the reference of the next one. Entries whose backend, engine or models are not installed are marked
with the reason and left out; the rest is judged.

The gate: a result is worse than its reference in one of these if it differs in the bad direction by more than
`tolerance` of the reference's magnitude and by more than chance does:

=================  =============================  ==============================================================
return_mean        a drop                         intervals of both means
length_mean        a drop; a rise where success   intervals of both means
                   ends an episode
success_rate       a drop                         Newcombe's interval of a difference, from both numbers of episodes
failed_worlds      a rise, per episode            the same
=================  =============================  ==============================================================
"""

import math
from pathlib import Path
from typing import Annotated, Any

from genelab.core.errors import RunStopped, UserError
from genelab.core.files import prepare_output, read_json, write_json, write_result
from genelab.core.ranges import Count, CountOrZero, NonNegative, Range, Seed, check
from genelab.core.registry import NotInstalledError, find, find_installed
from genelab.core.stats import wilson
from genelab.core.stored_config import check_record
from genelab.engines import ENGINES
from genelab.experiment import provenance
from genelab.experiment.evaluate import run_evaluation
from genelab.experiment.inference import resolve_checkpoint
from genelab.experiment.setup import Say
from genelab.rl.backends import BACKENDS
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint

_FIELDS: dict[str, Any] = {"task": str, "checkpoint": str, "episodes": Count, "seed": Seed, "num_envs": Count}
MEASURED = ("return_mean", "return_std", "return_ci95", "length_mean", "length_ci95", "success_rate")
"""Metrics of an evaluation that a report keeps."""
_GATED: dict[str, Any] = {
    "num_episodes": Count,
    "return_mean": float,
    **dict.fromkeys(("return_ci95", "length_mean", "length_ci95"), NonNegative),
    "success_rate": Annotated[float | None, Range(0, 1)],
    "failed_worlds": CountOrZero,
    "success_ends_episode": bool,
}
"""What the gate reads of a result, and what it must be."""


def run_benchmark(
    suite: Path,
    *,
    out: Path | None = None,
    reference: Path | None = None,
    tolerance: float = 0.1,
    episodes: int | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Evaluate every entry of a suite, with `episodes` in place of its own; compare with the reference, if any."""
    entries = read_suite(suite)
    earlier = read_reference(reference, entries) if reference is not None else None
    if not 0.0 <= tolerance < math.inf:
        raise UserError(f"--tolerance must be a finite number and not negative, but is {tolerance}")
    check("--episodes", episodes, Count | None)
    if all("not_run" in entry for entry in entries):
        raise UserError(f"nothing of suite '{suite}' can run here: {entries[0]['not_run']}")
    prepare_output(out)
    results = []
    for i, entry in enumerate(entries):
        result = entry if "not_run" in entry else _measure(entry, episodes, say)
        if earlier is not None and "return_mean" in result:
            result["comparison"] = compare_with_reference(result, earlier[i], tolerance)
        results.append(result)
        say(_line(result))
    report = {
        "results": results,
        "passed": not any("failure" in r or r.get("comparison", {}).get("regression") for r in results),
        "tolerance": tolerance,
        "measured_at": provenance.now(),
        **provenance.stamp(),
    }
    write_result(out, lambda path: write_json(path, report))
    return report


def read_suite(path: Path) -> list[dict[str, Any]]:
    """The entries of a suite file; an error names the entry. ``not_run`` says why one cannot run on this machine."""
    data = read_json(path)
    if not isinstance(data, list) or not data:
        raise UserError(f"suite '{path}' must be a list of entries with task and checkpoint")
    for number, entry in enumerate(data, start=1):
        label = f"suite '{path}', entry {number}"
        if not isinstance(entry, dict):
            raise UserError(f"{label}: expected an object, got {type(entry).__name__}")
        check_record(label, entry, _FIELDS, ("task", "checkpoint"), complete=True)
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


def _measure(entry: dict[str, Any], episodes: int | None, say: Say) -> dict[str, Any]:
    """An entry with what was measured, or with ``failure`` and the reason why its policy could not be evaluated."""
    try:
        protocol = {key: entry[key] for key in ("num_envs", "episodes", "seed") if key in entry}
        protocol |= {} if episodes is None else {"episodes": episodes}
        record = run_evaluation(entry["task"], Path(entry.pop("path")), **protocol, say=say)
    except RunStopped as error:  # no reason to leave the others unjudged
        return {**entry, "failure": str(error)}
    except NotInstalledError as error:  # the models of a task
        return {**entry, "not_run": str(error)}
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


def read_reference(path: Path, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each entry of a suite that runs here, the result of an earlier report for its task and checkpoint."""
    data = read_json(path)
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise UserError(f"reference '{path}' is not a report of genelab benchmark")
    results = [result for result in results if "not_run" not in result]
    found = []
    for number, entry in enumerate(entries, start=1):
        if "not_run" in entry:
            found.append({})
            continue
        same_task = [result for result in results if result.get("task") == entry["task"]]
        candidates = [r for r in same_task if r.get("checkpoint") == entry["checkpoint"]] or same_task
        if len(candidates) != 1:
            count = "no result" if not candidates else f"{len(candidates)} results"
            raise UserError(f"reference '{path}' has {count} for entry {number} of the suite, '{entry['task']}'")
        always = ("num_episodes", "return_mean", "length_mean")
        check_record(f"reference '{path}', '{entry['task']}'", candidates[0], _GATED, always)
        found.append(candidates[0])
    return found


def compare_with_reference(result: dict[str, Any], reference: dict[str, Any], tolerance: float) -> dict[str, Any]:
    """How a result differs from an earlier one, in each that the gate looks at, and in which of them it is worse."""
    both = (reference, result)
    counts = (reference["num_episodes"], result["num_episodes"])
    shorter_is_better = any(one.get("success_ends_episode") for one in both)
    compared = {}
    for what, less_is_better in (("return", False), ("length", shorter_is_better)):
        means = (reference[f"{what}_mean"], result[f"{what}_mean"])
        chance = math.hypot(*(one.get(f"{what}_ci95", 0.0) for one in both))
        compared[f"{what}_mean"] = _difference(means, tolerance, chance, less_is_better)
    if all(one.get("success_rate") is not None for one in both):
        rates = (reference["success_rate"], result["success_rate"])
        compared["success_rate"] = _difference(rates, tolerance, _chance_of_drop(rates, counts), less_is_better=False)
    # The share of episodes in which the physics broke down. A report that does not say so had none.
    before, now = (min(1.0, one.get("failed_worlds", 0) / one["num_episodes"]) for one in both)
    spread = _chance_of_drop((1.0 - before, 1.0 - now), counts)
    compared["failed_worlds"] = _difference((before, now), tolerance, spread, less_is_better=True)
    broke = [name for name, comparison in compared.items() if comparison["regression"]]
    return {**compared, "broke": broke, "regression": bool(broke)}


def _difference(values: tuple[float, float], tolerance: float, ci95: float, less_is_better: bool) -> dict[str, Any]:
    before, now = values
    loss = now - before if less_is_better else before - now
    allowed = tolerance * abs(before)
    regression = not loss <= max(allowed, ci95)  # a value that is not finite is no better than anything
    return {"reference": before, "loss": loss, "allowed": allowed, "ci95": ci95, "regression": regression}


def _chance_of_drop(rates: tuple[float, float], counts: tuple[int, int]) -> float:
    """How much a rate drops by chance: Newcombe's interval, from Wilson's of each, which has a width at 0 and 1 too."""
    (before, now), (many, few) = rates, counts
    return math.hypot(before - wilson(before, many)[0], wilson(now, few)[1] - now)
