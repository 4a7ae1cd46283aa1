"""Means with confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """Mean, sample standard deviation and half-width of the 95 % confidence interval of the mean."""

    mean: float
    std: float
    ci95: float
    n: int


def summarize(values: Sequence[float]) -> Summary:
    """Student's t interval. One value has no spread: its interval is reported as zero width with n = 1."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Summary(mean, 0.0, 0.0, 1)
    std = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    from scipy.special import stdtrit  # takes a while to import, and most commands need no interval

    return Summary(mean, std, float(stdtrit(n - 1, 0.975)) * std / math.sqrt(n), n)
