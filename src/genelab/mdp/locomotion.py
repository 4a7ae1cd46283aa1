"""Reward terms of legged robots that follow a velocity command.  All return (N,)."""

import torch
from torch import Tensor

from genelab.core.ranges import NonNegative, Positive
from genelab.envs.terms import ContactRef, Env, OwnerRef, SiteRefs, StatefulTerm


def track_lin_vel(env: Env, command: str, variance: Positive, entity: OwnerRef = None) -> Tensor:
    """exp(-error² / variance) of the horizontal velocity in the body frame."""
    error = env.command_manager[command][:, :2] - (entity or env.robot).root_lin_vel[:, :2]
    return torch.exp(-error.square().sum(dim=1) / variance)


def track_ang_vel(env: Env, command: str, variance: Positive, entity: OwnerRef = None) -> Tensor:
    """exp(-error² / variance) of the yaw rate."""
    error = env.command_manager[command][:, 2] - (entity or env.robot).root_ang_vel[:, 2]
    return torch.exp(-error.square() / variance)


def feet_air_time(
    env: Env, feet: ContactRef, command: str, low: NonNegative, high: NonNegative, threshold: NonNegative
) -> Tensor:
    """Number of feet that have been in the air for between `low` and `high` seconds, if the robot is to move."""
    air_time = feet.data.air_time
    swinging = ((air_time > low) & (air_time < high)).sum(dim=1)
    return swinging * is_moving(env, command, threshold)


def feet_slip(
    env: Env, feet: ContactRef, sites: SiteRefs, command: str, threshold: NonNegative, entity: OwnerRef = None
) -> Tensor:
    """Sum of the squared horizontal velocities of feet in contact, if the robot is to move."""
    speed = (entity or env.robot).site_lin_vel(sites)[..., :2].square().sum(dim=-1)
    return (speed * feet.data.in_contact).sum(dim=1) * is_moving(env, command, threshold)


def any_contact(env: Env, sensor: ContactRef) -> Tensor:
    """One if any side of a contact sensor is in contact."""
    return sensor.data.in_contact.any(dim=1).float()


def lin_vel_z_l2(env: Env, entity: OwnerRef = None) -> Tensor:
    """Squared vertical velocity in the body frame."""
    return (entity or env.robot).root_lin_vel[:, 2].square()


def ang_vel_xy_l2(env: Env, entity: OwnerRef = None) -> Tensor:
    """Squared roll and pitch rates."""
    return (entity or env.robot).root_ang_vel[:, :2].square().sum(dim=1)


def tilt_l2(env: Env, entity: OwnerRef = None) -> Tensor:
    """Squared horizontal components of gravity in the body frame: 0 when level."""
    return (entity or env.robot).projected_gravity[:, :2].square().sum(dim=1)


def base_height_l2(env: Env, height: float, entity: OwnerRef = None) -> Tensor:
    """Squared difference of the root's height above the ground below it from `height`, m²."""
    return (env.height_above_ground((entity or env.robot).root_pos) - height).square()


def actuator_force_l2(env: Env, entity: OwnerRef = None) -> Tensor:
    """Sum of squared actuator forces or torques."""
    return (entity or env.robot).actuator_force.square().sum(dim=1)


def joint_limits(env: Env, entity: OwnerRef = None) -> Tensor:
    """How far joints are beyond their limits, rad or m, summed."""
    limited = entity or env.robot
    limited.refuse_ball_joints("joint_limits")
    pos, limits = limited.joint_pos, limited.joint_limits
    return ((limits[:, 0] - pos).clamp(min=0.0) + (pos - limits[:, 1]).clamp(min=0.0)).sum(dim=1)


def is_moving(env: Env, command: str, threshold: NonNegative) -> Tensor:
    """Whether a velocity command asks for motion: horizontal speed plus yaw rate above `threshold`.  (N,) bool"""
    return commanded_motion(env, command) > threshold


def commanded_motion(env: Env, command: str) -> Tensor:
    """How fast a velocity command asks the robot to move: horizontal speed, m/s, plus yaw rate, rad/s.  (N,)"""
    value = env.command_manager[command]
    return value[:, :2].norm(dim=1) + value[:, 2].abs()


class JointAccL2(StatefulTerm):
    """Sum of squared joint accelerations, as differences of velocities over one control step."""

    state = ("_last",)

    def __init__(self, env: Env, entity: OwnerRef = None):
        self._entity = entity or env.robot
        self._entity.refuse_ball_joints("JointAccL2")
        self._last = self._entity.joint_vel.clone()

    def __call__(self, env: Env) -> Tensor:
        velocity = self._entity.joint_vel
        acceleration = (velocity - self._last) / env.step_dt
        self._last.copy_(velocity)
        return acceleration.square().sum(dim=1)

    def reset(self, env_ids: Tensor) -> None:
        self._last[env_ids] = self._entity.joint_vel[env_ids]
