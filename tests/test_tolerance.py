"""`mdp.tolerance`, the primitive of the control suite's rewards."""

import math
from typing import get_args

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genelab.core.errors import UserError
from genelab.mdp import tolerance
from genelab.mdp.tolerance import Sigmoid

calmly = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIGMOIDS = get_args(Sigmoid)
ENDING = ("cosine", "linear", "quadratic")
numbers = st.floats(-100.0, 100.0)
margins = st.floats(0.01, 100.0)
values = st.floats(0.01, 0.99)
sigmoids = st.sampled_from(SIGMOIDS)
intervals = st.tuples(numbers, numbers).map(lambda ends: (min(ends), max(ends)))


def at(x: float, *args: object, **settings: object) -> float:
    return float(tolerance(torch.tensor(x, dtype=torch.float64), *args, **settings))  # type: ignore[arg-type]


@calmly
@given(intervals, st.floats(0.0, 1.0), margins, sigmoids, values)
def test_it_is_one_within_the_bounds(
    bounds: tuple[float, float], part: float, margin: float, sigmoid: str, value: float
) -> None:
    inside = min(max(bounds[0] + part * (bounds[1] - bounds[0]), bounds[0]), bounds[1])
    assert at(inside, bounds, margin, sigmoid, value) == 1.0
    assert at(inside, bounds) == 1.0


@calmly
@given(intervals, margins, sigmoids, values, st.sampled_from((-1.0, 1.0)))
def test_it_has_the_given_value_at_the_margin_on_both_sides(
    bounds: tuple[float, float], margin: float, sigmoid: str, value: float, side: float
) -> None:
    there = bounds[1] + margin if side > 0.0 else bounds[0] - margin
    assert at(there, bounds, margin, sigmoid, value) == pytest.approx(value, rel=1e-6, abs=1e-9)


@calmly
@given(st.lists(st.floats(0.0, 50.0), min_size=2, max_size=2), margins, sigmoids, values)
def test_it_falls_with_the_distance_and_stays_between_zero_and_one(
    distances: list[float], margin: float, sigmoid: str, value: float
) -> None:
    near, far = sorted(distances)
    results = [at(distance, (-1.0, 0.0), margin, sigmoid, value) for distance in (near, far)]
    assert 0.0 <= results[1] <= results[0] + 1e-12 <= 1.0 + 1e-12


@calmly
@given(numbers, margins, sigmoids, values)
def test_it_is_the_same_on_both_sides(x: float, margin: float, sigmoid: str, value: float) -> None:
    assert at(x, (-1.0, 1.0), margin, sigmoid, value) == pytest.approx(at(-x, (-1.0, 1.0), margin, sigmoid, value))


@calmly
@given(st.floats(1e-6, 1e6))
def test_without_a_margin_everything_outside_is_zero(distance: float) -> None:
    assert at(1.0 + distance, (0.0, 1.0)) == 0.0
    assert at(-distance, (0.0, 1.0)) == 0.0


@pytest.mark.parametrize("sigmoid", ENDING)
def test_some_sigmoids_can_reach_zero_and_stay_there(sigmoid: str) -> None:
    assert at(1.0, margin=1.0, sigmoid=sigmoid, value_at_margin=0.0) == pytest.approx(0.0, abs=1e-12)
    assert at(5.0, margin=1.0, sigmoid=sigmoid, value_at_margin=0.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("sigmoid", "expected"),
    [
        ("gaussian", 0.1**0.25),
        ("hyperbolic", 1.0 / math.cosh(0.5 * math.acosh(10.0))),
        ("long_tail", 1.0 / 3.25),
        ("reciprocal", 1.0 / 5.5),
        ("cosine", 0.5 + 0.5 * math.cos(0.5 * math.acos(-0.8))),
        ("linear", 0.55),
        ("quadratic", 0.775),
        ("tanh_squared", 1.0 - math.tanh(0.5 * math.atanh(math.sqrt(0.9))) ** 2),
    ],
)
def test_half_way_to_the_margin(sigmoid: str, expected: float) -> None:
    assert at(0.5, margin=1.0, sigmoid=sigmoid) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bounds": (1.0, 0.0)}, "lower bound"),
        ({"margin": -1.0}, "must not be negative"),
        ({"margin": 1.0, "sigmoid": "gausian"}, "did you mean 'gaussian'"),
        ({"margin": 1.0, "value_at_margin": 0.0}, "above 0"),
        ({"margin": 1.0, "value_at_margin": 1.0, "sigmoid": "linear"}, "below 1"),
    ],
)
def test_settings_that_make_no_sense_are_errors(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        at(0.0, **settings)
