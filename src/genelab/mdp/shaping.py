"""Rewards that only help a policy to begin. Give them a ramp that ends at zero: what is learnt then is the task."""

import torch
from torch import Tensor

from genelab.core.ranges import NonNegative, Positive
from genelab.envs.terms import ContactRef, Env, OwnerRef, StatefulTerm
from genelab.mdp.locomotion import is_moving


def trot(
    env: Env,
    feet: ContactRef,
    command: str,
    threshold: NonNegative,
    shortest: NonNegative = 0.0,
    longest: NonNegative = 0.4,
) -> Tensor:
    """One while one diagonal pair of feet is on the ground and the other in the air, if the robot is to move.  (N,)

    `feet` are four in the order front right, front left, rear right, rear left. Nothing until both feet of a pair have
    been in the air for `shortest` seconds, nor once one has been there for `longest`.
    """
    down, air_time = feet.data.in_contact, feet.data.air_time
    turns = (down[:, 0] == down[:, 3]) & (down[:, 1] == down[:, 2]) & (down[:, 0] != down[:, 1])
    fits = (down | ((air_time >= shortest) & (air_time < longest))).all(dim=1)
    return (turns & fits & is_moving(env, command, threshold)).float()


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


class Nearness(StatefulTerm):
    """How near the robot's mean velocity is to its command: a part for speed, one for the yaw rate, each -1 to 1.  (N,)

    Linear on both sides of the command, where the tracking rewards are flat, and `progress` lets a robot be too fast.
    Errors are shares of the command, at least of `smallest`, m/s and rad/s. The mean is a running one over about `over`
    seconds: a robot that walks sways, and swaying must not look worse than standing still.
    """

    state = ("mean",)

    def __init__(self, env: Env, command: str, smallest: Positive, over: Positive, entity: OwnerRef = None):
        self.command, self.smallest, self.robot = command, smallest, entity or env.robot
        self.share = min(1.0, env.step_dt / over)
        self.mean = torch.zeros(env.num_envs, 3, device=env.device)

    def __call__(self, env: Env) -> Tensor:
        wanted, robot = env.command_manager[self.command], self.robot
        self.mean.lerp_(torch.cat((robot.root_lin_vel[:, :2], robot.root_ang_vel[:, 2:]), dim=1), self.share)
        off = wanted - self.mean
        speed = off[:, :2].norm(dim=1) / wanted[:, :2].norm(dim=1).clamp(min=self.smallest)
        turning = off[:, 2].abs() / wanted[:, 2].abs().clamp(min=self.smallest)
        return (1.0 - speed).clamp(min=-1.0) + (1.0 - turning).clamp(min=-1.0)

    def reset(self, env_ids: Tensor) -> None:
        self.mean[env_ids] = 0.0


def single_support(
    env: Env, feet: ContactRef, command: str, threshold: NonNegative, longest: NonNegative = 0.4
) -> Tensor:
    """One while one of two feet is on the ground and the other in the air, if the robot is to move.  (N,)

    Nothing while a foot has been in the air for more than `longest` seconds.
    """
    down = feet.data.in_contact
    short = feet.data.air_time.amax(dim=1) < longest
    return ((down[:, 0] != down[:, 1]) & short & is_moving(env, command, threshold)).float()
