"""A goal-conditioned task for tests: drive the balanced cart to a place."""

import torch
from torch import Tensor

from genelab import mdp
from genelab.core.registry import TaskSpec
from genelab.envs import GoalCfg, ManagerBasedRlEnv, ManagerBasedRlEnvCfg, ObservationGroupCfg, ObservationTermCfg
from genelab.envs.cfg import RewardTermCfg
from genelab.mdp import UniformCommandCfg
from genelab.rl.cfg import Sb3AgentCfg, SkrlAgentCfg
from genelab.tasks.pendulum.balance import single

GOAL_TASK = "Test-Cart-Goal-v0"


def near(achieved: Tensor, desired: Tensor, within: float = 0.1) -> Tensor:
    """0 within reach of the goal, else -1, and a little for being close."""
    distance = torch.linalg.vector_norm(achieved - desired, dim=-1)
    return -(distance > within).float() - 0.1 * distance


def cart(env: ManagerBasedRlEnv) -> Tensor:
    """Position of the cart.  (N, 1)"""
    return env.robot.joint_pos[:, :1]


def env_cfg(play: bool = False) -> ManagerBasedRlEnvCfg:
    """The single pendulum with a target instead of its rewards."""
    cfg = single(play)
    cfg.events.pop("push", None)
    cfg.observations = {
        "policy": cfg.observations["policy"],
        "achieved_goal": ObservationGroupCfg(terms={"cart": ObservationTermCfg(cart, scale=2.0, clip=(-1.0, 1.0))}),
        "desired_goal": ObservationGroupCfg(
            terms={"target": ObservationTermCfg(mdp.generated_command, params={"command": "target"}, scale=2.0)}
        ),
    }
    cfg.commands = {"target": UniformCommandCfg(low=(-0.4,), high=(0.4,))}
    cfg.rewards = {"goal": RewardTermCfg(mdp.goal_reward, weight=2.0)}
    cfg.goal = GoalCfg(reward=near)
    cfg.episode_length_s = 0.2
    return cfg


def sb3() -> Sb3AgentCfg:
    """SAC with hindsight."""
    return Sb3AgentCfg(algorithm="SAC", her=True)


def skrl() -> SkrlAgentCfg:
    """SAC."""
    return SkrlAgentCfg(algorithm="SAC", obs_groups={"actor": ("policy",), "critic": ("policy",)})


SPEC = TaskSpec(
    id=GOAL_TASK,
    summary="for tests",
    env="goal_task:env_cfg",
    agents={"sb3": "goal_task:sb3", "skrl": "goal_task:skrl"},
)
