"""The skrl backend."""

from typing import Any

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks
from genelab.rl.backends.learning import LearningBackend
from genelab.rl.cfg import SkrlAgentCfg
from genelab.rl.skrl.learner import SkrlLearner


class SkrlBackend(LearningBackend):
    """PPO, A2C, SAC, TD3 and DDPG by skrl."""

    name = "skrl"

    def make_learner(
        self, env: ManagerBasedRlEnv, agent_cfg: SkrlAgentCfg, infos: dict[str, Any], hooks: Hooks, training: bool
    ) -> SkrlLearner:
        return SkrlLearner(env, agent_cfg, infos, hooks, training)
