"""Ranges of config values: declared beside the field, checked before anything is built, shown by `genelab info`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nan
from typing import Annotated, Any

import pytest

from genelab import mdp
from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.overrides import apply, validate
from genelab.core.ranges import Count, Interval, NonNegative, Positive, Range, Share, Sizes, rules_of
from genelab.core.stored_config import from_dict
from genelab.envs import ManagerBasedRlEnv, RewardTermCfg
from genelab.experiment.setup import resolve
from genelab.experiment.train import TrainRequest, resolve_training

PENDULUM = "GeneLab-Inverted-Pendulum-v0"
MEMORY = "GeneLab-Inverted-Pendulum-Memory-v0"
GO1 = "Genelab-Velocity-Rough-Unitree-Go1-v0"
FRANKA = "GeneLab-Franka-Pick-And-Place-v0"


@dataclass(kw_only=True)
class Leg:
    stiffness: Positive = 1.0
    free: float = 0.0
    bound: Annotated[float, Range(infinite=True)] = inf
    share: Share | None = None
    layers: Sizes = (8,)
    limits: Interval = (0.0, 1.0)
    strides: dict[str, tuple[NonNegative, Count]] = field(default_factory=lambda: {"fast": (0.5, 2)})
    params: dict[str, Any] = field(default_factory=lambda: {"gain": 1.0, "axis": (0.0, 1.0)})


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("leg.stiffness", 0.0, "leg.stiffness must be positive, not 0.0"),
        ("leg.free", nan, "leg.free must be a finite number, not nan"),
        ("leg.free", -inf, "leg.free must be a finite number, not -inf"),
        ("leg.free", 1e39, "leg.free must be a finite number, not 1e+39"),
        ("leg.bound", nan, "leg.bound must be a finite number, not nan"),
        ("leg.share", 1.5, "leg.share must be at most 1, not 1.5"),
        ("leg.layers", (), "leg.layers must have at least one value, not ()"),
        ("leg.layers", (8, 0), "leg.layers[1] must be at least 1, not 0"),
        ("leg.layers", (10**9,), "leg.layers[0] must be at most 8192, not 1000000000"),
        ("leg.limits", (1.0, 0.5), "leg.limits must be a lower and an upper end, not 1.0,0.5"),
        ("leg.limits", (nan, 0.5), "leg.limits[0] must be a finite number, not nan"),
        ("leg.strides.fast", (-1.0, 2), "leg.strides.fast[0] must be at least 0, not -1.0"),
        ("leg.strides.fast", (1.0, 0), "leg.strides.fast[1] must be at least 1, not 0"),
        ("leg.params.gain", inf, "leg.params.gain must be a finite number, not inf"),
        ("leg.params.axis", (0.0, nan), "leg.params.axis[1] must be a finite number, not nan"),
    ],
)
def test_a_value_outside_of_its_range_is_an_error_that_names_path_and_bound(path: str, value: Any, said: str) -> None:
    roots = {"leg": Leg()}
    apply(roots, [(path, value)])
    with pytest.raises(UserError) as error:
        validate(roots)
    assert str(error.value) == said


def test_values_at_the_ends_of_their_ranges_are_accepted_and_infinity_where_it_is_declared() -> None:
    validate({"leg": Leg(share=1.0, bound=-inf, layers=(1, 8192), limits=(1.0, 1.0), strides={"slow": (0.0, 1)})})


def test_a_config_with_ranges_survives_the_round_trip_through_plain_data() -> None:
    leg = Leg(share=0.5, layers=(4, 2))
    assert from_dict(Leg, to_dict(leg, Leg)) == leg


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (float, ""),
        (Positive, "above 0"),
        (NonNegative, "at least 0"),
        (Share | None, "0 to 1"),
        (Sizes, "each 1 to 8192, at least one"),
        (Interval, "lower end first"),
        (Count, "1 to 1,000,000,000"),
    ],
)
def test_rules_read_as_words(declared: Any, words: str) -> None:
    assert rules_of(declared) == words


def pulled(env: ManagerBasedRlEnv, width: Positive = 1.0) -> Any:
    """A user's reward with a range of its own."""
    return mdp.alive(env) * width


def test_a_parameter_of_a_term_has_the_range_that_its_function_declares() -> None:
    with pytest.raises(UserError, match=r"rewards\.pulled\.params\.width must be positive, not -1"):
        validate({"rewards": {"pulled": RewardTermCfg(pulled, weight=1.0, params={"width": -1.0})}})


