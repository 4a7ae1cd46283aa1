"""Domain randomisation: events that give worlds their own physical parameters.

Draws start from the compiled scene's values, so that an event that runs again replaces its last draw. Factors are
log-uniform, exp(U(log low, log high)): as many worlds have half as have twice.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.ranges import NonNegative, NonNegativeInterval, Positive, PositiveInterval, Share
from genelab.engines.fields import nominal
from genelab.envs.cfg import Latency
from genelab.envs.entity import Entity
from genelab.envs.terms import BodyRefs, Env, OwnerRef
from genelab.mdp.events import stream_of

Operation = Literal["set", "add", "scale"]


def randomize_friction(env: Env, env_ids: Tensor, geoms: str, low: NonNegative, high: NonNegative) -> None:
    """Sliding friction U(low, high), one value per world for all geoms of the scene whose name matches."""
    _Field(env, env_ids, "geom_friction").randomize((_geoms(env, geoms), 0), "set", low, high, shared=True)


def randomize_contacts(
    env: Env,
    env_ids: Tensor,
    geoms: str,
    time_constant: PositiveInterval,
    impedance: NonNegativeInterval,
    depth: NonNegativeInterval,
) -> None:
    """Softness of contacts, one draw per world for all geoms of the scene whose name matches.

    Their time constant (solref) times a log-uniform factor, their impedance at first touch (solimp) U(impedance), which
    rises to its full value over U(depth) metres. A contact has the mean of its two sides: name both.
    """
    ids = _geoms(env, geoms)
    _Field(env, env_ids, "geom_solref").randomize((ids, 0), "scale", *time_constant, shared=True)
    _Field(env, env_ids, "geom_solimp").randomize((ids, 0), "set", *impedance, shared=True)
    _Field(env, env_ids, "geom_solimp").randomize((ids, 2), "set", *depth, shared=True)


def randomize_contact_model(env: Env, env_ids: Tensor, share: Share, impratio: PositiveInterval) -> None:
    """Elliptic friction cones with a log-uniform impratio in a share of the worlds.

    Such a world takes up to 1.6 times as long to simulate, the more the higher its impratio.
    """
    cones, ratios = _Field(env, env_ids, "cone"), _Field(env, env_ids, "impratio")
    other = cones.draw((), 0.0, 1.0) < share
    drawn = ratios.factor((), *impratio)
    for field, values in ((cones, torch.ones_like(drawn)), (ratios, drawn)):
        field.write(..., "set", torch.where(other, values, field.compiled))


def randomize_mass(
    env: Env,
    env_ids: Tensor,
    bodies: BodyRefs,
    low: float,
    high: float,
    operation: Literal["add", "scale"] = "add",
    shared: bool = False,
    entity: OwnerRef = None,
) -> None:
    """Mass of bodies plus U(low, high) or times a log-uniform factor, each its own or all the same; inertia alike."""
    changed = entity or env.robot
    ids = torch.tensor(changed.layout.body_ids, device=env.device)[bodies]
    masses = _Field(env, env_ids, "body_mass", changed)
    draw = (masses.factor if operation == "scale" else masses.draw)((1,) if shared else ids.shape, low, high)
    masses.write(ids, operation, draw)
    if operation == "scale":
        _Field(env, env_ids, "body_inertia").write(ids, operation, draw.unsqueeze(-1))


def randomize_com(
    env: Env,
    env_ids: Tensor,
    bodies: BodyRefs,
    offset: tuple[NonNegative, NonNegative, NonNegative],
    entity: OwnerRef = None,
) -> None:
    """Centre of mass moved by U(-offset, offset) along each axis of the body, metres."""
    changed = entity or env.robot
    ids = torch.tensor(changed.layout.body_ids, device=env.device)[bodies]
    for axis, half_width in enumerate(offset):
        _Field(env, env_ids, "body_com", changed).randomize((ids, axis), "add", -half_width, half_width)


def randomize_gains(
    env: Env, env_ids: Tensor, low: Positive, high: Positive, shared: bool = False, entity: OwnerRef = None
) -> None:
    """Stiffness and damping of all servos, each times its own log-uniform factor, or all servos' times one of each."""
    changed = entity or env.robot
    for field in ("actuator_kp", "actuator_kd"):
        _Field(env, env_ids, field, changed).randomize(changed.layout.actuator_ids, "scale", low, high, shared)


