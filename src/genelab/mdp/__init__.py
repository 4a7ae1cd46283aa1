"""The term library: plain functions of the environment, and a few small classes."""

from genelab.mdp.actions import JointPositionActionCfg
from genelab.mdp.commands import UniformCommandCfg
from genelab.mdp.events import jitter_joints, push_joint
from genelab.mdp.metrics import joint_abs
from genelab.mdp.observations import (
    body_ang_vel,
    command_hint,
    generated_command,
    joint_pos_rel,
    joint_vel,
    last_action,
)
from genelab.mdp.rewards import (
    action_rate_l2,
    alive,
    command_distance_l2,
    cos_joint,
    cos_pole_chain,
    joint_difference_l2,
    joint_pos_l2,
    joint_vel_l2,
)
from genelab.mdp.terminations import joint_beyond, survived, time_out

__all__ = [
    "JointPositionActionCfg",
    "UniformCommandCfg",
    "action_rate_l2",
    "alive",
    "body_ang_vel",
    "command_distance_l2",
    "command_hint",
    "cos_joint",
    "cos_pole_chain",
    "generated_command",
    "jitter_joints",
    "joint_abs",
    "joint_beyond",
    "joint_difference_l2",
    "joint_pos_l2",
    "joint_pos_rel",
    "joint_vel",
    "joint_vel_l2",
    "last_action",
    "push_joint",
    "survived",
    "time_out",
]
