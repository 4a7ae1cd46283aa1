"""What the tasks of the control suite share: times, actions, ends, and a part of many rewards."""

import importlib.util
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import mujoco
from torch import Tensor

from genelab import envs, mdp
from genelab.core.registry import NotInstalledError
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.scene.objects import marker
from genelab.scene.scene import EntityCfg, SceneCfg

EPISODE_STEPS = 1000
"""Control steps of every episode. A world ends early only when its physics fails."""
Call = Callable[..., Any]
"""A function, or a `partial` of one with the parameters that differ from its defaults."""
AnyTermCfg = TypeVar("AnyTermCfg", bound=envs.TermCfg)


def suite_task(
    model: str | Call,
    play: bool,
    times: tuple[float, int],
    observations: dict[str, Call],
    reward: Call,
    *,
    camera: str = "fixed",
    start: Call | None = mdp.ScatterJoints,
    sensors: tuple[str, ...] = (),
    target: tuple[envs.CommandTermCfg, float] | None = None,
    indicator: bool = False,
) -> ManagerBasedRlEnvCfg:
    """A task with a model of the suite, given by its name, a physics time step, seconds, and steps per control step.

    Episodes start with joints anywhere within their limits; with a `start` of None, in the model's own pose. A `target`
    is the command for its place, and its radius, metres. The reward of a control step is between 0 and 1. One that is
    an `indicator` is 1 where the task is done, and an episode that ends there is a success.
    """
    if isinstance(model, str):
        model = partial(suite_model, name=model, sensors=sensors, without=() if target is None else ("target",))
    (build, params), (dt, substeps), (place, radius) = split(model), times, target or (None, 0.0)
    robot, objects = EntityCfg(model=build, params=params), {} if place is None else {"target": marker(radius)}
    terms = {name: term(envs.ObservationTermCfg, call) for name, call in observations.items()}
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(robots={"robot": robot}, objects=objects, ground=None),
        simulation=envs.SimulationCfg(dt=dt),
        num_envs=64 if play else 2048,
        decimation=substeps,
        episode_length_s=EPISODE_STEPS * substeps * dt,
        actions={"controls": mdp.ActuatorActionCfg(clip=1.0)},
        commands={} if place is None else {"target": place},
        observations={"policy": envs.ObservationGroupCfg(terms=terms)},
        rewards={"reward": term(envs.RewardTermCfg, reward, weight=1.0)},
        terminations={"time_out": envs.DoneTermCfg(mdp.time_out, time_out=True)},
        events={} if start is None else {"start": term(envs.EventTermCfg, start)},
        success=envs.SuccessTermCfg(done) if indicator else None,
        scale_rewards_by_dt=False,
        camera=f"robot/{camera}",
    )


def variant(task: Call, doc: str, **settings: Any) -> Call:
    """The function of a task that differs from another in some settings."""

    def make(play: bool = False) -> ManagerBasedRlEnvCfg:
        return task(play, **settings)

    make.__doc__ = doc
    return make


def split(call: Call) -> tuple[Call, dict[str, Any]]:
    """The function of a call, and its parameters."""
    return (call.func, dict(call.keywords)) if isinstance(call, partial) else (call, {})


def term(cfg: type[AnyTermCfg], call: Call, **settings: Any) -> AnyTermCfg:
    """A term's config from a call."""
    func, params = split(call)
    return cfg(func, params=params, **settings)


def done(env: ManagerBasedRlEnv) -> Tensor:
    """The task's reward is 1 at the end of the episode.  (N,) bool"""
    return env.reward_manager.terms[0]() >= 1.0


def small_control(env: ManagerBasedRlEnv) -> Tensor:
    """1 for no control, 0.8 for controls at their limits.  (N,)"""
    return 1.0 - 0.2 * env.engine.ctrl.square().clamp(max=1.0).mean(dim=1)


def length(vectors: Tensor) -> Tensor:
    """Lengths of vectors (N, d), several times faster than torch's norm of so short ones.  (N,)"""
    return vectors.square().sum(dim=1).sqrt()


def body(env: ManagerBasedRlEnv, name: str) -> int:
    """Index of a body of the robot."""
    return env.robot.body_names.index(name)


def suite_model(name: str, sensors: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> mujoco.MjSpec:
    """A model of dm_control's control suite, with only those of its sensors that are named, without some shapes."""
    found = importlib.util.find_spec("dm_control")
    if found is None or found.submodule_search_locations is None:
        install = "pip install 'genelab[suite]'"
        raise NotInstalledError(f"the control suite needs the models of dm_control, which is not installed: {install}")
    folder = Path(found.submodule_search_locations[0]) / "suite"
    # MuJoCo warns of this attribute, and models that are put together in one world lose it.
    text = re.sub(r' settotalmass="[^"]*"', "", (folder / f"{name}.xml").read_text(encoding="utf-8"))
    parts = {f"./common/{path.name}": path.read_bytes() for path in (folder / "common").glob("*.xml")}
    spec = mujoco.MjSpec.from_string(text, include=parts)
    unread = [sensor for sensor in spec.sensors if sensor.name not in sensors]
    for part in (*unread, *(spec.geom(shape) or spec.site(shape) for shape in without)):
        spec.delete(part)
    return spec
