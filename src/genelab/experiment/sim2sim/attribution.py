"""Attribution: the source engine with one parameter moved at a time. What does it cost, and does it explain the gap?

Two engines differ by a *signature*: how velocities part in each open-loop script, and how every metric changes in
each paired episode, every part scaled to the size it has in the gap. A parameter explains the share of the gap's
signature that its own signature, scaled by one number, takes away; the number says how far it would have to move.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch

from genelab.core.stats import bootstrap_means, interval
from genelab.experiment.paired import PairedEnv
from genelab.experiment.sim2sim.closed_loop import Episodes
from genelab.experiment.sim2sim.open_loop import Motion

HORIZON = 25
"""Control steps of a script that count: later on, small differences have grown into chaos."""
CONES = {mujoco.mjtCone.mjCONE_PYRAMIDAL.value: "pyramidal", mujoco.mjtCone.mjCONE_ELLIPTIC.value: "elliptic"}
FLOOR = 0.01
"""Share of its own size below which no difference of a quantity counts as a large one."""


@dataclass(frozen=True)
class Move:
    """One parameter moved: model fields times `factor` plus a share of the joints' own inertia, or a setting."""

    parameter: str
    fields: tuple[str, ...] = ()
    factor: float = 1.0
    column: int | None = None
    """Which number of a field is moved; None: all."""
    inertia: float = 0.0
    dt_factor: float = 1.0
    latency: int = 0
    """Control steps."""
    simulation: tuple[tuple[str, Any], ...] = ()
    """Options of the physics, by name."""

    @property
    def contact(self) -> bool:
        """Whether it is about contacts only."""
        return bool(self.simulation) or any(name.startswith("geom_") for name in self.fields)

    @property
    def settings(self) -> dict[str, Any]:
        """What an environment has to be made with."""
        return {name: getattr(self, name) for name in ("dt_factor", "latency", "simulation")}

    @property
    def label(self) -> str:
        return f"{self.parameter} {self.amount(1.0)}"

    def amount(self, strength: float) -> str:
        """How far `strength` times this move goes."""
        if self.inertia:
            return f"+ {100 * strength * self.inertia:.3g} % of the joint's inertia"
        if self.latency:
            return f"+ {strength * self.latency:.3g} control steps"
        if self.simulation:
            return ", ".join(str(value) for _, value in self.simulation)
        factor = self.factor if self.fields else self.dt_factor
        return f"× {max(0.0, 1.0 + strength * (factor - 1.0)):.3g}"


_FIELD_MOVES = {
    "friction": (("geom_friction",), (0.7, 1.4)),
    "armature": (("joint_armature",), (0.5,)),
    "damping": (("joint_damping",), (0.5, 2.0)),
    "dry friction": (("joint_friction",), (0.5, 2.0)),
    "stiffness kp": (("actuator_kp",), (0.8, 1.25)),
    "servo damping kd": (("actuator_kd",), (0.8, 1.25)),
    "mass": (("body_mass", "body_inertia"), (0.8, 1.25)),
    "gravity": (("gravity",), (0.97, 1.03)),
}
HALF_DT = Move("dt", dt_factor=0.5)
MOVES = (
    *(Move(name, fields, factor) for name, (fields, factors) in _FIELD_MOVES.items() for factor in factors),
    Move("armature", ("joint_armature",), inertia=0.1),
    Move("contact time constant", ("geom_solref",), 2.0, column=0),
    Move("contact impedance at touch", ("geom_solimp",), 0.5, column=0),
    Move("contact depth of full impedance", ("geom_solimp",), 10.0, column=2),
    Move("friction cone", simulation=(("cone", "elliptic"),)),
    Move("impratio", simulation=(("impratio", 10.0),)),
    Move("impratio", simulation=(("impratio", 100.0),)),
    Move("friction cone and impratio", simulation=(("cone", "elliptic"), ("impratio", 100.0))),
    HALF_DT,
    Move("dt", dt_factor=2.0),
    Move("latency", latency=1),
)


def applicable(move: Move, env: PairedEnv) -> bool:
    """Whether a move changes anything here, in an engine that can do it."""
    engine, model = env.engine, env.scene.model
    if move.contact and not (model.geom_contype | model.geom_conaffinity).any():
        return False
    if move.simulation:
        now = {"cone": CONES[model.opt.cone], "impratio": model.opt.impratio}
        return any(now[name] != value for name, value in move.simulation)
    if not move.fields:
        return (env.cfg.decimation / move.dt_factor).is_integer()
    if not engine.capabilities.model_fields.issuperset(move.fields):
        return False
    return bool(move.inertia) or any(bool((engine.model_field(name) != 0.0).any()) for name in move.fields)


