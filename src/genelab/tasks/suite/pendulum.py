"""A pole with a weak motor at its hinge."""

import math
from functools import partial

import torch
from torch import Tensor

from genelab import mdp
from genelab.core.ranges import Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import suite_task

ANGLE = math.radians(8.0)


def swingup(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Swing the pole up and hold it. The motor is too weak to lift it at once; only an upright pole is rewarded."""
    seen = {"orientation": orientation, "velocity": mdp.generalized_vel}
    start = partial(mdp.ScatterJoints, circle=(0.0, math.pi))
    return suite_task("pendulum", play, (0.01, 2), seen, upright, start=start, indicator=True)


def orientation(env: ManagerBasedRlEnv) -> Tensor:
    """Cosine and sine of the pole's angle from upright.  (N, 2)"""
    angle = env.robot.joint_pos
    return torch.cat((angle.cos(), angle.sin()), dim=1)


def upright(env: ManagerBasedRlEnv, angle: Positive = ANGLE) -> Tensor:
    """1 while the pole is at most `angle` radians from upright, else 0.  (N,)"""
    return (env.robot.joint_pos[:, 0].cos() >= math.cos(angle)).float()
