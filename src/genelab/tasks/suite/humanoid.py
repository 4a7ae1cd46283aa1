"""A humanoid with hinges at every joint, driven by motors."""

import math
from functools import partial

from torch import Tensor

from genelab import mdp
from genelab.core.math import quat_apply_inverse
from genelab.core.ranges import NonNegative, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import body, length, small_control, suite_task, variant

LIMBS = ("left_hand", "left_foot", "right_hand", "right_foot")


def _task(play: bool, speed: float) -> ManagerBasedRlEnvCfg:
    posture = {"joint_angles": mdp.joint_pos, "head_height": head_height, "extremities": extremities}
    motion = {"com_velocity": com_velocity, "velocity": mdp.generalized_vel}
    seen = {**posture, "torso_vertical": torso_vertical, **motion}
    reward = partial(upright_at_speed, speed=speed)
    return suite_task("humanoid", play, (0.005, 5), seen, reward, start=None, camera="side")


stand = variant(_task, "Stand still. Every episode starts upright, a little above the ground.", speed=0.0)
walk = variant(_task, "Walk in any direction. Every episode starts upright, a little above the ground.", speed=1.0)
run = variant(_task, "Run in any direction. Every episode starts upright, a little above the ground.", speed=10.0)


def head_height(env: ManagerBasedRlEnv) -> Tensor:
    """Height of the head, metres.  (N, 1)"""
    return env.robot.body_pos[:, body(env, "head"), 2:]


def extremities(env: ManagerBasedRlEnv) -> Tensor:
    """Places of left hand and foot, right hand and foot in the frame of the torso, metres.  (N, 12)"""
    robot = env.robot
    limbs = robot.body_pos[:, [body(env, limb) for limb in LIMBS]]
    return quat_apply_inverse(robot.root_quat[:, None], limbs - robot.root_pos[:, None]).flatten(1)


def torso_vertical(env: ManagerBasedRlEnv) -> Tensor:
    """Direction of up in the frame of the torso: (0, 0, 1) when upright.  (N, 3)"""
    return -env.robot.projected_gravity


def com_velocity(env: ManagerBasedRlEnv) -> Tensor:
    """Velocity of the centre of mass, world frame.  (N, 3)"""
    return env.robot.com_lin_vel


def upright_at_speed(env: ManagerBasedRlEnv, speed: NonNegative, height: Positive = 1.4) -> Tensor:
    """Product of a high head, an upright torso, little control and speed; with speed 0, of standing still.  (N,)"""
    standing = mdp.tolerance(head_height(env)[:, 0], (height, math.inf), margin=height / 4)
    upright = mdp.tolerance(torso_vertical(env)[:, 2], (0.9, math.inf), 1.9, "linear", value_at_margin=0.0)
    along = com_velocity(env)[:, :2]
    if speed == 0.0:
        move = mdp.tolerance(along, margin=2.0).mean(dim=1)
    else:
        move = (5.0 * (length(along) / speed).clamp(max=1.0) + 1.0) / 6.0
    return standing * upright * small_control(env) * move