@contextmanager
def moved(env: PairedEnv, move: Move) -> Iterator[None]:
    """Model fields moved in all worlds, and back again."""
    engine = env.engine
    joints = np.concatenate([entity.qvel_ids for entity in env.scene.entities.values()])
    before = {name: engine.model_field(name) for name in move.fields}
    for name, values in before.items():
        changed = values.clone()
        changed[... if move.column is None else (..., move.column)] *= move.factor
        if move.inertia:
            own = torch.tensor(env.scene.model.dof_M0[joints], dtype=values.dtype, device=values.device)
            changed[:, joints] += move.inertia * own
        engine.set_model_field(name, env.worlds, changed)
    try:
        yield
    finally:
        for name, values in before.items():
            engine.set_model_field(name, env.worlds, values)


@dataclass(frozen=True)
class Behaviour:
    """How an engine behaved: by open-loop script, and in the paired episodes."""

    motions: dict[str, Motion]
    episodes: Episodes


def cost(source: Episodes, tried: Episodes, seed: int = 0) -> dict[str, Any]:
    """The return that a move costs over the same episodes, in per cent of the source's mean, with its interval."""
    before, after = source.values["return"], tried.values["return"]
    lost = 100.0 * (before - after) / max(1e-12, abs(float(before.mean())))
    return {
        "return_mean": float(after.mean()),
        "lost_percent": float(lost.mean()),
        "ci95": interval(bootstrap_means(lost, seed), 0.95),
        "falls": int(tried.fallen.sum()),
    }


def attribute(source: Behaviour, target: Behaviour, tried: dict[Move, Behaviour]) -> dict[str, Any]:
    """For each parameter its best move, what explains most of the gap first. ``size``: the gap over that of half dt."""
    weights = _weights(source, tried[HALF_DT])
    gap, half_dt = (_signature(source, other, weights) for other in (target, tried[HALF_DT]))
    sizes = {name: float(np.linalg.norm(part)) for name, part in gap.items()}
    size = max(sizes[name] / max(1e-12, float(np.linalg.norm(half_dt[name]))) for name in gap)
    gap = {name: part / sizes[name] for name, part in gap.items() if sizes[name] > 1e-9}
    best: dict[str, dict[str, Any]] = {}
    for move, behaviour in tried.items():
        parts = _signature(source, behaviour, weights)
        effect = {name: parts[name] / sizes[name] for name in gap}
        explained, strength = _explained(list(gap.values()), list(effect.values()))
        record = {
            "parameter": move.parameter,
            "tried": move.label,
            "explained": explained,
            "estimate": move.amount(strength) if explained > 0.0 else None,
            "strength": strength,
            "parts": {name: _explained([gap[name]], [effect[name]])[0] for name in gap},
        }
        if move.parameter not in best or explained > best[move.parameter]["explained"]:
            best[move.parameter] = record
    return {"size": size, "ranking": sorted(best.values(), key=lambda record: -record["explained"])}


def _explained(gap: list[np.ndarray], effect: list[np.ndarray]) -> tuple[float, float]:
    """Share of the gap that goes away when the effect is scaled as well as possible, and by what it is scaled."""
    if not gap:
        return 0.0, 0.0
    g, e = np.concatenate(gap), np.concatenate(effect)
    overlap, size = float(g @ e), float(e @ e)
    if overlap <= 0.0 or size == 0.0:  # no effect, or one that goes the other way
        return 0.0, 0.0
    return overlap**2 / (size * float(g @ g)), overlap / size


def _differences(source: Behaviour, other: Behaviour) -> dict[str, np.ndarray]:
    """By script (degrees of freedom, steps and worlds), and for the episodes (metrics, episodes)."""
    pairs = {name: (motion["qvel"], other.motions[name]["qvel"]) for name, motion in source.motions.items()}
    parts = {name: (b - a)[:HORIZON].reshape(-1, a.shape[2]).T for name, (a, b) in pairs.items()}
    ours, theirs = source.episodes.values, other.episodes.values
    return {**parts, "episodes": np.nan_to_num([theirs[name] - ours[name] for name in ours])}


def _weights(source: Behaviour, half_dt: Behaviour) -> dict[str, np.ndarray]:
    """One weight per row: what already differs at half the dt (a chattering contact) says little about parameters."""
    sizes = {name: motion["qvel"].std(axis=(0, 1)) for name, motion in source.motions.items()}
    values = np.nan_to_num(list(source.episodes.values.values()))
    sizes["episodes"] = np.maximum(values.std(axis=1), 1e-2 * np.abs(values.mean(axis=1)))
    noise = {name: np.sqrt((part**2).mean(axis=1)) for name, part in _differences(source, half_dt).items()}
    return {name: 1.0 / (noise[name] + FLOOR * sizes[name] + 1e-9) for name in sizes}


def _signature(source: Behaviour, other: Behaviour, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: (part * weights[name][:, None]).ravel() for name, part in _differences(source, other).items()}
