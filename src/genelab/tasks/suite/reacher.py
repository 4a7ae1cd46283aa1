"""A planar arm with two joints."""

import math
from functools import partial

from torch import Tensor

from genelab import mdp
from genelab.core.ranges import Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.mdp import RingCommandCfg
from genelab.tasks.suite.base import body, length, suite_task, variant

FINGER = 0.01
"""Radius of the finger, metres."""


def easy(play: bool = False, radius: float = 0.05) -> ManagerBasedRlEnvCfg:
    """Bring the finger to a large target, which is elsewhere in every episode."""
    low, high = (0.05, 0.0), (0.2, 2.0 * math.pi)
    ring = RingCommandCfg(middle=(0.0, 0.0, 0.01), plane="xy", low=low, high=high, marker="target")
    return suite_task(
        "reacher",
        play,
        times=(0.005, 4),
        observations={"position": mdp.joint_pos, "to_target": to_target, "velocity": mdp.generalized_vel},
        reward=partial(reached, radii=radius + FINGER),
        target=ring,
        target_radius=radius,
        indicator=True,
    )


hard = variant(easy, "Bring the finger to a small target, which is elsewhere in every episode.", radius=0.015)


def to_target(env: ManagerBasedRlEnv) -> Tensor:
    """From the finger to the target along x and y, metres.  (N, 2)"""
    return env.command_manager["target"][:, :2] - env.robot.body_pos[:, body(env, "finger"), :2]


def reached(env: ManagerBasedRlEnv, radii: Positive) -> Tensor:
    """1 while the finger is at most `radii` metres from the middle of the target, else 0.  (N,)"""
    return (length(to_target(env)) <= radii).float()
