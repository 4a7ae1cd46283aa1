"""End conditions and success.  All return (N,) bool."""

import math

from torch import Tensor

from genelab.core.ranges import NonNegative
from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import EntityRef, JointRef


def time_out(env: ManagerBasedRlEnv) -> Tensor:
    """The episode has reached its length."""
    return env.episode_length_buf >= env.max_episode_length


def joint_beyond(
    env: ManagerBasedRlEnv, joint: JointRef, limit: NonNegative, entity: EntityRef | None = None
) -> Tensor:
    """A joint is further than `limit` from zero."""
    return (entity or env.robot).joint_pos[:, joint].abs() > limit


def tilted(env: ManagerBasedRlEnv, limit: NonNegative, entity: EntityRef | None = None) -> Tensor:
    """The root body leans further than `limit` radians from upright."""
    return (entity or env.robot).projected_gravity[:, 2] > -math.cos(limit)


def root_below(env: ManagerBasedRlEnv, height: float, entity: EntityRef | None = None) -> Tensor:
    """The root body is less than `height` metres above the ground below it."""
    return env.height_above_ground((entity or env.robot).root_pos) < height


def survived(env: ManagerBasedRlEnv) -> Tensor:
    """The episode reached its length without any failure."""
    return env.truncated
