"""A planar robot with two legs."""

import math
from functools import partial

import torch
from torch import Tensor

from genelab import mdp
from genelab.core.ranges import NonNegative, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import body, suite_task, variant


def stand(play: bool = False, speed: float = 0.0) -> ManagerBasedRlEnvCfg:
    """Stand up and stay upright. Episodes start in random poses."""
    seen = {"orientations": orientations, "height": height, "velocity": mdp.generalized_vel}
    return suite_task("walker", play, (0.0025, 10), seen, partial(upright_at_speed, speed=speed), camera="side")


walk = variant(stand, "Walk forwards, upright. Episodes start in random poses.", speed=1.0)
run = variant(stand, "Run forwards, upright. Episodes start in random poses.", speed=8.0)


def orientations(env: ManagerBasedRlEnv) -> Tensor:
    """Cosine and sine of each body's angle.  (N, 2 B)"""
    w, _, y, _ = env.robot.body_quat.unbind(dim=-1)
    return torch.stack((1.0 - 2.0 * y * y, 2.0 * w * y), dim=2).flatten(1)


def height(env: ManagerBasedRlEnv) -> Tensor:
    """Height of the torso, metres.  (N, 1)"""
    return env.robot.body_pos[:, body(env, "torso"), 2:]


def upright_at_speed(env: ManagerBasedRlEnv, speed: NonNegative, high: Positive = 1.2) -> Tensor:
    """Three parts for a torso `high` metres up and one for an upright one, times forward speed if asked.  (N,)"""
    standing = mdp.tolerance(height(env)[:, 0], (high, math.inf), margin=high / 2)
    upright = 1.0 - env.robot.body_quat[:, body(env, "torso"), 2].square()
    stand = (3.0 * standing + upright) / 4.0
    if speed == 0.0:
        return stand
    forwards, wanted = env.robot.com_lin_vel[:, 0], (speed, math.inf)
    return stand * (5.0 * mdp.tolerance(forwards, wanted, speed / 2, "linear", value_at_margin=0.5) + 1.0) / 6.0
