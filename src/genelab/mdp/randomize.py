"""Domain randomisation: events that give worlds their own physical parameters.

Draws start from the compiled scene's values, so that an event that runs again replaces its last draw.
"""

import re
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.ranges import NonNegative
from genelab.engines.fields import nominal
from genelab.envs.entity import Entity
from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import BodyRefs, EntityRef
from genelab.mdp.events import stream_of


def randomize_friction(
    env: ManagerBasedRlEnv, env_ids: Tensor, geoms: str, low: NonNegative, high: NonNegative
) -> None:
    """Sliding friction U(low, high), one value per world for all geoms of the scene whose name matches."""
    model = env.scene.model
    ids = [i for i in range(model.ngeom) if re.fullmatch(geoms, model.geom(i).name)]
    if not ids:
        raise UserError(f"no geom of the scene matches '{geoms}'")
    columns = (torch.tensor(ids, device=env.device), 0)
    _randomize(env, env_ids, "geom_friction", columns, "set", low, high, shared=True)


def randomize_mass(
    env: ManagerBasedRlEnv,
    env_ids: Tensor,
    bodies: BodyRefs,
    low: float,
    high: float,
    operation: Literal["add", "scale"] = "add",
    entity: EntityRef | None = None,
) -> None:
    """Mass of bodies plus or times U(low, high)."""
    changed = entity or env.robot
    ids = _columns(env, changed.layout.body_ids)[bodies]
    _randomize(env, env_ids, "body_mass", ids, operation, low, high, changed)


def randomize_com(
    env: ManagerBasedRlEnv,
    env_ids: Tensor,
    bodies: BodyRefs,
    offset: tuple[NonNegative, NonNegative, NonNegative],
    entity: EntityRef | None = None,
) -> None:
    """Centre of mass moved by U(-offset, offset) along each axis of the body, metres."""
    changed = entity or env.robot
    ids = _columns(env, changed.layout.body_ids)[bodies]
    for axis, half_width in enumerate(offset):
        _randomize(env, env_ids, "body_com", (ids, axis), "add", -half_width, half_width, changed)


def randomize_gains(
    env: ManagerBasedRlEnv, env_ids: Tensor, low: NonNegative, high: NonNegative, entity: EntityRef | None = None
) -> None:
    """Stiffness and damping of all servos, each times its own U(low, high)."""
    changed = entity or env.robot
    ids = _columns(env, changed.layout.actuator_ids)
    for field in ("actuator_kp", "actuator_kd"):
        _randomize(env, env_ids, field, ids, "scale", low, high, changed)


def randomize_armature(
    env: ManagerBasedRlEnv, env_ids: Tensor, low: NonNegative, high: NonNegative, entity: EntityRef | None = None
) -> None:
    """Rotor inertia of all hinges and slides, each times its own U(low, high)."""
    changed = entity or env.robot
    ids = _columns(env, changed.layout.qvel_ids)
    _randomize(env, env_ids, "joint_armature", ids, "scale", low, high, changed)


def randomize_gravity(env: ManagerBasedRlEnv, env_ids: Tensor, low: NonNegative, high: NonNegative) -> None:
    """Strength of gravity times U(low, high)."""
    _randomize(env, env_ids, "gravity", ..., "scale", low, high, shared=True)


def randomize_encoder_bias(
    env: ManagerBasedRlEnv, env_ids: Tensor, half_width: NonNegative, entity: EntityRef | None = None
) -> None:
    """Encoders show joint positions with a constant error of U(-half_width, half_width) each."""
    changed = entity or env.robot
    changed.refuse_ball_joints("randomize_encoder_bias")
    joints = len(changed.joint_names)
    if changed.encoder_bias is None:
        changed.encoder_bias = torch.zeros(env.num_envs, joints, device=env.device)
    stream = stream_of(env, "event/encoder_bias", changed)
    changed.encoder_bias[env_ids] = env.streams.uniform(stream, (len(env_ids), joints), -half_width, half_width)


def _columns(env: ManagerBasedRlEnv, ids: np.ndarray) -> Tensor:
    return torch.tensor(ids, device=env.device)


def _randomize(
    env: ManagerBasedRlEnv,
    env_ids: Tensor,
    field: str,
    columns: Any,
    operation: Literal["set", "add", "scale"],
    low: float,
    high: float,
    entity: Entity | None = None,
    shared: bool = False,
) -> None:
    """Draw U(low, high) for some columns of a model field, one value for all of them if `shared`."""
    env.engine.require(field, "the event")
    values = env.engine.model_field(field)[env_ids]
    compiled = nominal(env.scene.model, field).to(env.device)[columns]
    shape = (len(env_ids), *(1,) * compiled.dim()) if shared else (len(env_ids), *compiled.shape)
    draw = env.streams.uniform(stream_of(env, f"event/{field}", entity or env.robot), shape, low, high)
    drawn = {"set": draw, "add": compiled + draw, "scale": compiled * draw}[operation]
    values[(slice(None), *(columns if isinstance(columns, tuple) else (columns,)))] = drawn
    env.engine.set_model_field(field, env_ids, values)
