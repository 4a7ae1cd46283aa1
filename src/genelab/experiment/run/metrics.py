"""Numbers that describe a whole training, from its returns R_i at checkpoints i.

With b the return of a random policy, s_i = R_i - b, f_i the environment steps and o_i the optimiser steps at
checkpoint i:

| metric | definition |
| --- | --- |
| strength | mean of s_i |
| max_strength | largest s_i |
| final_strength | last s_i |
| total_reward_ma | mean of the last 100 R_i |
| sample_efficiency | sum of s_i / f_i over sum of s_i |
| training_efficiency | sum of s_i / o_i over sum of s_i |
| stability | 1 - abs(sum of negative changes of s over sum of s_i) |
| consistency (over seeds j) | 1 - 2 sum_i std_j(s_ij) / sum_i mean_j(s_ij) |

A metric whose divisor is zero is None.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

WINDOW = 100
SCORE = "total_reward_ma"
"""The metric that is compared with targets."""


@dataclass(frozen=True)
class ReturnCurve:
    """One training: returns, environment steps and optimiser steps at its checkpoints."""

    returns: Sequence[float]
    steps: Sequence[float]
    optimiser_steps: Sequence[float]


def total_reward_ma(returns: Sequence[float]) -> float:
    """Mean of the last 100 returns: what is compared with targets."""
    return fmean(returns[-WINDOW:])


def run_metrics(curve: ReturnCurve, baseline: float) -> dict[str, float | None]:
    """The metrics of one training, given the return of a random policy."""
    s = [value - baseline for value in curve.returns]
    total = math.fsum(s)
    drops = math.fsum(min(0.0, after - before) for before, after in pairwise(s))
    by_steps = math.fsum(v / f for v, f in zip(s, curve.steps, strict=True))
    # Off-policy algorithms act for a while before their first optimiser step.
    by_optimiser = math.fsum(v / o for v, o in zip(s, curve.optimiser_steps, strict=True) if o)
    return {
        "strength": total / len(s),
        "max_strength": max(s),
        "final_strength": s[-1],
        SCORE: total_reward_ma(curve.returns),
        "sample_efficiency": by_steps / total if total else None,
        "training_efficiency": by_optimiser / total if total else None,
        "stability": 1.0 - abs(drops / total) if total else None,
    }


def consistency(curves: Sequence[ReturnCurve], baseline: float) -> float | None:
    """How alike several seeds are: 1 when all have the same curve. None for a single seed."""
    if len(curves) < 2:
        return None
    spread, level = 0.0, 0.0
    for returns in zip(*(curve.returns for curve in curves), strict=False):  # as far as all of them go
        values = [value - baseline for value in returns]
        mean = fmean(values)
        spread += math.sqrt(fmean((v - mean) ** 2 for v in values))
        level += mean
    return None if level == 0.0 else 1.0 - 2.0 * spread / level
