"""Reward terms.  All return (N,)."""

import torch
from torch import Tensor

from genelab.envs.terms import Env, JointRef, JointRefs, OwnerRef


def alive(env: Env) -> Tensor:
    """One, always."""
    return torch.ones(env.num_envs, device=env.device)


def cos_joint(env: Env, joint: JointRef, entity: OwnerRef = None) -> Tensor:
    """Cosine of a joint angle: 1 when upright."""
    return (entity or env.robot).joint_pos[:, joint].cos()


def cos_pole_chain(env: Env, joints: JointRefs, entity: OwnerRef = None) -> Tensor:
    """Mean cosine of the absolute angles of a chain of hinges about parallel axes: 1 when all poles are upright."""
    return (entity or env.robot).joint_pos[:, joints].cumsum(dim=1).cos().mean(dim=1)


def joint_pos_l2(env: Env, joints: JointRefs, entity: OwnerRef = None) -> Tensor:
    """Sum of squared joint positions."""
    return (entity or env.robot).joint_pos[:, joints].square().sum(dim=1)


def joint_vel_l2(env: Env, joints: JointRefs, entity: OwnerRef = None) -> Tensor:
    """Sum of squared joint velocities."""
    return (entity or env.robot).joint_vel[:, joints].square().sum(dim=1)


def joint_difference_l2(env: Env, joint_a: JointRef, joint_b: JointRef, entity: OwnerRef = None) -> Tensor:
    """Squared difference of two joint positions."""
    pos = (entity or env.robot).joint_pos
    return (pos[:, joint_a] - pos[:, joint_b]).square()


def command_distance_l2(env: Env, command: str, joint: JointRef, entity: OwnerRef = None) -> Tensor:
    """Squared distance of a joint from a one-dimensional command."""
    return ((entity or env.robot).joint_pos[:, joint] - env.command_manager[command][:, 0]).square()


def action_rate_l2(env: Env) -> Tensor:
    """Squared change of the action since the last step."""
    return (env.action_manager.action - env.action_manager.previous_action).square().sum(dim=1)
