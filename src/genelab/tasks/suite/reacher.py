"""A planar arm with two joints."""

import math
from functools import partial

from torch import Tensor

from genelab import mdp
from genelab.core.ranges import NonNegative, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.mdp import RingCommandCfg
from genelab.tasks.suite.base import body, length, suite_task, variant

FINGER = 0.01
"""Radius of the finger, metres."""


def easy(play: bool = False, radius: float = 0.05) -> ManagerBasedRlEnvCfg:
    """Bring the finger to a large target, which is elsewhere in every episode."""
    low, high = (0.05, 0.0), (0.2, 2.0 * math.pi)
    ring = RingCommandCfg(middle=(0.0, 0.0, 0.01), plane="xy", low=low, high=high, marker="target")
    seen = {"position": mdp.joint_pos, "to_target": to_target, "velocity": mdp.generalized_vel}
    reward = partial(reached, radii=radius + FINGER)
    return suite_task("reacher", play, (0.005, 4), seen, reward, target=(ring, radius), indicator=True)


hard = variant(easy, "Bring the finger to a small target, which is elsewhere in every episode.", radius=0.015)


def to_target(env: ManagerBasedRlEnv) -> Tensor:
    """From the finger to the target along x and y, metres.  (N, 2)"""
    return env.command_manager["target"][:, :2] - env.robot.body_pos[:, body(env, "finger"), :2]


def reached(env: ManagerBasedRlEnv, radii: Positive, margin: NonNegative = 0.0) -> Tensor:
    """1 with the finger within `radii` metres of the middle of the target, falling over `margin` beyond.  (N,)"""
    return mdp.tolerance(length(to_target(env)), (0.0, radii), margin)
