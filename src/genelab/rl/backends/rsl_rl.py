"""The rsl_rl backend."""

from typing import Any

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks
from genelab.rl.backends.learning import LearningBackend
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.rsl_rl.runner import Runner


class RslRlBackend(LearningBackend):
    """PPO by rsl_rl."""

    name = "rsl_rl"

    def make_learner(
        self,
        env: ManagerBasedRlEnv,
        agent_cfg: RslRlOnPolicyRunnerCfg,
        infos: dict[str, Any],
        hooks: Hooks,
        training: bool,
    ) -> Runner:
        return Runner(env, agent_cfg, infos, hooks)
