"""A pole on a cart that a motor pushes along a rail."""

import math

import torch
from torch import Tensor

from genelab import mdp
from genelab.core.ranges import NonNegative
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.tasks.suite.base import Call, small_control, suite_task, variant


def _task(play: bool, reward: Call, start: Call) -> ManagerBasedRlEnvCfg:
    seen = {"position": position, "velocity": mdp.generalized_vel}
    return suite_task("cartpole", play, (0.01, 1), seen, reward, start=start, indicator=reward is balanced)


def position(env: ManagerBasedRlEnv) -> Tensor:
    """Place of the cart, cosine and sine of the pole's angle from upright.  (N, 3)"""
    cart, pole = env.robot.joint_pos.unbind(dim=1)
    return torch.stack((cart, pole.cos(), pole.sin()), dim=1)


def calm(env: ManagerBasedRlEnv) -> Tensor:
    """Product of upright, near the middle of the rail, little control, and a pole that turns slowly.  (N,)"""
    (cart, pole), rate = env.robot.joint_pos.unbind(dim=1), env.robot.joint_vel[:, 1]
    centred, slow = mdp.tolerance(cart, margin=2.0), mdp.tolerance(rate, margin=5.0)
    return (1.0 + pole.cos()) * (1.0 + centred) * (1.0 + slow) * small_control(env) / 8.0


def balanced(env: ManagerBasedRlEnv, away: NonNegative = 0.25, cosine: float = 0.995) -> Tensor:
    """1 while the cart is within `away` metres of the middle and the pole's cosine at least `cosine`, else 0.  (N,)"""
    cart, pole = env.robot.joint_pos.unbind(dim=1)
    return ((cart.abs() <= away) & (pole.cos() >= cosine)).float()


def start_upright(
    env: ManagerBasedRlEnv, env_ids: Tensor, place: NonNegative = 0.1, angle: NonNegative = 0.034
) -> None:
    """The cart at U(-place, place), the pole at U(-angle, angle), and a little velocity."""
    draw = env.streams.uniform("event/start", (len(env_ids), 2), -1.0, 1.0)
    _start(env, env_ids, draw * torch.tensor([place, angle], device=env.device))


def start_hanging(env: ManagerBasedRlEnv, env_ids: Tensor, std: NonNegative = 0.01) -> None:
    """The pole hanging, both joints off by N(0, std²), and a little velocity."""
    off = std * env.streams.normal("event/start", (len(env_ids), 2))
    _start(env, env_ids, off + torch.tensor([0.0, math.pi], device=env.device))


def _start(env: ManagerBasedRlEnv, env_ids: Tensor, joints: Tensor) -> None:
    env.robot.write_joints(env_ids, joints, 0.01 * env.streams.normal("event/start_velocity", joints.shape))


balance = variant(_task, "Keep the pole upright and calm, with little control.", reward=calm, start=start_upright)
balance_sparse = variant(_task, "Keep the pole upright: only that is rewarded.", reward=balanced, start=start_upright)
swingup = variant(_task, "Swing the hanging pole up and keep it calm.", reward=calm, start=start_hanging)
swingup_sparse = variant(_task, "Swing the pole up: only upright is rewarded.", reward=balanced, start=start_hanging)
