"""Intervals and tests, against answers that are known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genelab.core.stats import (
    bootstrap_means,
    holm,
    interquartile_mean,
    interval,
    mcnemar_p,
    permutation_p,
    summarize,
    tost_p,
)

# Some libraries switch subnormal numbers off for the whole process: then the smallest of them are zero.
p_values = st.lists(st.floats(0.0, 1.0, allow_subnormal=False), min_size=1, max_size=20)
samples = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=2, max_size=9).map(np.array)


@pytest.mark.parametrize("draw", ["normal", "exponential"])
def test_the_bootstrap_interval_covers_the_true_mean_as_often_as_it_says(draw: str) -> None:
    rng = np.random.default_rng(0)
    true = {"normal": 0.0, "exponential": 1.0}[draw]
    covered = 0
    for trial in range(400):
        low, high = interval(bootstrap_means(getattr(rng, draw)(size=32), seed=trial, resamples=1000))
        covered += low <= true <= high
    assert 0.90 <= covered / 400 <= 0.98


def test_the_bootstrap_of_equal_differences_has_no_width() -> None:
    assert interval(bootstrap_means(np.full(8, 2.5))) == (2.5, 2.5)


def test_the_width_of_the_bootstrap_is_that_of_the_standard_error() -> None:
    differences = np.random.default_rng(1).normal(size=200)
    low, high = interval(bootstrap_means(differences))
    assert high - low == pytest.approx(2 * 1.96 * differences.std(ddof=1) / math.sqrt(200), rel=0.05)


def test_a_small_permutation_test_counts_all_ways_to_flip_signs() -> None:
    # Of the eight means of ±1 ±2 ±3 only +6 and -6 are as far from nought as 6.
    assert permutation_p(np.array([1.0, 2.0, 3.0])) == 2 / 8
    # 4 = 1 - 0 + 3 …: +1+2+3, -1+2+3 and their opposites reach 4.
    assert permutation_p(np.array([-1.0, 2.0, 3.0])) == 4 / 8
    assert permutation_p(np.zeros(3)) == 1.0
    assert permutation_p(np.array([2.0])) == 1.0  # one pair has a metric: its two signs are equally far from zero


def test_a_sampled_permutation_test_agrees_with_the_exact_one() -> None:
    differences = np.random.default_rng(2).normal(0.5, 1.0, size=12)
    exact = permutation_p(differences)
    sampled = permutation_p(np.tile(differences, 1), resamples=4000)  # fewer than 2^12 ways: a sample
    assert sampled == pytest.approx(exact, abs=0.02)


def test_holm_of_a_textbook_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(p_values)
def test_holm_is_between_no_correction_and_bonferroni_and_keeps_the_order(values: list[float]) -> None:
    adjusted = holm(values)
    for p, q in zip(values, adjusted, strict=True):
        assert p <= q <= min(1.0, len(values) * p) + 1e-12
    order = np.argsort(values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_mcnemar_is_an_exact_binomial_test_of_the_pairs_that_differ() -> None:
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(0, 5) == pytest.approx(2 / 32)
    assert mcnemar_p(2, 8) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert mcnemar_p(5, 5) == 1.0


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_does_not_depend_on_which_engine_is_first(a: int, b: int) -> None:
    assert mcnemar_p(a, b) == mcnemar_p(b, a)
    assert 0.0 < mcnemar_p(a, b) <= 1.0


def test_tost_shows_equivalence_only_within_the_margin_and_with_enough_episodes() -> None:
    rng = np.random.default_rng(3)
    many, few = bootstrap_means(rng.normal(0.0, 1.0, size=400)), bootstrap_means(rng.normal(0.0, 1.0, size=4))
    assert tost_p(many, margin=0.5) < 0.05
    assert tost_p(few, margin=0.5) > 0.05
    assert tost_p(bootstrap_means(rng.normal(1.0, 1.0, size=400)), margin=0.5) > 0.95


@given(samples, st.floats(1e-3, 1e3))
def test_tost_agrees_with_the_ninety_per_cent_interval(differences: np.ndarray, margin: float) -> None:
    means = bootstrap_means(differences, resamples=999)
    low, high = interval(means, 0.90)
    if tost_p(means, margin) < 0.045:
        assert -margin < low
        assert high < margin
    if tost_p(means, margin) > 0.055:
        assert not (-margin < low and high < margin)


@given(samples)
def test_the_sign_of_all_differences_does_not_matter_to_the_permutation_test(differences: np.ndarray) -> None:
    assert permutation_p(differences) == permutation_p(-differences)


def test_an_interval_of_known_values() -> None:
    stats = summarize([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert stats.mean == 5.0
    assert stats.std == pytest.approx(2.13809)
    assert stats.ci95 == pytest.approx(2.364624 * 2.13809 / 8**0.5, rel=1e-5)
    assert stats.n == 8


@pytest.mark.parametrize(("n", "t"), [(2, 12.7062), (31, 2.04227), (32, 2.03951), (100, 1.98422), (1000, 1.96234)])
def test_the_quantile_of_the_interval_is_that_of_students_t(n: int, t: float) -> None:
    stats = summarize([float(i) for i in range(n)])
    assert stats.ci95 * n**0.5 / stats.std == pytest.approx(t, rel=1e-5)


def test_one_value_has_an_interval_of_zero_width() -> None:
    stats = summarize([3.0])
    assert (stats.mean, stats.std, stats.ci95, stats.n) == (3.0, 0.0, 0.0, 1)


def test_the_interquartile_mean_leaves_out_the_lowest_and_the_highest_quarter():
    mean, (low, high) = interquartile_mean([0.0, 2.0, 3.0, 100.0])
    assert mean == 2.5
    assert 0.0 <= low < mean < high <= 100.0
    assert interquartile_mean([3.0, 3.0]) == (3.0, (3.0, 3.0))
    assert interquartile_mean([7.0]) == (7.0, (7.0, 7.0))
