"""Events. Each changes the worlds `env_ids` and no others."""

from torch import Tensor

from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import JointRef


def jitter_joints(env: ManagerBasedRlEnv, env_ids: Tensor, pos: float, vel: float) -> None:
    """Joints at their defaults plus U(-pos, pos), at velocities U(-vel, vel)."""
    shape = (len(env_ids), len(env.robot.joint_names))
    offset = env.streams.uniform("event/jitter_joints", shape, -pos, pos)
    velocity = env.streams.uniform("event/jitter_joints", shape, -vel, vel)
    env.robot.write_joints(env_ids, env.robot.default_joint_pos + offset, velocity)


def push_joint(env: ManagerBasedRlEnv, env_ids: Tensor, joint: JointRef, velocity: float) -> None:
    """Set one joint's velocity to U(-velocity, velocity)."""
    velocities = env.robot.joint_vel[env_ids]
    velocities[:, joint] = env.streams.uniform("event/push_joint", (len(env_ids),), -velocity, velocity)
    env.robot.write_joints(env_ids, vel=velocities)
