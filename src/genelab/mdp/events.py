"""Events. Each changes the worlds `env_ids` and no others."""

import math

import torch
from torch import Tensor

from genelab.core.math import quat_from_axis_angle
from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import JointRef


def jitter_joints(env: ManagerBasedRlEnv, env_ids: Tensor, pos: float, vel: float) -> None:
    """Joints at their defaults plus U(-pos, pos), at velocities U(-vel, vel)."""
    shape = (len(env_ids), len(env.robot.joint_names))
    offset = env.streams.uniform("event/jitter_joints", shape, -pos, pos)
    velocity = env.streams.uniform("event/jitter_joints", shape, -vel, vel)
    env.robot.write_joints(env_ids, env.robot.default_joint_pos + offset, velocity)


def push_joint(env: ManagerBasedRlEnv, env_ids: Tensor, joint: JointRef, velocity: float) -> None:
    """Set one joint's velocity to U(-velocity, velocity)."""
    velocities = env.robot.joint_vel[env_ids]
    velocities[:, joint] = env.streams.uniform("event/push_joint", (len(env_ids),), -velocity, velocity)
    env.robot.write_joints(env_ids, vel=velocities)


def place_root(env: ManagerBasedRlEnv, env_ids: Tensor, xy: float, yaw: float = math.pi) -> None:
    """The root at its default pose in the middle of the world's cell, at rest.

    Moved by U(-xy, xy) in the plane, to the default height above the ground there, and turned by U(-yaw, yaw).
    """
    pos = env.robot.default_root_pose[:3] + env.spawn.origin[env_ids]
    draw = env.streams.uniform("event/place_root", (len(env_ids), 3), -1.0, 1.0)
    pos[:, :2] += xy * draw[:, :2]
    if env.terrain is not None:
        pos[:, 2] += env.terrain.height(pos) - env.spawn.origin[env_ids, 2]
    env.spawn.start[env_ids] = pos
    up = torch.tensor([0.0, 0.0, 1.0], device=env.device).expand(len(env_ids), 3)
    env.robot.write_root(env_ids, pos, quat_from_axis_angle(up, yaw * draw[:, 2]), torch.zeros_like(draw).repeat(1, 2))


def push_root(env: ManagerBasedRlEnv, env_ids: Tensor, xy: float, yaw: float) -> None:
    """Set the root's horizontal velocity to U(-xy, xy) and its yaw rate to U(-yaw, yaw)."""
    velocity = env.robot.root_vel[env_ids]
    draw = env.streams.uniform("event/push_root", (len(env_ids), 3), -1.0, 1.0)
    velocity[:, :2], velocity[:, 5] = xy * draw[:, :2], yaw * draw[:, 2]
    env.robot.write_root(env_ids, vel=velocity)
