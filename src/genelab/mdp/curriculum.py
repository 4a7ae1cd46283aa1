"""Curriculum terms.  Each runs when the worlds `env_ids` reset and returns a number for the log."""

import torch
from torch import Tensor

from genelab.core.errors import UserError, require_known
from genelab.core.ranges import CountOrZero, NonNegative
from genelab.envs.terms import Env
from genelab.mdp.commands import VelocityCommand

AXES = ("lin_x", "lin_y", "ang_z")


def terrain_levels(env: Env, env_ids: Tensor, command: str, distance: NonNegative = 4.0) -> float:
    """A level up for robots that ended further than `distance` metres from their start; returns the mean level.

    A level down for those that ended less than half as far as following their commands exactly would have taken them.
    Commands count with their turns: someone who is to walk in circles need not get far. A robot that fell is measured
    against what the rest of its episode would have asked for at the same rate.
    """
    if env.terrain is None:
        raise UserError("the scene has no terrain")
    walked = (env.robot.root_pos[env_ids, :2] - env.spawn.start[env_ids, :2]).norm(dim=1)
    asked = velocity_command(env, command).course[env_ids, :2].norm(dim=1)
    lived = env.episode_length_buf[env_ids] / env.max_episode_length
    asked = torch.where(env.terminated[env_ids], asked / lived, asked)
    up = walked > distance
    down = ~up & (walked < 0.5 * asked)
    counts = (lived > 0.0) & ~env.engine.failed[env_ids]  # not before the first step, nor where physics broke down
    env.spawn.move(env_ids, env.spawn.level[env_ids] + (up & counts).long() - (down & counts).long())
    return float(env.spawn.level.float().mean())


def velocity_curriculum(
    env: Env, env_ids: Tensor, command: str, stages: tuple[tuple[CountOrZero, str, float, float], ...]
) -> float:
    """Give a velocity command new ranges as training goes on; returns the fastest forward command.

    A stage ``(steps, axis, low, high)`` holds from so many control steps on; axes: lin_x, lin_y (m/s), ang_z (rad/s).
    """
    term = velocity_command(env, command)
    for steps, axis, low, high in stages:
        require_known("axis in stages", axis, AXES)
        if env.step_count >= steps:
            term.ranges[AXES.index(axis)] = torch.tensor([low, high], device=env.device)
    return float(term.ranges[0, 1])


def velocity_command(env: Env, command: str) -> VelocityCommand:
    """The term behind a velocity command."""
    _ = env.command_manager[command]  # an unknown name is an error with the nearest one
    term = env.command_manager.terms[command]
    if not isinstance(term, VelocityCommand):
        raise UserError(f"command '{command}' is not a velocity command")
    return term
