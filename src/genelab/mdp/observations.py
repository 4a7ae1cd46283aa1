"""Observation terms.  All return (N, d)."""

import functools

import torch
from torch import Tensor

from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import BodyRef, EntityRef


def joint_pos_rel(env: ManagerBasedRlEnv, entity: EntityRef | None = None) -> Tensor:
    """Joint positions relative to the default pose, as the encoders show them.  (N, J)

    Ball joints follow after the others, each as a rotation vector of three.
    """
    shown = entity or env.robot
    position = shown.measured_joint_pos - shown.default_joint_pos
    return torch.cat((position, shown.ball_rotation), dim=1) if shown.layout.ball_names else position


def joint_vel(env: ManagerBasedRlEnv, entity: EntityRef | None = None) -> Tensor:
    """Joint velocities.  (N, J)

    Ball joints follow after the others, with three angular velocities each.
    """
    shown = entity or env.robot
    return torch.cat((shown.joint_vel, shown.ball_vel), dim=1) if shown.layout.ball_names else shown.joint_vel


def body_ang_vel(env: ManagerBasedRlEnv, body: BodyRef, entity: EntityRef | None = None) -> Tensor:
    """Angular velocity of one body in the world frame.  (N, 3)"""
    return (entity or env.robot).body_ang_vel[:, body]


def base_lin_vel(env: ManagerBasedRlEnv, entity: EntityRef | None = None) -> Tensor:
    """Velocity of the root body in its own frame.  (N, 3)"""
    return (entity or env.robot).root_lin_vel


def base_ang_vel(env: ManagerBasedRlEnv, entity: EntityRef | None = None) -> Tensor:
    """Angular velocity of the root body in its own frame.  (N, 3)"""
    return (entity or env.robot).root_ang_vel


def projected_gravity(env: ManagerBasedRlEnv, entity: EntityRef | None = None) -> Tensor:
    """Direction of gravity in the frame of the root body: (0, 0, -1) when upright.  (N, 3)"""
    return (entity or env.robot).projected_gravity


def last_action(env: ManagerBasedRlEnv) -> Tensor:
    """The previous raw action.  (N, A)"""
    return env.action_manager.action


def generated_command(env: ManagerBasedRlEnv, command: str) -> Tensor:
    """The present value of a command.  (N, C)"""
    return env.command_manager[command]


def command_hint(env: ManagerBasedRlEnv, command: str, steps: int) -> Tensor:
    """A command that is shown in the first `steps` observations of an episode and is zero afterwards.  (N, C)"""
    visible = (env.episode_length_buf < steps).unsqueeze(-1)
    return torch.where(visible, env.command_manager[command], 0.0)


def height_scan(env: ManagerBasedRlEnv, length: float = 1.6, width: float = 1.0, spacing: float = 0.1) -> Tensor:
    """Height of the root over the ground at the points of a grid around it, metres.  (N, points)

    The grid turns with the root's heading. Points are row by row from right to left, each row from back to front.
    """
    pos = env.robot.root_pos
    grid = scan_grid(length, width, spacing, env.device)
    if env.terrain is None:
        return pos[:, 2:].expand(-1, grid.shape[1])
    w, x, y, z = env.robot.root_quat.unbind(-1)
    ahead = torch.nn.functional.normalize(torch.stack((1 - 2 * (y * y + z * z), 2 * (w * z + x * y)), dim=1))
    left = torch.stack((-ahead[:, 1], ahead[:, 0]), dim=1)
    xs = torch.addmm(pos[:, :1], torch.stack((ahead[:, 0], left[:, 0]), dim=1), grid)
    ys = torch.addmm(pos[:, 1:2], torch.stack((ahead[:, 1], left[:, 1]), dim=1), grid)
    return pos[:, 2:] - env.terrain.height_at(xs, ys)


@functools.cache
def scan_grid(length: float, width: float, spacing: float, device: str) -> Tensor:
    """(2, points) ahead and left of the middle, metres."""
    ahead, left = (
        torch.linspace(-size / 2, size / 2, round(size / spacing) + 1, device=device) for size in (length, width)
    )
    return torch.stack((ahead.repeat(len(left)), left.repeat_interleave(len(ahead))))
