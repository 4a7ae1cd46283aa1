"""A planar finger with two joints beside a body that turns on a hinge."""

import math
from functools import partial

import mujoco
import torch
from torch import Tensor

from genelab import mdp
from genelab.core.ranges import NonNegative, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.mdp import RingCommandCfg
from genelab.tasks.suite.base import Call, length, suite_model, suite_task, variant

HINGE = (0.2, 0.0, 0.4)
"""Where the body's hinge is, metres."""
TIP = 0.13
"""From the hinge to the body's tip, metres."""
TOUCH = ("touchtop", "touchbottom")


def spin(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Keep the body spinning fast, in one direction."""
    return _task(play, partial(spinner, damping=0.03), spinning)


def _turn(play: bool, radius: float) -> ManagerBasedRlEnvCfg:
    aim = {"target_position": target_position, "distance": partial(distance, radius=radius)}
    return _task(play, "finger", partial(turned, radius=radius), aim, radius)


def _task(
    play: bool, model: str | Call, reward: Call, aim: dict[str, Call] | None = None, radius: float = 0.0
) -> ManagerBasedRlEnvCfg:
    felt = partial(mdp.touch, touch_sensors=TOUCH)
    ring = RingCommandCfg(middle=HINGE, plane="xz", low=(TIP, -math.pi), high=(TIP, math.pi), marker="target")
    seen = {"position": position, "velocity": mdp.generalized_vel, "touch": felt, **(aim or {})}
    target = (ring, radius) if aim else None
    return suite_task(
        model, play, (0.005, 4), seen, reward, sensors=TOUCH, target=target, indicator=bool(aim), camera="cam0"
    )


turn_easy = variant(_turn, "Turn the body's tip into a large target, elsewhere in every episode.", radius=0.07)
turn_hard = variant(_turn, "Turn the body's tip into a small target, elsewhere in every episode.", radius=0.03)


def spinner(damping: Positive) -> mujoco.MjSpec:
    """The finger of dm_control's control suite without a target, and with another damping of the body's hinge."""
    spec = suite_model("finger", sensors=TOUCH, without=("tip", "target"))
    spec.joint("hinge").damping[0] = damping
    return spec


def position(env: ManagerBasedRlEnv) -> Tensor:
    """Joints of the finger, and the place of the body's tip from its hinge along x and z.  (N, 4)"""
    return torch.cat((env.robot.joint_pos[:, :2], _tip(env)), dim=1)


def target_position(env: ManagerBasedRlEnv) -> Tensor:
    """Place of the target from the body's hinge along x and z.  (N, 2)"""
    x, _, z = env.command_manager["target"].unbind(dim=1)
    return torch.stack((x - HINGE[0], z - HINGE[2]), dim=1)


def distance(env: ManagerBasedRlEnv, radius: Positive) -> Tensor:
    """From the body's tip to the surface of the target, metres; negative inside.  (N, 1)"""
    return length(target_position(env) - _tip(env))[:, None] - radius


def spinning(env: ManagerBasedRlEnv, rate: Positive = 15.0, margin: NonNegative = 0.0) -> Tensor:
    """1 while the body turns backwards at `rate` rad/s or faster, falling over `margin` rad/s below that.  (N,)"""
    return mdp.tolerance(env.robot.joint_vel[:, 2], (-math.inf, -rate), margin)


def turned(env: ManagerBasedRlEnv, radius: Positive, margin: NonNegative = 0.0) -> Tensor:
    """1 while the body's tip is in the target, falling over `margin` metres beyond.  (N,)"""
    return mdp.tolerance(distance(env, radius)[:, 0], (-radius, 0.0), margin)


def _tip(env: ManagerBasedRlEnv) -> Tensor:
    angle = env.robot.joint_pos[:, 2]
    return TIP * torch.stack((-angle.sin(), angle.cos()), dim=1)
