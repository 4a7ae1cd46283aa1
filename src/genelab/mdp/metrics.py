"""Metrics.  All return (N,)."""

import torch
from torch import Tensor

from genelab.envs.terms import Env, JointRef, OwnerRef


def joint_abs(env: Env, joint: JointRef, entity: OwnerRef = None) -> Tensor:
    """Distance of a joint from zero, m or rad."""
    return (entity or env.robot).joint_pos[:, joint].abs()


def lin_vel_error(env: Env, command: str, entity: OwnerRef = None) -> Tensor:
    """Distance of the horizontal velocity from a velocity command, m/s.  (N,)"""
    return (env.command_manager[command][:, :2] - (entity or env.robot).root_lin_vel[:, :2]).norm(dim=1)


def ang_vel_error(env: Env, command: str, entity: OwnerRef = None) -> Tensor:
    """Distance of the yaw rate from a velocity command, rad/s.  (N,)"""
    return (env.command_manager[command][:, 2] - (entity or env.robot).root_ang_vel[:, 2]).abs()


def commanded_speed(env: Env, command: str) -> Tensor:
    """Horizontal speed that a velocity command asks for, m/s.  (N,)"""
    return env.command_manager[command][:, :2].norm(dim=1)


def achieved_speed(env: Env, command: str, entity: OwnerRef = None) -> Tensor:
    """Horizontal speed in the direction that a velocity command asks for, m/s; 0 where it asks for none.  (N,)"""
    direction = torch.nn.functional.normalize(env.command_manager[command][:, :2])
    return ((entity or env.robot).root_lin_vel[:, :2] * direction).sum(dim=1)
