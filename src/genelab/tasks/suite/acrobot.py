"""Two arms on top of each other, with a motor between them only."""

from functools import partial

import torch
from torch import Tensor

from genelab import mdp
from genelab.core.ranges import NonNegative, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import suite_task, variant

ARM = 1.0
"""Length of each arm, metres. The target is where the tip of two upright arms is."""


def swingup(play: bool = False, margin: float = 1.0) -> ManagerBasedRlEnvCfg:
    """Swing the tip up to the target and hold it there. The reward falls smoothly with the distance."""
    seen = {"orientations": orientations, "velocity": mdp.generalized_vel}
    return suite_task("acrobot", play, (0.01, 1), seen, partial(near_target, margin=margin), indicator=True)


swingup_sparse = variant(swingup, "Swing the tip up to the target, which alone is rewarded.", margin=0.0)


def orientations(env: ManagerBasedRlEnv) -> Tensor:
    """Sines of both arms' angles from upright, then their cosines.  (N, 4)"""
    angles = env.robot.joint_pos.cumsum(dim=1)
    return torch.cat((angles.sin(), angles.cos()), dim=1)


def near_target(env: ManagerBasedRlEnv, margin: NonNegative, radius: Positive = 0.2) -> Tensor:
    """1 with the tip within `radius` metres of the target, falling over `margin` metres beyond.  (N,)"""
    along, up = orientations(env).view(-1, 2, 2).sum(dim=2).unbind(dim=1)
    return mdp.tolerance(ARM * torch.hypot(along, 2.0 - up), (0.0, radius), margin)
