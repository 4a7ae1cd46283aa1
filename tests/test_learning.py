"""Every algorithm of every RL library learns the inverted pendulum within its budget.  pytest -m slow"""

import importlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("skrl")
pytest.importorskip("stable_baselines3")

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark that compares the libraries, which is not part of the package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("backends")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "algorithm", "at_least"),
    [(backend, "PPO", 39.5) for backend in ("rsl_rl", "skrl", "sb3")]
    + [(backend, algorithm, 38.0) for backend in ("skrl", "sb3") for algorithm in ("SAC", "TD3", "DDPG")],
)
def test_the_inverted_pendulum_is_learnt(backends: Any, backend: str, algorithm: str, at_least: float):
    assert backends.learn(backend, algorithm, seed=1)["return_mean"] >= at_least
