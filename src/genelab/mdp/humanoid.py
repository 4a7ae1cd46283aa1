"""Reward terms of robots that walk upright and follow a velocity command.  All return (N,)."""

import torch
from torch import Tensor

from genelab.core.math import quat_apply_inverse
from genelab.core.ranges import NonNegative, Positive
from genelab.envs.terms import BodyRef, ContactRef, Env, OwnerRef, SiteRefs, StatefulTerm, values_by_name
from genelab.mdp.locomotion import commanded_motion, is_moving

Sigmas = dict[str, Positive]
"""How far joints may be from their defaults, rad, by a part of their names."""


def track_lin_vel_level(env: Env, command: str, variance: Positive, entity: OwnerRef = None) -> Tensor:
    """exp(-error² / variance) of the velocity in the body frame, of which the vertical part should be zero."""
    velocity = (entity or env.robot).root_lin_vel
    error = (env.command_manager[command][:, :2] - velocity[:, :2]).square().sum(dim=1) + velocity[:, 2].square()
    return torch.exp(-error / variance)


def track_ang_vel_level(env: Env, command: str, variance: Positive, entity: OwnerRef = None) -> Tensor:
    """exp(-error² / variance) of the angular velocity, of which roll and pitch rate should be zero."""
    velocity = (entity or env.robot).root_ang_vel
    error = (env.command_manager[command][:, 2] - velocity[:, 2]).square() + velocity[:, :2].square().sum(dim=1)
    return torch.exp(-error / variance)


def upright(env: Env, body: BodyRef, variance: Positive, entity: OwnerRef = None) -> Tensor:
    """exp(-g² / variance) with g the horizontal part of gravity's direction in the frame of a body: 1 when level."""
    w, x, y, z = (entity or env.robot).body_quat[:, body].unbind(-1)
    horizontal = (w * y - x * z).square() + (w * x + y * z).square()
    return torch.exp(-4.0 * horizontal / variance)


def body_ang_vel_xy_l2(env: Env, body: BodyRef, entity: OwnerRef = None) -> Tensor:
    """Squared roll and pitch rates of a body, in its own frame."""
    moving = entity or env.robot
    in_body = quat_apply_inverse(moving.body_quat[:, body], moving.body_ang_vel[:, body])
    return in_body[:, :2].square().sum(dim=1)


def angular_momentum_l2(env: Env, entity: OwnerRef = None) -> Tensor:
    """Squared angular momentum about the centre of mass, (kg m²/s)²."""
    return (entity or env.robot).angular_momentum.square().sum(dim=1)


def feet_clearance(
    env: Env, sites: SiteRefs, command: str, height: Positive, threshold: NonNegative, entity: OwnerRef = None
) -> Tensor:
    """Sum over the feet of distance from a height times horizontal speed, m²/s, if the robot is to move."""
    walking = entity or env.robot
    distance = (env.height_above_ground(walking.site_pos(sites)) - height).abs()
    speed = walking.site_lin_vel(sites)[..., :2].norm(dim=-1)
    return (distance * speed).sum(dim=1) * is_moving(env, command, threshold)


def landing_force(env: Env, feet: ContactRef, command: str, threshold: NonNegative) -> Tensor:
    """Sum of the forces on feet that touch down in this step, newtons, if the robot is to move."""
    landing = feet.data.force.norm(dim=-1) * feet.data.first_contact
    return landing.sum(dim=1) * is_moving(env, command, threshold)


class FeetSwingHeight(StatefulTerm):
    """Squared relative error of how high feet got, when they touch down, if the robot is to move.

    The error of a foot is peak / `height` - 1, at most 3.
    """

    state = ("_peak",)

    def __init__(
        self,
        env: Env,
        feet: ContactRef,
        sites: SiteRefs,
        command: str,
        height: Positive,
        threshold: NonNegative,
        entity: OwnerRef = None,
    ):
        self._entity, self._feet, self._sites = entity or env.robot, feet, sites
        self._command, self._height, self._threshold = command, height, threshold
        self._peak = torch.zeros(env.num_envs, len(sites), device=env.device)
        """(N, F) highest since the foot left the ground."""

    def __call__(self, env: Env) -> Tensor:
        data, height = self._feet.data, env.height_above_ground(self._entity.site_pos(self._sites))
        error = (self._peak / self._height - 1.0).clamp(-1.0, 3.0).square() * data.first_contact
        self._peak = torch.maximum(self._peak, height).masked_fill(data.in_contact, 0.0)
        return error.sum(dim=1) * is_moving(env, self._command, self._threshold)

    def reset(self, env_ids: Tensor) -> None:
        self._peak.index_fill_(0, env_ids, 0.0)


class Pose(StatefulTerm):
    """exp(-mean(((q - default) / sigma)²)) over all joints, with sigma by how fast the robot is to move.

    Standing: commands below `walk_from`, one sigma for all joints. Walking and running, below and from `run_from` on:
    by a part of the joints' names. Speed of a command is its horizontal speed plus its yaw rate, m/s and rad/s.
    """

    def __init__(
        self,
        env: Env,
        command: str,
        walking: Sigmas,
        running: Sigmas,
        standing: Positive = 0.05,
        walk_from: NonNegative = 0.05,
        run_from: NonNegative = 1.5,
        entity: OwnerRef = None,
    ):
        self._entity, self._command = entity or env.robot, command
        self._entity.refuse_ball_joints("Pose")
        names = self._entity.joint_names
        moving = [values_by_name(walking, names, "walking"), values_by_name(running, names, "running")]
        sigmas = torch.tensor([[standing] * len(names), *moving], device=env.device)
        self._weight = 1.0 / (sigmas.square() * len(names))
        """(3, J) of squared distances, at each of the three speeds."""
        self._bounds = torch.tensor([walk_from, run_from], device=env.device)

    def __call__(self, env: Env) -> Tensor:
        gait = torch.bucketize(commanded_motion(env, self._command), self._bounds, right=True)
        error = (self._entity.joint_pos - self._entity.default_joint_pos).square()
        # The errors at all three speeds in one product; each world takes that of its own.
        return torch.exp(-(error @ self._weight.T).gather(1, gait.unsqueeze(1)).squeeze(1))
