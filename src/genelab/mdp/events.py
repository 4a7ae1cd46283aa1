"""Events. Each changes the worlds `env_ids` and no others."""

import math

import mujoco
import torch
from torch import Tensor

from genelab.core.math import quat_from_axis_angle
from genelab.core.ranges import CountOrZero, Interval, NonNegative
from genelab.envs.entity import Entity
from genelab.envs.terms import Env, JointRef, OwnerRef, StatefulTerm


def stream_of(env: Env, event: str, entity: Entity) -> str:
    """The random stream of an event: called after the event for the first robot, other entities have their own."""
    return event if entity is env.robot else f"{event}/{entity.name}"


def jitter_joints(env: Env, env_ids: Tensor, pos: NonNegative, vel: NonNegative, entity: OwnerRef = None) -> None:
    """Joints at their defaults plus U(-pos, pos), at velocities U(-vel, vel)."""
    moved = entity or env.robot
    moved.refuse_ball_joints("jitter_joints")
    shape, stream = (len(env_ids), len(moved.joint_names)), stream_of(env, "event/jitter_joints", moved)
    offset = env.streams.uniform(stream, shape, -pos, pos)
    velocity = env.streams.uniform(stream, shape, -vel, vel)
    moved.write_joints(env_ids, moved.default_joint_pos + offset, velocity)


class ScatterJoints(StatefulTerm):
    """Joints anywhere within their limits, at rest; hinges without limits at U(circle), in radians.

    Slides without limits stay at their defaults.
    """

    def __init__(self, env: Env, circle: Interval = (-math.pi, math.pi), entity: OwnerRef = None):
        self._entity = entity or env.robot
        self._entity.refuse_ball_joints("ScatterJoints")
        hinge = env.scene.model.jnt_type[self._entity.layout.joint_ids] == mujoco.mjtJoint.mjJNT_HINGE.value
        turns, limits = torch.from_numpy(hinge).to(env.device), self._entity.joint_limits
        free = torch.stack([torch.where(turns, end, self._entity.default_joint_pos) for end in circle], dim=1)
        self._low, high = torch.where(limits.isfinite(), limits, free).unbind(dim=1)
        self._width = high - self._low

    def __call__(self, env: Env, env_ids: Tensor) -> None:
        stream = stream_of(env, "event/scatter_joints", self._entity)
        draw = env.streams.uniform(stream, (len(env_ids), len(self._low)))
        self._entity.write_joints(env_ids, self._low + self._width * draw, torch.zeros_like(draw))


def start_nearer(env: Env, env_ids: Tensor, until: CountOrZero, entity: OwnerRef = None) -> None:
    """Bring joints nearer to zero by a random share of the way: U(0, 1) at first, nothing after `until` control steps.

    Where zero is the goal, a training first sees how to stay there, then how to come there from ever further away.
    """
    moved = entity or env.robot
    left = max(0.0, 1.0 - env.step_count / max(until, 1))
    share = env.streams.uniform(stream_of(env, "event/start_nearer", moved), (len(env_ids), 1), 0.0, left)
    moved.write_joints(env_ids, moved.joint_pos[env_ids] * (1.0 - share))


def push_joint(env: Env, env_ids: Tensor, joint: JointRef, velocity: NonNegative, entity: OwnerRef = None) -> None:
    """Set one joint's velocity to U(-velocity, velocity)."""
    pushed = entity or env.robot
    stream = stream_of(env, "event/push_joint", pushed)
    velocities = pushed.joint_vel[env_ids]
    velocities[:, joint] = env.streams.uniform(stream, (len(env_ids),), -velocity, velocity)
    pushed.write_joints(env_ids, vel=velocities)


def place_root(env: Env, env_ids: Tensor, xy: NonNegative, yaw: NonNegative = math.pi, entity: OwnerRef = None) -> None:
    """The root at its default pose in the middle of the world's cell, at rest.

    Moved by U(-xy, xy) in the plane, to the default height above the ground there, and turned by U(-yaw, yaw).
    """
    placed = entity or env.robot
    pos = placed.default_root_pose[:3] + env.spawn.origin[env_ids]
    draw = env.streams.uniform(stream_of(env, "event/place_root", placed), (len(env_ids), 3), -1.0, 1.0)
    pos[:, :2] += xy * draw[:, :2]
    if env.terrain is not None:
        pos[:, 2] += env.terrain.height(pos) - env.spawn.origin[env_ids, 2]
    if placed is env.robot:
        env.spawn.start[env_ids] = pos
    up = torch.tensor([0.0, 0.0, 1.0], device=env.device).expand(len(env_ids), 3)
    placed.write_root(env_ids, pos, quat_from_axis_angle(up, yaw * draw[:, 2]), torch.zeros_like(draw).repeat(1, 2))


def single_axis_command(env: Env, env_ids: Tensor, command: str) -> None:
    """Let a command ask for one of its axes only, drawn for each world, until it is drawn anew.

    Commands drawn in all axes at once almost never ask for a turn on the spot or a step straight back.
    """
    value = env.command_manager[command]
    draw = env.streams.uniform(f"event/single_axis_command/{command}", (len(env_ids),), 0.0, value.shape[1])
    others = torch.arange(value.shape[1], device=env.device) != draw.long().unsqueeze(1)
    value[env_ids] = value[env_ids].masked_fill(others, 0.0)


def push_root(
    env: Env,
    env_ids: Tensor,
    xy: NonNegative,
    yaw: NonNegative,
    z: NonNegative = 0.0,
    tilt: NonNegative = 0.0,
    entity: OwnerRef = None,
) -> None:
    """Set the root's horizontal velocity to U(-xy, xy) and its yaw rate to U(-yaw, yaw).

    With `z` and `tilt`, also its vertical velocity and its roll and pitch rates; at zero these stay what they are.
    """
    pushed = entity or env.robot
    velocity, stream = pushed.root_vel[env_ids], stream_of(env, "event/push_root", pushed)
    draw = env.streams.uniform(stream, (len(env_ids), 3), -1.0, 1.0)
    velocity[:, :2], velocity[:, 5] = xy * draw[:, :2], yaw * draw[:, 2]
    if z or tilt:
        draw = env.streams.uniform(stream, (len(env_ids), 3), -1.0, 1.0)
    if z:
        velocity[:, 2] = z * draw[:, 0]
    if tilt:
        velocity[:, 3:5] = tilt * draw[:, 1:]
    pushed.write_root(env_ids, vel=velocity)