MISTAKES = [
    (PENDULUM, "agent.algorithm.gamma", "2", "agent.algorithm.gamma must be at most 1, not 2.0"),
    (PENDULUM, "agent.algorithm.clip_param", "-1", "agent.algorithm.clip_param must be positive, not -1.0"),
    (PENDULUM, "agent.actor.distribution.std_range", "1,.1", "std_range must be a lower and an upper end"),
    (PENDULUM, "agent.actor.hidden_dims", "()", "agent.actor.hidden_dims must have at least one value"),
    (PENDULUM, "agent.actor.hidden_dims", "1000000000", "agent.actor.hidden_dims[0] must be at most 8192"),
    (PENDULUM, "agent.algorithm.num_mini_batches", "97", "must be at most 96, not 97: there are 96 samples"),
    (MEMORY, "agent.algorithm.num_mini_batches", "5", "must be at most 4, not 5: there are 4 worlds"),
    (PENDULUM, "env.episode_length_s", "-1", "env.episode_length_s must be positive, not -1.0"),
    (PENDULUM, "env.episode_length_s", "inf", "env.episode_length_s must be a finite number, not inf"),
    (PENDULUM, "env.simulation.dt", "inf", "env.simulation.dt must be a finite number, not inf"),
    (PENDULUM, "env.rewards.alive.weight", "nan", "env.rewards.alive.weight must be a finite number, not nan"),
    (PENDULUM, "env.events.jitter.params.pos", "nan", "env.events.jitter.params.pos must be a finite number"),
    (PENDULUM, "env.observations.policy.terms.joint_pos.noise", "-1", "joint_pos.noise must be at least 0"),
    (PENDULUM, "env.scene.robots.robot.pos", "0,0,nan", "env.scene.robots.robot.pos[2] must be a finite number"),
    (PENDULUM, "env.camera", "nope", "env.camera would have no effect: training makes no pictures"),
    (GO1, "env.scene.terrain.sizes.gaps", "1,2", "sizes.gaps would have no effect: no column of the terrain has gaps"),
    (GO1, "env.scene.terrain.horizontal", "1e-5", "env.scene.terrain.horizontal is too small"),
    (FRANKA, "agent.off_policy.buffer_size", "10000000000", "agent.off_policy.buffer_size must be at most 100,000,000"),
]


@pytest.mark.parametrize(("task", "path", "value", "said"), MISTAKES, ids=[f"{m[1]}={m[2]}" for m in MISTAKES])
def test_a_value_that_cannot_be_trained_with_is_an_error_before_anything_is_built(
    task: str, path: str, value: str, said: str
) -> None:
    overrides = [("env.num_envs", "4"), (path, value)]
    if task != FRANKA:
        overrides.append(("agent.num_steps_per_env", "24"))
    with pytest.raises(UserError) as error:
        resolve_training(TrainRequest(task, overrides))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_absurdly_many_worlds_are_an_error_not_out_of_memory() -> None:
    with pytest.raises(UserError, match=r"env\.num_envs must be at most 1,000,000, not 1000000000000"):
        resolve(PENDULUM, overrides=[("env.num_envs", "1000000000000")])


def test_mini_batches_of_another_library_are_checked_too() -> None:
    overrides = [("env.num_envs", "2"), ("agent.on_policy.num_steps", "4"), ("agent.on_policy.num_mini_batches", "9")]
    with pytest.raises(UserError, match="must be at most 8, not 9: there are 8 samples in a rollout"):
        resolve_training(TrainRequest(PENDULUM, overrides, backend="skrl"))


def test_an_unknown_camera_is_an_error_when_the_environment_is_built() -> None:
    setup = resolve(PENDULUM, play=True, overrides=[("env.camera", "robot/sde"), ("env.num_envs", "1")])
    with pytest.raises(UserError, match=r"unknown camera 'robot/sde' .*robot/side"):
        ManagerBasedRlEnv(setup.env_cfg)


def test_info_shows_ranges(cli: Callable[..., Any]) -> None:
    shown = cli("info", PENDULUM, "--overrides").out
    assert re.search(r"--agent\.algorithm\.gamma +float +0 to 1 +0\.99$", shown, re.MULTILINE)
    assert re.search(r"list of int +each 1 to 8192, at least one ", shown)
