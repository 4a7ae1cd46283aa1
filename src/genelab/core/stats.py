"""Means with confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
_T975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


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
    degrees = n - 1
    # Beyond the table: the first terms of the expansion of t around the normal quantile z.
    z = 1.959964
    expansion = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    t = _T975[degrees - 1] if degrees <= len(_T975) else expansion
    return Summary(mean, std, t * std / math.sqrt(n), n)
