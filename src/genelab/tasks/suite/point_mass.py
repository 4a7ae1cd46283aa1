"""A point mass on a plane, pulled by two tendons."""

from torch import Tensor

from genelab import mdp
from genelab.core.ranges import Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import length, small_control, suite_task


def easy(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Bring the mass to the target in the middle and hold it there with little control."""
    seen = {"position": mdp.joint_pos, "velocity": mdp.generalized_vel}
    return suite_task("point_mass", play, (0.02, 1), seen, near_target)


def near_target(env: ManagerBasedRlEnv, radius: Positive = 0.015) -> Tensor:
    """1 within the target, falling over another `radius` metres, times little control.  (N,)"""
    return mdp.tolerance(length(env.robot.joint_pos), (0.0, radius), margin=radius) * small_control(env)
