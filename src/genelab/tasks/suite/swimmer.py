"""A planar chain of links in a viscous fluid."""

from functools import partial

import mujoco
import torch
from torch import Tensor

from genelab import mdp
from genelab.core.math import quat_apply_inverse
from genelab.core.ranges import Count, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.mdp import PlaceCommandCfg
from genelab.tasks.suite.base import length, suite_model, suite_task

NOSE = (0.0, -0.06, 0.0)
"""Where the nose is in the frame of the head, metres."""
RADIUS = 0.1
"""Of the target, metres."""


def swimmer6(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Swim to a target with the nose. The target is elsewhere in every episode, sometimes near."""
    low, high = (-2.0, -2.0, 0.05), (2.0, 2.0, 0.05)
    place = PlaceCommandCfg(low=low, high=high, near_share=0.2, near_size=0.15, marker="target")
    joints, model = partial(mdp.joint_pos, skip=3), partial(chain, links=6)
    seen = {"joints": joints, "to_target": nose_to_target, "body_velocities": body_velocities}
    return suite_task(
        model, play, (0.003, 10), seen, near_target, target=(place, RADIUS), indicator=True, camera="tracking1"
    )


def chain(links: Count) -> mujoco.MjSpec:
    """The swimmer of dm_control's control suite with so many links, of which its file has only the head."""
    spec = suite_model("swimmer", without=("target",))
    parent, limit = spec.body("head"), 360.0 / links
    for i in range(links - 1):
        parent = parent.add_body(name=f"segment_{i}", pos=[0.0, 0.1, 0.0])
        for part in ("visual", "inertial"):
            parent.add_geom(spec.find_default(part), name=f"{part}_{i}")
        parent.add_joint(spec.find_default("swimmer"), name=f"joint_{i}", range=[-limit, limit])
        spec.add_actuator(spec.default, name=f"motor_{i}", target=f"joint_{i}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    return spec


def nose_to_target(env: ManagerBasedRlEnv) -> Tensor:
    """From the nose to the target in the frame of the head, along x and y, metres.  (N, 2)"""
    robot = env.robot
    away = quat_apply_inverse(robot.root_quat, env.command_manager["target"] - robot.root_pos)
    return (away - torch.tensor(NOSE, device=env.device))[:, :2]


def body_velocities(env: ManagerBasedRlEnv) -> Tensor:
    """Each link's velocity along its own x and y, and its yaw rate.  (N, 3 L)"""
    robot = env.robot
    linear = quat_apply_inverse(robot.body_quat, robot.body_lin_vel)
    return torch.cat((linear[..., :2], robot.body_ang_vel[..., 2:]), dim=2).flatten(1)


def near_target(env: ManagerBasedRlEnv, radius: Positive = RADIUS, margin: Positive = 5 * RADIUS) -> Tensor:
    """1 with the nose in the target, with a long tail beyond: 0.1 at a distance of `margin` metres.  (N,)"""
    return mdp.tolerance(length(nose_to_target(env)), (0.0, radius), margin, "long_tail")
