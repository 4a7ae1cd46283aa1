"""Rollouts for a learning method: acting in all worlds, checkpoints, warm starts and exact resume."""

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from genelab.core.errors import UserError
from genelab.core.ranges import CountOrZero
from genelab.core.registry import load
from genelab.core.stored_config import stored
from genelab.core.tensors import one_torch_thread
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.checkpoint import INFO_KEY, WarmStart
from genelab.rl.deployed import Deployed, DeployedPolicy, Held
from genelab.rl.layers import Symmetric
from genelab.rl.loop import Learner
from genelab.rl.methods.base import Method, batch_of

Step = tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]
"""What an environment returns: observations, rewards, terminated, truncated, extras."""


class RslRlLearner(Learner):
    """The method that the type of ``agent.algorithm`` selects, in the training loop."""

    agent_cfg: RslRlOnPolicyRunnerCfg
    iteration: int = 0

    @classmethod
    def in_training(cls, cfg: RslRlOnPolicyRunnerCfg) -> type["RslRlLearner"]:
        if cfg.rollout.learners > 1:
            return load("genelab.rl.rsl_rl.ranks:RankLearner")
        return load("genelab.rl.rsl_rl.shards:ShardedLearner") if cfg.rollout.workers > 0 else cls

    def build(self) -> None:
        self.method: Method = load(self.agent_cfg.algorithm.method).build(self.env, self.agent_cfg)
        self.method.exploration = self.agent_cfg.actor.distribution
        self.iteration = 0

    def run_iteration(self) -> tuple[dict[str, float], float, float]:
        self.method.train_mode()
        self.method.start_iteration(self.iteration / self.agent_cfg.max_iterations)
        start = time.perf_counter()
        self._collect()
        with one_torch_thread(), torch.no_grad():
            self.method.compute_advantages()
        collected = time.perf_counter()
        losses = self.method.update()
        self.optimiser_steps = self.method.optimiser_steps
        self.iteration += 1
        return losses, collected - start, time.perf_counter() - collected

    def networks(self) -> dict[str, nn.Module]:
        return self.method.networks()

    @property
    def steps(self) -> int:
        return self.iteration * self.agent_cfg.steps_per_iteration(self.env.num_envs)

    def metrics(self) -> dict[str, float]:
        return self.method.metrics()

    def trained_policy(self) -> DeployedPolicy:
        return DeployedPolicy(
            self._deployed(), self.env.num_envs, self.env.device, sample=self._sample, forget=self.method.forget
        )

    def policy(self, num_envs: int) -> DeployedPolicy:
        return DeployedPolicy(copy.deepcopy(self._deployed()), num_envs, self.env.device)

    def checkpoint(self) -> dict[str, Any]:
        return {**self.method.checkpoint(), **self.origin()}

    def _take_over(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        self.method.load_checkpoint(checkpoint, weights_only)

    def begin_with(self, start: WarmStart) -> None:
        """Take over the weights of a checkpoint; inputs that its policy did not see begin with weights of zero."""
        checkpoint, shown = dict(start.checkpoint), WarmStart.of(self.env)
        sets = checkpoint[INFO_KEY]["agent"].get("obs_groups", {})  # none in agents of other libraries
        for name, network in self.method.networks().items():
            weights = f"{name}_state_dict"
            if weights in checkpoint and name in sets:
                before = [column for group in sets[name] for column in start.columns[group]]
                now = [column for group in self.agent_cfg.obs_groups[name] for column in shown[group]]
                checkpoint[weights] = widen(checkpoint[weights], before, now)
                if isinstance(getattr(network, "mlp", None), Symmetric):  # of a plain network, the mean over both sides
                    checkpoint[weights] = {"mlp.symmetric": torch.ones(()), **checkpoint[weights]}
        self.load_checkpoint(checkpoint, weights_only=True)

    def state(self) -> dict[str, Any]:
        return {
            "checkpoint": self.checkpoint(),
            **self.worlds(),
            "torch_rng": torch.get_rng_state(),
            "optimiser_steps": self.optimiser_steps,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.load_checkpoint(state["checkpoint"], weights_only=False)
        self.iteration = stored(state["checkpoint"], "iter", CountOrZero)
        self.load_worlds(state)
        self.optimiser_steps = self.method.optimiser_steps = stored(state, "optimiser_steps", CountOrZero)
        torch.set_rng_state(state["torch_rng"])

    def worlds(self) -> dict[str, Any]:
        """What the next rollouts depend on, beside the weights and torch's generator."""
        return {"env": self.env.state_dict(), "memory": self.method.memory()}

    def load_worlds(self, state: dict[str, Any]) -> None:
        """Continue from what `worlds` returned."""
        self.env.load_state_dict(state["env"])
        self.method.load_memory(state["memory"], self.env.num_envs)

    def _deployed(self) -> Deployed:
        module, repeat = self.method.deployed(), self.agent_cfg.action_repeat
        return module if repeat == 1 else Held(module, self.env.num_actions, repeat)

    def _sample(self, obs: dict[str, Tensor]) -> Tensor:
        return self.method.sample(batch_of(self.env, obs))

    @one_torch_thread()
    @torch.no_grad()
    def _collect(self) -> None:
        """The rollouts of an iteration into the method's storage, and the returns that follow from them."""
        cfg, obs = self.agent_cfg, batch_of(self.env, self.env.obs)
        for _ in range(cfg.num_unrolls):
            for _ in range(cfg.num_steps_per_env):
                step = hold(self._step, self.method.act(obs), cfg.action_repeat, self._sample)
                after, rewards, terminated, truncated, extras = step
                obs = batch_of(self.env, after)
                self.method.process_env_step(obs, rewards, terminated | truncated, {**extras, "time_outs": truncated})
            self.method.compute_returns(obs)

    def _step(self, actions: Tensor) -> Step:
        step = self.env.step(actions)
        if self.hooks.after_step is not None:
            self.hooks.after_step()
        return step


def hold(step: Callable[[Tensor], Step], actions: Tensor, repeat: int, choose: Callable[..., Tensor]) -> Step:
    """Hold `actions` for `repeat` control steps.

    A world's rewards are summed until its episode ends, and ``final_obs`` is what that episode ended with. If that is
    before the last control step, the world begins its next episode at once, with an action of its own: those of
    `choose` (observations to actions), until all worlds act again. What that action earns is nobody's reward.
    """
    obs, rewards, terminated, truncated, extras = step(actions)
    over = terminated | truncated
    ended, final_obs = over, dict(extras["final_obs"])
    for _ in range(repeat - 1):
        if bool(over.any()):
            actions = torch.where(over.unsqueeze(1), choose(obs), actions)
        obs, more, terminates, truncates, extras = step(actions)
        over = terminates | truncates
        rewards = rewards + more.masked_fill(ended, 0.0)
        terminated, truncated = terminated | (terminates & ~ended), truncated | (truncates & ~ended)
        for name, value in extras["final_obs"].items():
            final_obs[name] = torch.where(ended.view(-1, *[1] * (value.dim() - 1)), final_obs[name], value)
        ended = ended | over
    return obs, rewards, terminated, truncated, {**extras, "final_obs": final_obs}


def widen(state: dict[str, Tensor], source: Sequence[str], target: Sequence[str]) -> dict[str, Tensor]:
    """Weights for the inputs `target`, which contain `source` by name. What is computed does not depend on new ones."""
    if list(source) == list(target):
        return state
    missing = [name for name in source if name not in set(target)]
    if missing:
        raise UserError(f"the checkpoint's policy sees {missing[0]}, which this task does not show")
    places = torch.tensor([target.index(name) for name in source])
    first_layer = "rnn.rnn.weight_ih_l0" if any(name.startswith("rnn.") for name in state) else "mlp.0.weight"
    fills = {first_layer: 0.0, "obs_normalizer._mean": 0.0, "obs_normalizer._var": 1.0, "obs_normalizer._std": 1.0}
    widened = dict(state)
    for name, fill in fills.items():
        if name in state:
            widened[name] = torch.full((state[name].shape[0], len(target)), fill).index_copy(1, places, state[name])
    return widened
