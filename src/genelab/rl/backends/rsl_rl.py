"""The rsl_rl backend."""

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Backend, Policy, TrainingRun, TrainResult
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.rsl_rl.runner import Runner


class RslRlPolicy(Policy):
    """An rsl_rl actor."""

    def __init__(self, actor: Any, num_envs: int, device: str):
        self._actor = actor
        self._num_envs = num_envs
        self._device = device
        self._actor.eval()

    @torch.no_grad()
    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        batch = TensorDict(obs, batch_size=[self._num_envs], device=self._device)  # type: ignore[arg-type]
        return self._actor(batch, stochastic_output=not deterministic)

    def reset(self, env_ids: Tensor | None = None) -> None:
        if not self._actor.is_recurrent:
            return
        if env_ids is None:
            self._actor.reset()
            return
        dones = torch.zeros(self._num_envs, dtype=torch.bool, device=self._device)
        dones[env_ids] = True
        self._actor.reset(dones)

    @property
    def module(self) -> nn.Module:
        return self._actor


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
        after_step: Callable[[], None] | None = None,
    ) -> TrainResult:
        # rsl_rl draws initial weights, actions and minibatches from torch's global generator.
        torch.manual_seed(derive_seed(agent_cfg.seed, "learner"))
        runner = Runner(env, agent_cfg, infos, after_step)
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
