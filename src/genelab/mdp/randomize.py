"""Domain randomisation: events that give worlds their own physical parameters.

Draws start from the compiled scene's values, so that an event that runs again replaces its last draw.
"""

import re
from typing import Any, Literal

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.engines.fields import nominal
from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import BodyRefs


def randomize_friction(env: ManagerBasedRlEnv, env_ids: Tensor, geoms: str, low: float, high: float) -> None:
    """Sliding friction U(low, high), one value per world for all geoms whose name matches."""
    model = env.scene.model
    ids = [i for i in range(model.ngeom) if re.fullmatch(geoms, model.geom(i).name)]
    if not ids:
        raise UserError(f"no geom of the scene matches '{geoms}'")
    _randomize(env, env_ids, "geom_friction", (torch.tensor(ids), 0), "set", low, high, shared=True)


def randomize_mass(
    env: ManagerBasedRlEnv,
    env_ids: Tensor,
    bodies: BodyRefs,
    low: float,
    high: float,
    operation: Literal["add", "scale"] = "add",
) -> None:
    """Mass of bodies plus or times U(low, high)."""
    ids = torch.as_tensor(env.robot.layout.body_ids)[bodies]
    _randomize(env, env_ids, "body_mass", ids, operation, low, high)


def randomize_com(
    env: ManagerBasedRlEnv, env_ids: Tensor, bodies: BodyRefs, offset: tuple[float, float, float]
) -> None:
    """Centre of mass moved by U(-offset, offset) along each axis of the body, metres."""
    ids = torch.as_tensor(env.robot.layout.body_ids)[bodies]
    for axis, half_width in enumerate(offset):
        _randomize(env, env_ids, "body_com", (ids, axis), "add", -half_width, half_width)


def randomize_gains(env: ManagerBasedRlEnv, env_ids: Tensor, low: float, high: float) -> None:
    """Stiffness and damping of all servos, each times its own U(low, high)."""
    for field in ("actuator_kp", "actuator_kd"):
        _randomize(env, env_ids, field, ..., "scale", low, high)


def randomize_armature(env: ManagerBasedRlEnv, env_ids: Tensor, low: float, high: float) -> None:
    """Rotor inertia of all joints of the robot, each times its own U(low, high)."""
    ids = torch.as_tensor(env.robot.layout.qvel_ids)
    _randomize(env, env_ids, "joint_armature", ids, "scale", low, high)


def randomize_gravity(env: ManagerBasedRlEnv, env_ids: Tensor, low: float, high: float) -> None:
    """Strength of gravity times U(low, high)."""
    _randomize(env, env_ids, "gravity", ..., "scale", low, high, shared=True)


def randomize_encoder_bias(env: ManagerBasedRlEnv, env_ids: Tensor, half_width: float) -> None:
    """Encoders show joint positions with a constant error of U(-half_width, half_width) each."""
    robot = env.robot
    if robot.encoder_bias is None:
        robot.encoder_bias = torch.zeros(env.num_envs, len(robot.joint_names), device=env.device)
    shape = (len(env_ids), len(robot.joint_names))
    robot.encoder_bias[env_ids] = env.streams.uniform("event/encoder_bias", shape, -half_width, half_width)


def _randomize(
    env: ManagerBasedRlEnv,
    env_ids: Tensor,
    field: str,
    columns: Any,
    operation: Literal["set", "add", "scale"],
    low: float,
    high: float,
    shared: bool = False,
) -> None:
    """Draw U(low, high) for some columns of a model field, one value for all of them if `shared`."""
    env.engine.require(field, "the event")
    values = env.engine.model_field(field)[env_ids]
    compiled = nominal(env.scene.model, field).to(env.device)[columns]
    shape = (len(env_ids), *(1,) * compiled.dim()) if shared else (len(env_ids), *compiled.shape)
    draw = env.streams.uniform(f"event/{field}", shape, low, high)
    drawn = {"set": draw, "add": compiled + draw, "scale": compiled * draw}[operation]
    values[(slice(None), *(columns if isinstance(columns, tuple) else (columns,)))] = drawn
    env.engine.set_model_field(field, env_ids, values)
