"""End conditions and success.  All return (N,) bool."""

import math

from torch import Tensor

from genelab.core.ranges import CountOrZero, NonNegative, Positive
from genelab.envs.terms import Env, JointRef, OwnerRef


def time_out(env: Env) -> Tensor:
    """The episode has reached its length."""
    return env.episode_length_buf >= env.max_episode_length


def restart(env: Env, every: Positive, until: CountOrZero) -> Tensor:
    """A time-out at random, every so many seconds on average at first, never after `until` control steps of a training.

    Episodes that begin anew more often show more of the places where they begin.
    """
    left = 1.0 - env.step_count / max(until, 1)
    if left <= 0.0:
        return env.episode_length_buf < 0
    return env.streams.uniform("termination/restart", (env.num_envs,)) < left * env.step_dt / every


def restart_solved(env: Env, every: Positive, until: CountOrZero) -> Tensor:
    """The same where the task is done: that shows little, and what is not done has its time."""
    return restart(env, every, until) & env.success()


def joint_beyond(env: Env, joint: JointRef, limit: NonNegative, entity: OwnerRef = None) -> Tensor:
    """A joint is further than `limit` from zero."""
    return (entity or env.robot).joint_pos[:, joint].abs() > limit


def tilted(env: Env, limit: NonNegative, entity: OwnerRef = None) -> Tensor:
    """The root body leans further than `limit` radians from upright."""
    return (entity or env.robot).projected_gravity[:, 2] > -math.cos(limit)


def root_below(env: Env, height: float, entity: OwnerRef = None) -> Tensor:
    """The root body is less than `height` metres above the ground below it."""
    return env.height_above_ground((entity or env.robot).root_pos) < height


def fallen(env: Env, height: float, until: CountOrZero) -> Tensor:
    """`root_below` in the first `until` control steps of a training: little of it is then spent on the ground."""
    return root_below(env, height) & (env.step_count < until)


def survived(env: Env) -> Tensor:
    """The episode reached its length without any failure."""
    return env.truncated
