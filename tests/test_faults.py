"""Faults of the environment end in one line or in the right result."""

import pytest

pytest.importorskip("skrl")
pytest.importorskip("stable_baselines3")

from attacks import faults


def test_no_fault_breaks_anything() -> None:
    trials = list(faults.run(count=len(faults.FAULTS), seed=0))
    assert [str(trial) for trial in trials if trial.outcome == "broke"] == []
