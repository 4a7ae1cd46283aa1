"""Trainings that are killed and resumed end where they would have ended."""

import pytest

pytest.importorskip("skrl")
pytest.importorskip("stable_baselines3")

from attacks import kills


def test_killed_trainings_resume_to_the_same_weights_and_metrics() -> None:
    trials = list(kills.run(count=6, seed=0, trainings=("rsl_rl with evaluations", "skrl PPO", "sb3 TD3")))
    assert [str(trial) for trial in trials if trial.outcome != "passed"] == []
