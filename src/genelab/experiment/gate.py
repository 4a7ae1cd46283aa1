"""The gate: whether what was measured now is worse than what was measured before, and in what.

A result is worse in one of these if it differs in the bad direction by more than `tolerance` of the reference's
magnitude and by more than chance does:

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

from genelab.core.errors import UserError
from genelab.core.json_data import read_json
from genelab.core.ranges import Count, CountOrZero, NonNegative, Range
from genelab.core.records import check_record
from genelab.core.stats import wilson

_FIELDS: dict[str, Any] = {
    "num_episodes": Count,
    "return_mean": float,
    "return_ci95": NonNegative,
    "length_mean": NonNegative,
    "length_ci95": NonNegative,
    "success_rate": Annotated[float | None, Range(0, 1)],
    "failed_worlds": CountOrZero,
    "success_ends_episode": bool,
}
"""What the gate reads of a result, and what it must be."""
_REQUIRED = ("num_episodes", "return_mean", "length_mean")


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
        check_record(f"reference '{path}', '{entry['task']}'", candidates[0], _FIELDS, _REQUIRED)
        found.append(candidates[0])
    return found


def compare_with_reference(result: dict[str, Any], reference: dict[str, Any], tolerance: float) -> dict[str, Any]:
    """How a result differs from an earlier one, in each that the gate looks at, and in which of them it is worse."""
    now, before = result["num_episodes"], reference["num_episodes"]
    means = ("return_ci95", "length_ci95")
    chance = {name: math.hypot(result.get(name, 0.0), reference.get(name, 0.0)) for name in means}
    shorter_is_better = bool(result.get("success_ends_episode") or reference.get("success_ends_episode"))
    compared = {
        "return_mean": _difference(reference["return_mean"], result["return_mean"], tolerance, chance["return_ci95"]),
        "length_mean": _difference(
            reference["length_mean"], result["length_mean"], tolerance, chance["length_ci95"], shorter_is_better
        ),
    }
    if result.get("success_rate") is not None and reference.get("success_rate") is not None:
        rates = reference["success_rate"], result["success_rate"]
        compared["success_rate"] = _difference(*rates, tolerance, _chance_of_drop(rates, (before, now)))
    failed = _per_episode(reference, before), _per_episode(result, now)
    spread = _chance_of_drop((1.0 - failed[0], 1.0 - failed[1]), (before, now))
    compared["failed_worlds"] = _difference(*failed, tolerance, spread, less_is_better=True)
    broke = [name for name, comparison in compared.items() if comparison["regression"]]
    return {**compared, "broke": broke, "regression": bool(broke)}


def _difference(
    before: float, now: float, tolerance: float, ci95: float, less_is_better: bool = False
) -> dict[str, Any]:
    loss = now - before if less_is_better else before - now
    allowed = tolerance * abs(before)
    # A value that is not finite is no better than anything: it must not pass.
    return {
        "reference": before,
        "loss": loss,
        "allowed": allowed,
        "ci95": ci95,
        "regression": not loss <= max(allowed, ci95),
    }


def _chance_of_drop(rates: tuple[float, float], counts: tuple[int, int]) -> float:
    """How much a rate drops by chance: Newcombe's interval, from the lower end of the first to the upper of the second.

    Intervals of each alone are Wilson's, which have a width where all episodes succeeded, too.
    """
    (before, now), (many, few) = rates, counts
    return math.hypot(before - wilson(before, many)[0], wilson(now, few)[1] - now)


def _per_episode(result: dict[str, Any], episodes: int) -> float:
    """The share of episodes in which the physics broke down. A report that does not say so had none."""
    return min(1.0, result.get("failed_worlds", 0) / episodes)
