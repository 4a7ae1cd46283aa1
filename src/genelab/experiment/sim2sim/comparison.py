"""Two engines over the same episodes, in numbers."""

from typing import Any

import numpy as np

from genelab.core.stats import bootstrap_means, holm, interval, mcnemar_p, permutation_p, tost_p
from genelab.experiment.sim2sim.closed_loop import Episodes

SIGNIFICANT = 0.05
MARGIN_SHARE = 0.01
"""Margin if none is given: this share of the source engine's mean return."""


def compare_episodes(source: Episodes, target: Episodes, margin: float, seed: int = 0) -> dict[str, Any]:
    """Every metric with its difference, interval and p-value; falls; and the verdict on the return.

    ``equivalent``: shown to be within the margin. ``gap``: beyond the margin, and beyond the 95 % interval of chance.
    ``undecided``: neither, for which more episodes are the remedy.
    """
    found = {name: _metric(source.values[name], target.values[name], seed) for name in source.values}
    metrics = {name: metric for name, metric in found.items() if metric is not None}
    # Where no episode differs there is nothing to test, and nothing to correct the other tests for.
    tested = [metric for metric in metrics.values() if metric.pop("differs")]
    for metric, adjusted in zip(tested, holm([metric["p"] for metric in tested]), strict=True):
        metric["p_holm"] = adjusted
    means = bootstrap_means(target.values["return"] - source.values["return"], seed)
    difference, (low, high) = metrics["return"]["difference"], metrics["return"]["ci95"]
    inner = interval(means, 0.90)
    equivalent = -margin < inner[0] and inner[1] < margin
    gap = abs(difference) > margin and (low > 0.0 or high < 0.0)
    return {
        "metrics": metrics,
        "falls": _falls(source.fallen, target.fallen),
        "equivalence": {"margin": margin, "difference": difference, "ci90": inner, "p": tost_p(means, margin)},
        "verdict": "equivalent" if equivalent else "gap" if gap else "undecided",
        "same_schedule": source.schedule == target.schedule,
        "start_difference": float(np.abs(source.start - target.start).max()),
    }


def _metric(source: np.ndarray, target: np.ndarray, seed: int) -> dict[str, Any] | None:
    """One metric over the pairs in which both engines have it: a robot that never steps has no stride frequency."""
    both = np.isfinite(source) & np.isfinite(target)
    if not both.any():
        return None
    ours, theirs = source[both], target[both]
    return {
        "source": float(ours.mean()),
        "target": float(theirs.mean()),
        "difference": float((theirs - ours).mean()),
        "ci95": interval(bootstrap_means(theirs - ours, seed)),
        "p": permutation_p(theirs - ours, seed),
        "p_holm": 1.0,
        "differs": bool((theirs != ours).any()),
        "spread": float(ours.std(ddof=1)) if len(ours) > 1 else 0.0,
        "n": len(ours),
    }


def _falls(source: np.ndarray, target: np.ndarray) -> dict[str, Any]:
    pairs = {"only_source": int((source & ~target).sum()), "only_target": int((target & ~source).sum())}
    return {"source": int(source.sum()), "target": int(target.sum()), **pairs, "p": mcnemar_p(*pairs.values())}
