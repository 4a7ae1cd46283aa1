"""The rsl_rl backend."""

from typing import Any

import torch

from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Backend, Hooks, Policy, TrainingRun, TrainResult
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.rsl_rl.policy import RslRlPolicy
from genelab.rl.rsl_rl.runner import Runner


class RslRlBackend(Backend):
    """PPO by rsl_rl."""

    name = "rsl_rl"

    def train(
        self,
        env: ManagerBasedRlEnv,
        agent_cfg: RslRlOnPolicyRunnerCfg,
        run: TrainingRun,
        infos: dict[str, Any],
        warm_start: dict[str, Any] | None = None,
        hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
    ) -> TrainResult:
        # rsl_rl draws initial weights, actions and minibatches from torch's global generator.
        torch.manual_seed(derive_seed(agent_cfg.seed, "learner"))
        runner = Runner(env, agent_cfg, infos, hooks)
        state = run.load_state()
        if state is not None:
            runner.load_state(state)
        else:
            if warm_start is not None:
                runner.load_checkpoint(warm_start, weights_only=True)
            if agent_cfg.random_episode_start:
                env.randomize_episode_start()
        return runner.learn_in(run)

    def load(self, env: ManagerBasedRlEnv, agent_cfg: RslRlOnPolicyRunnerCfg, checkpoint: dict[str, Any]) -> Policy:
        with torch.random.fork_rng():
            runner = Runner(env, agent_cfg, infos={})
        runner.load_checkpoint(checkpoint, weights_only=True)
        return RslRlPolicy(runner.alg.get_policy(), env.num_envs, env.device)
