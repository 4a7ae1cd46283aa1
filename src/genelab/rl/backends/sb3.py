"""The sb3 backend."""

from typing import Any

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks
from genelab.rl.backends.learning import LearningBackend
from genelab.rl.cfg import Sb3AgentCfg
from genelab.rl.sb3.learner import Sb3Learner


class Sb3Backend(LearningBackend):
    """PPO, A2C, SAC, TD3 and DDPG by stable-baselines3, the last three with hindsight (HER)."""

    name = "sb3"
    checkpoint_suffix = ".zip"

    def make_learner(
        self, env: ManagerBasedRlEnv, agent_cfg: Sb3AgentCfg, infos: dict[str, Any], hooks: Hooks, training: bool
    ) -> Sb3Learner:
        return Sb3Learner(env, agent_cfg, infos, hooks, training)