def randomize_joints(
    env: Env,
    env_ids: Tensor,
    field: Literal["joint_armature", "joint_damping", "joint_friction"],
    low: Positive,
    high: Positive,
    shared: bool = False,
    entity: OwnerRef = None,
) -> None:
    """Rotor inertia, damping or dry friction of all joints, each times its own log-uniform factor, or all times one."""
    changed = entity or env.robot
    _Field(env, env_ids, field, changed).randomize(changed.layout.qvel_ids, "scale", low, high, shared)


def randomize_latency(env: Env, env_ids: Tensor, low: Latency, high: Latency) -> None:
    """Actions arrive `low` to `high` control steps late, each number as often, drawn for each action term."""
    for name, term in env.action_manager.terms.items():
        if term.cfg.latency[1] > 0:
            raise UserError(f"action '{name}' has a latency of its own, which every reset would draw again")
        term.draw_delay(env_ids, low, high)


def randomize_gravity(env: Env, env_ids: Tensor, low: Positive, high: Positive) -> None:
    """Strength of gravity times a log-uniform factor."""
    _Field(env, env_ids, "gravity").randomize(..., "scale", low, high, shared=True)


def randomize_encoder_bias(env: Env, env_ids: Tensor, half_width: NonNegative, entity: OwnerRef = None) -> None:
    """Encoders show joint positions with a constant error of U(-half_width, half_width) each."""
    changed = entity or env.robot
    changed.refuse_ball_joints("randomize_encoder_bias")
    joints = len(changed.joint_names)
    if changed.encoder_bias is None:
        changed.encoder_bias = torch.zeros(env.num_envs, joints, device=env.device)
    stream = stream_of(env, "event/encoder_bias", changed)
    changed.encoder_bias[env_ids] = env.streams.uniform(stream, (len(env_ids), joints), -half_width, half_width)


def _geoms(env: Env, pattern: str) -> Tensor:
    """Ids of the geoms of the scene whose name matches."""
    model = env.scene.model
    ids = [i for i in range(model.ngeom) if re.fullmatch(pattern, model.geom(i).name)]
    if not ids:
        raise UserError(f"no geom of the scene matches '{pattern}'")
    return torch.tensor(ids, device=env.device)


@dataclass
class _Field:
    """A model field of some worlds, drawn from the stream of the entity's field, or else the first robot's."""

    env: Env
    env_ids: Tensor
    name: str
    entity: Entity | None = None

    def __post_init__(self) -> None:
        self.env.engine.require(self.name, "the event")
        self.compiled = nominal(self.env.scene.model, self.name).to(self.env.device)

    def randomize(self, columns: Any, operation: Operation, low: float, high: float, shared: bool = False) -> None:
        """Draw for some columns, one value for all of them if `shared`."""
        shape = self.compiled[columns].shape
        draw = self.factor if operation == "scale" else self.draw
        self.write(columns, operation, draw((1,) * len(shape) if shared else shape, low, high))

    def draw(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        """U(low, high), of this shape for each world."""
        stream = stream_of(self.env, f"event/{self.name}", self.entity or self.env.robot)
        return self.env.streams.uniform(stream, (len(self.env_ids), *shape), low, high)

    def factor(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        """A log-uniform factor, of this shape for each world."""
        if low <= 0.0:
            raise UserError(f"the event draws factors of '{self.name}', so low must be above 0, not {low:g}")
        return self.draw(shape, math.log(low), math.log(high)).exp()

    def write(self, columns: Any, operation: Operation, draw: Tensor) -> None:
        """Set, move or scale some columns, from the compiled scene's values."""
        values, compiled = self.env.engine.model_field(self.name)[self.env_ids], self.compiled[columns]
        drawn = {"set": draw, "add": compiled + draw, "scale": compiled * draw}[operation]
        values[(slice(None), *(columns if isinstance(columns, tuple) else (columns,)))] = drawn
        self.env.engine.set_model_field(self.name, self.env_ids, values)
