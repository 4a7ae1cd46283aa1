"""Metrics.  All return (N,)."""

from torch import Tensor

from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import JointRef


def joint_abs(env: ManagerBasedRlEnv, joint: JointRef) -> Tensor:
    """Distance of a joint from zero, m or rad."""
    return env.robot.joint_pos[:, joint].abs()
