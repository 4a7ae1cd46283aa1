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
from genelab.core.stats import wilson
from genelab.core.stored_config import check_record

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
        compared["success_rate"] = _difference(rates, tolerance, _chance_of_drop(rates, counts))
    # The share of episodes in which the physics broke down. A report that does not say so had none.
    before, now = (min(1.0, one.get("failed_worlds", 0) / one["num_episodes"]) for one in both)
    spread = _chance_of_drop((1.0 - before, 1.0 - now), counts)
    compared["failed_worlds"] = _difference((before, now), tolerance, spread, less_is_better=True)
    broke = [name for name, comparison in compared.items() if comparison["regression"]]
    return {**compared, "broke": broke, "regression": bool(broke)}


def _difference(
    values: tuple[float, float], tolerance: float, ci95: float, less_is_better: bool = False
) -> dict[str, Any]:
    before, now = values
    loss = now - before if less_is_better else before - now
    allowed = tolerance * abs(before)
    regression = not loss <= max(allowed, ci95)  # a value that is not finite is no better than anything
    return {"reference": before, "loss": loss, "allowed": allowed, "ci95": ci95, "regression": regression}


def _chance_of_drop(rates: tuple[float, float], counts: tuple[int, int]) -> float:
    """How much a rate drops by chance: Newcombe's interval, from the lower end of the first to the upper of the second.

    Intervals of each alone are Wilson's, which have a width where all episodes succeeded, too.
    """
    (before, now), (many, few) = rates, counts
    return math.hypot(before - wilson(before, many)[0], wilson(now, few)[1] - now)
