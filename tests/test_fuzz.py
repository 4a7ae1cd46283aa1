"""A sample of the fuzz attack: values that are accepted train, and are read."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from attacks import fuzz
from genelab.core.registry import find
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg

PENDULUM = "GeneLab-Inverted-Pendulum-v0"
GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
FRANKA = "GeneLab-Franka-Pick-And-Place-v0"


def test_fuzzed_overrides_train_or_are_refused_in_one_line() -> None:
    trials = list(fuzz.run(count=8, seed=0))
    assert not [str(trial) for trial in trials if trial.outcome == "broke"]
    assert sum(trial.outcome == "passed" for trial in trials) == 8


def test_the_same_seed_draws_the_same_overrides() -> None:
    assert [trial.what for trial in fuzz.run(2, seed=3)] == [trial.what for trial in fuzz.run(2, seed=3)]


FOUND = [
    (FRANKA, "sb3", "agent.obs_groups", "()", "agent.obs_groups has no group but the goals"),
    (PENDULUM, "sb3", "agent.obs_groups", "()", "agent.obs_groups is empty"),
    (PENDULUM, "rsl_rl", "env.scene.robots.robot.params.cart_size", "()", "cart_size expects 3 values"),
    (PENDULUM, "rsl_rl", "env.scene.robots.robot.params.pole_mass", "-1", "pole_mass[0] must be positive"),
    (PENDULUM, "rsl_rl", "env.scene.robots.robot.params.pole_mass", "1,2", "every pole needs its own value"),
    (GO1, "rsl_rl", "env.scene.sensors.thighs.sides", "robot/FR_tigh", "(did you mean 'robot/FR_thigh'?)"),
    (GO1, "rsl_rl", "env.scene.sensors.feet.other_kind", "body", "unknown body as other of sensor 'feet' 'ground'"),
]


@pytest.mark.parametrize(("task", "backend", "path", "value", "said"), FOUND, ids=[f"{f[2]}={f[3]}" for f in FOUND])
def test_what_the_attack_has_broken_is_refused(task: str, backend: str, path: str, value: str, said: str) -> None:
    trial = fuzz.attempt(task, backend, path, value)
    assert trial.outcome == "refused", trial.said
    assert said in trial.said


@pytest.mark.parametrize("backend", ["rsl_rl", "skrl", "sb3"])
def test_a_training_reads_every_setting_that_it_accepts(backend: str) -> None:
    assert fuzz.unread(PENDULUM, backend) == set()


@dataclass(kw_only=True)
class WithIdleField(RslRlOnPolicyRunnerCfg):
    idle: int = 1
    """Nothing reads this."""


def test_the_attack_finds_a_setting_that_nothing_reads(offer: Callable[[object], None]) -> None:
    agents = {"rsl_rl": f"{__name__}:WithIdleField"}
    offer(replace(find(PENDULUM), id="Test-Idle-v0", agents=agents, presets=None))
    assert fuzz.unread("Test-Idle-v0", "rsl_rl") == {"agent.idle"}
