"""A planar robot with one leg."""

import math
from functools import partial

from torch import Tensor

from genelab import mdp
from genelab.core.ranges import Interval, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import Call, body, small_control, suite_task, variant

HEIGHT = (0.6, 2.0)
"""Of the torso's centre of mass above the foot's, metres, while it stands."""
TOUCH = ("touch_toe", "touch_heel")


def _task(play: bool, reward: Call) -> ManagerBasedRlEnvCfg:
    felt = partial(mdp.touch, touch_sensors=TOUCH)
    seen = {"position": partial(mdp.joint_pos, skip=1), "velocity": mdp.generalized_vel, "touch": felt}
    return suite_task("hopper", play, (0.005, 4), seen, reward, sensors=TOUCH, camera="cam0")


def standing(env: ManagerBasedRlEnv, height: Interval = HEIGHT) -> Tensor:
    """While the torso is that high above the foot: 1 for no control, 0.8 for full control.  (N,)"""
    return _is_up(env, height) * small_control(env)


def hopping(env: ManagerBasedRlEnv, height: Interval = HEIGHT, speed: Positive = 2.0) -> Tensor:
    """While the torso is that high above the foot: 1 at `speed` m/s forwards or more, falling linearly.  (N,)"""
    forwards, wanted = env.robot.com_lin_vel[:, 0], (speed, math.inf)
    return _is_up(env, height) * mdp.tolerance(forwards, wanted, speed / 2, "linear", value_at_margin=0.5)


def _is_up(env: ManagerBasedRlEnv, height: tuple[float, float]) -> Tensor:
    heights = env.robot.body_com_pos[..., 2]
    return mdp.tolerance(heights[:, body(env, "torso")] - heights[:, body(env, "foot")], height)


stand = variant(_task, "Stand up and stay up, with little control. Episodes start in random poses.", reward=standing)
hop = variant(_task, "Hop forwards. Episodes start in random poses.", reward=hopping)
