"""What backends share that train with a `TrainingLoop`: seeding, resume, warm start, and loading a policy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Backend, Hooks, Policy, TrainingRun, TrainResult
from genelab.rl.loop import TrainingLoop


class LearningBackend(Backend):
    """A backend whose learner is a `TrainingLoop`."""

    learner: Callable[..., TrainingLoop]
    """``learner(env, agent_cfg, infos, hooks, training)``; without `training` it only needs what a policy needs."""

    def train(
        self,
        env: ManagerBasedRlEnv,
        agent_cfg: Any,
        run: TrainingRun,
        infos: dict[str, Any],
        warm_start: dict[str, Any] | None = None,
        hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
    ) -> TrainResult:
        env.require_auto_reset("training")
        # The libraries draw weights, actions and minibatches from the global generators. Their states are saved.
        seed = derive_seed(agent_cfg.seed, "learner")
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)
        learner = self.learner(env, agent_cfg, infos, hooks, training=True)
        state = run.load_state()
        if state is not None:
            learner.load_state(state)
        else:
            if warm_start is not None:
                learner.load_checkpoint(warm_start, weights_only=True)
            learner.start()
        return learner.learn_in(run)

    def load(self, env: ManagerBasedRlEnv, agent_cfg: Any, checkpoint: dict[str, Any]) -> Policy:
        with torch.random.fork_rng():
            learner = self.learner(env, agent_cfg, {}, Hooks(), training=False)
        learner.load_checkpoint(checkpoint, weights_only=True)
        return learner.trained_policy()
