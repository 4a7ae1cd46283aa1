"""Means with confidence intervals, and tests of paired differences. scipy, slow to import, is imported on use."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

RESAMPLES = 10_000


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
    from scipy.special import stdtrit

    return Summary(mean, std, float(stdtrit(n - 1, 0.975)) * std / math.sqrt(n), n)


def wilson(rate: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n cases. It has a width where the share is 0 or 1, too."""
    z = 1.959964
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1.0 - rate) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap_means(differences: np.ndarray, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """Means of resampled differences, (resamples,).

    Their spread is widened by sqrt(n / (n - 1)): without it a bootstrap's intervals of small samples are too narrow.
    """
    from scipy.stats import bootstrap

    n = len(differences)
    if n < 2:
        return np.full(resamples, differences.mean())
    drawn = bootstrap((differences,), np.mean, n_resamples=resamples, method="percentile", rng=seed)
    return differences.mean() + (drawn.bootstrap_distribution - differences.mean()) * math.sqrt(n / (n - 1))


def interval(means: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The central interval of bootstrap means."""
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def interquartile_mean(values: Sequence[float], seed: int = 0) -> tuple[float, tuple[float, float]]:
    """Mean of the middle half of the values, and its 95 % bootstrap interval (percentiles)."""
    from scipy.stats import bootstrap, trim_mean

    middle_half = partial(trim_mean, proportiontocut=0.25)
    mean = float(middle_half(values))
    if len(set(values)) == 1:
        return mean, (mean, mean)
    resampled = bootstrap((values,), middle_half, n_resamples=RESAMPLES, method="percentile", rng=seed)
    return mean, interval(resampled.bootstrap_distribution)


def permutation_p(differences: np.ndarray, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of a mean difference with signs flipped: all 2^n ways, or a sample of `resamples` of them."""
    from scipy.stats import permutation_test

    if len(differences) < 2:
        return 1.0  # either sign is as far from zero
    test = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=resamples, rng=seed)
    return float(test.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number (Holm's step-down): below 0.05 is significant at 5 % over the whole family."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value of McNemar's test, from the pairs in which only one of the two fell."""
    from scipy.stats import binomtest

    pairs = only_first + only_second
    return float(binomtest(only_first, pairs).pvalue) if pairs else 1.0


def tost_p(means: np.ndarray, margin: float) -> float:
    """P-value of two one-sided tests on bootstrap means: below 0.05 the difference is shown to be within the margin."""
    worse = max(int((means <= -margin).sum()), int((means >= margin).sum()))
    return (worse + 1) / (len(means) + 1)
