"""Run metrics against cases that can be worked out by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.experiment.run.metrics import ReturnCurve, consistency, run_metrics
from genelab.experiment.run.summary import measure_baseline

CURVE = ReturnCurve(returns=[3.0, 5.0, 4.0], steps=[10, 20, 30], optimiser_steps=[1, 2, 3])


def test_strengths_are_returns_above_the_random_baseline() -> None:
    metrics = run_metrics(CURVE, baseline=1.0)  # s = 2, 4, 3
    assert metrics["strength"] == pytest.approx(3.0)
    assert metrics["max_strength"] == pytest.approx(4.0)
    assert metrics["final_strength"] == pytest.approx(3.0)


def test_the_moving_average_is_of_returns_and_not_of_strengths() -> None:
    assert run_metrics(CURVE, baseline=1.0)["total_reward_ma"] == pytest.approx(4.0)
    long = ReturnCurve(returns=[0.0] * 50 + [1.0] * 100, steps=range(1, 151), optimiser_steps=range(1, 151))
    assert run_metrics(long, baseline=0.0)["total_reward_ma"] == pytest.approx(1.0)


def test_efficiencies_weigh_strength_by_what_it_cost() -> None:
    metrics = run_metrics(CURVE, baseline=1.0)
    assert metrics["sample_efficiency"] == pytest.approx((2 / 10 + 4 / 20 + 3 / 30) / 9)
    assert metrics["training_efficiency"] == pytest.approx((2 / 1 + 4 / 2 + 3 / 3) / 9)


def test_stability_counts_only_what_was_lost() -> None:
    assert run_metrics(CURVE, baseline=1.0)["stability"] == pytest.approx(1 - 1 / 9)


def test_a_vanishing_sum_of_strengths_has_no_ratios() -> None:
    metrics = run_metrics(ReturnCurve(returns=[1.0, 1.0], steps=[1, 2], optimiser_steps=[1, 2]), baseline=1.0)
    assert metrics["sample_efficiency"] is None
    assert metrics["stability"] is None


def test_equal_seeds_are_perfectly_consistent() -> None:
    assert consistency([CURVE, CURVE], baseline=1.0) == pytest.approx(1.0)


def test_consistency_falls_with_the_spread_over_seeds() -> None:
    low, high = (ReturnCurve(returns=[v, v], steps=[1, 2], optimiser_steps=[1, 2]) for v in (1.0, 3.0))
    assert consistency([low, high], baseline=0.0) == pytest.approx(1 - 2 * 2.0 / 4.0)  # std 1 and mean 2, twice
    assert consistency([low], baseline=0.0) is None


def test_the_random_baseline_is_measured_in_the_environment_that_the_run_changed(
    train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    train_tiny(tmp_path / "run", agent__max_iterations=1, env__rewards__alive__weight=100.0)
    usual, changed = (measure_baseline(directory)["return_mean"] for directory in (trained_run, tmp_path / "run"))
    assert changed > 5.0 * usual


def test_checkpoints_before_the_first_optimiser_step_have_no_training_efficiency() -> None:
    curve = ReturnCurve(returns=[1.0, 2.0, 3.0], steps=[10, 20, 30], optimiser_steps=[0, 1, 2])
    assert run_metrics(curve, baseline=0.0)["training_efficiency"] == pytest.approx((2 / 1 + 3 / 2) / 6)
