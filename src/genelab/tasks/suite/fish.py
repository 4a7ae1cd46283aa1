"""A fish in water: a body with a tail and two fins, without gravity."""

import torch
from torch import Tensor

from genelab import mdp
from genelab.core.math import quat_apply_inverse
from genelab.core.ranges import NonNegative, Positive
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.mdp import PlaceCommandCfg
from genelab.tasks.suite.base import length, suite_task

MOUTH = (0.0, 0.0745, 0.0)
"""Where the mouth is in the frame of the torso, metres."""
RADII = 0.045
"""Radii of the mouth and the target together, metres."""


def swim(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Swim to a target with the mouth, upright. The fish starts turned anyhow, the target is anywhere around."""
    posture = {"joint_angles": mdp.joint_pos, "upright": upright}
    seen = {**posture, "target": mouth_to_target, "velocity": mdp.generalized_vel}
    target = PlaceCommandCfg(low=(-0.4, -0.4, 0.1), high=(0.4, 0.4, 0.3), marker="target"), 0.04
    reward = near_target_and_upright
    return suite_task("fish", play, (0.002, 20), seen, reward, start=start_anyhow, target=target, camera="tracking_top")


def upright(env: ManagerBasedRlEnv) -> Tensor:
    """How far the torso's z axis points up: 1 upright, -1 upside down.  (N, 1)"""
    return -env.robot.projected_gravity[:, 2:]


def mouth_to_target(env: ManagerBasedRlEnv) -> Tensor:
    """From the mouth to the target in the frame of the mouth: to the right, down, ahead, metres.  (N, 3)"""
    robot = env.robot
    away = quat_apply_inverse(robot.root_quat, env.command_manager["target"] - robot.root_pos)
    right, ahead, up = (away - torch.tensor(MOUTH, device=env.device)).unbind(dim=1)
    return torch.stack((right, -up, ahead), dim=1)


def near_target_and_upright(env: ManagerBasedRlEnv, radii: Positive = RADII, margin: Positive = 2 * RADII) -> Tensor:
    """Seven parts for the mouth at the target, falling over `margin` metres, and one for being upright.  (N,)"""
    near = mdp.tolerance(length(mouth_to_target(env)), (0.0, radii), margin)
    return (7.0 * near + 0.5 + 0.5 * upright(env)[:, 0]) / 8.0


def start_anyhow(env: ManagerBasedRlEnv, env_ids: Tensor, joints: NonNegative = 0.2) -> None:
    """In the origin, turned anyhow, with joints at U(-joints, joints), at rest."""
    turn = env.streams.normal("event/start", (len(env_ids), 4))
    env.robot.write_root(env_ids, torch.zeros_like(turn[:, :3]), turn / length(turn)[:, None])
    bent = (len(env_ids), len(env.robot.joint_names))
    env.robot.write_joints(env_ids, env.streams.uniform("event/start_joints", bent, -joints, joints))
