"""A ball on a string below a cup that moves in a plane."""

from torch import Tensor

from genelab import mdp
from genelab.core.ranges import Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import body, suite_task

DEPTH = 0.05
"""From the origin of the cup down to the middle of its inside, metres."""


def catch(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Swing the ball up and catch it in the cup. Every episode starts with the ball hanging at rest."""
    seen = {"position": mdp.joint_pos, "velocity": mdp.generalized_vel}
    return suite_task("ball_in_cup", play, (0.002, 10), seen, caught, start=None, indicator=True, camera="cam0")


def caught(env: ManagerBasedRlEnv, room: Positive = 0.025) -> Tensor:
    """1 while the ball is less than `room` metres from the middle of the cup along x and along z, else 0.  (N,)"""
    apart = env.robot.body_pos[:, body(env, "cup")] - env.robot.body_pos[:, body(env, "ball")]
    return ((apart[:, 0].abs() < room) & ((apart[:, 2] - DEPTH).abs() < room)).float()
