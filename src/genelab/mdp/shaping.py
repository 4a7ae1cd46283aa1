"""Rewards that only help a policy to begin. Give them a ramp that ends at zero: what is learnt then is the task."""

from torch import Tensor

from genelab.core.ranges import NonNegative, Positive
from genelab.envs.terms import ContactRef, Env, OwnerRef
from genelab.mdp.locomotion import is_moving


def trot(env: Env, feet: ContactRef, command: str, threshold: NonNegative, longest: NonNegative = 0.4) -> Tensor:
    """One while one diagonal pair of feet is on the ground and the other in the air, if the robot is to move.  (N,)

    `feet` are four in the order front right, front left, rear right, rear left. Nothing while a foot has been in the
    air for more than `longest` seconds.
    """
    down = feet.data.in_contact
    turns = (down[:, 0] == down[:, 3]) & (down[:, 1] == down[:, 2]) & (down[:, 0] != down[:, 1])
    short = feet.data.air_time.amax(dim=1) < longest
    return (turns & short & is_moving(env, command, threshold)).float()


def progress(env: Env, command: str, smallest: Positive | None = None, entity: OwnerRef = None) -> Tensor:
    """Speed along the command, up to the commanded one, plus the same of the yaw rate.  (N,)

    Linear, where the tracking rewards are flat far from the command. With `smallest`, m/s and rad/s, both are shares of
    the command, so that slow commands pay as much as fast ones; below `smallest`, less.
    """
    wanted, robot = env.command_manager[command], (entity or env.robot)
    speed, rate = wanted[:, :2].norm(dim=1), wanted[:, 2].abs()
    along = (robot.root_lin_vel[:, :2] * wanted[:, :2]).sum(dim=1) / speed.clamp(min=1e-6)
    turning = robot.root_ang_vel[:, 2] * wanted[:, 2].sign()
    if smallest is None:
        return along.minimum(speed) + turning.minimum(rate)
    return along.minimum(speed) / speed.clamp(min=smallest) + turning.minimum(rate) / rate.clamp(min=smallest)


def nearness(env: Env, command: str, smallest: Positive, entity: OwnerRef = None) -> Tensor:
    """How near the robot is to its command: a part for its speed, one for its yaw rate, each from -1 to 1.  (N,)

    Linear on both sides of the command, where the tracking rewards are flat on it and far from it, and `progress` lets
    a robot be too fast. The error of the velocity is a share of the commanded speed, at least of `smallest`, m/s; that
    of the yaw rate is in rad/s. For robots that walk already: to one that does not, it says to stand still.
    """
    wanted, robot = env.command_manager[command], (entity or env.robot)
    error = (wanted[:, :2] - robot.root_lin_vel[:, :2]).norm(dim=1) / wanted[:, :2].norm(dim=1).clamp(min=smallest)
    turning = (wanted[:, 2] - robot.root_ang_vel[:, 2]).abs()
    return (1.0 - error).clamp(min=-1.0) + (1.0 - turning).clamp(min=-1.0)


def single_support(
    env: Env, feet: ContactRef, command: str, threshold: NonNegative, longest: NonNegative = 0.4
) -> Tensor:
    """One while one of two feet is on the ground and the other in the air, if the robot is to move.  (N,)

    Nothing while a foot has been in the air for more than `longest` seconds.
    """
    down = feet.data.in_contact
    short = feet.data.air_time.amax(dim=1) < longest
    return ((down[:, 0] != down[:, 1]) & short & is_moving(env, command, threshold)).float()
