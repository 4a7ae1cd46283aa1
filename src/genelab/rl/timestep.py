"""What learners of libraries that count environment steps over all worlds have in common: skrl, stable-baselines3."""

import math
import time
from abc import abstractmethod
from typing import Annotated, Any

import numpy as np
import torch

from genelab.core.errors import UserError, require_known
from genelab.core.ranges import CountOrZero, Range, check
from genelab.core.registry import load
from genelab.core.stored_config import stored
from genelab.core.tensors import one_torch_thread, stored_tensor
from genelab.rl.cfg import TimestepAgentCfg
from genelab.rl.deployed import DeployedPolicy
from genelab.rl.loop import Learner

_MT19937 = 624
"""Numbers in the state of numpy's generator."""


class TimestepLearner(Learner):
    """Counts environment steps over all worlds, in blocks: a rollout on-policy, `log_interval` steps off-policy."""

    agent_cfg: TimestepAgentCfg

    def build(self) -> None:
        self._elsewhere = None
        if self.training and self.agent_cfg.rollout.workers > 0:
            stepped = load("genelab.rl.shards.stepped:SteppedEnv")
            self._elsewhere = self.env = stepped(self.env, self.agent_cfg, self.hooks)
        self.control_steps = 0
        """Control steps so far, the same in every world."""
        self.losses: dict[str, float] = {}

    def start(self) -> None:
        if self._elsewhere is not None:
            self._elsewhere.begin()
        super().start()

    def close(self) -> None:
        if self._elsewhere is not None:
            self._elsewhere.crew.end()

    @property
    def iteration(self) -> int:
        return self.steps

    @property
    def steps(self) -> int:
        return self.control_steps * self.env.num_envs

    def run_iteration(self) -> tuple[dict[str, float], float, float]:
        collect_s = learn_s = 0.0
        if self.agent_cfg.is_on_policy:
            count = self.agent_cfg.on_policy.num_steps
        else:
            left = math.ceil((self.agent_cfg.max_iterations - self.steps) / self.env.num_envs)
            count = min(self.agent_cfg.off_policy.log_interval, left)
        for _ in range(count):
            start = time.perf_counter()
            with torch.no_grad(), one_torch_thread():
                self.collect()
            self.control_steps += 1
            if self.hooks.after_step is not None:
                self.hooks.after_step()
            collected = time.perf_counter()
            if self.update_due():
                self.optimiser_steps += self.update()
            collect_s += collected - start
            learn_s += time.perf_counter() - collected
        return self.losses, collect_s, learn_s

    @abstractmethod
    def collect(self) -> None:
        """Act for one control step and store what happened."""

    @abstractmethod
    def update(self) -> int:
        """Learn from what is stored. Returns the number of gradient steps."""

    @abstractmethod
    def buffer_state(self) -> dict[str, Any]:
        """What is stored, for an exact resume; empty if nothing is kept between updates."""

    @abstractmethod
    def load_buffer_state(self, state: dict[str, Any]) -> None:
        """Put back what `buffer_state` returned."""

    def learning_rate(self) -> float:
        """What to learn with now."""
        if not self.agent_cfg.decay_learning_rate:
            return self.agent_cfg.learning_rate
        return self.agent_cfg.learning_rate * max(0.0, 1.0 - self.steps / max(1, self.agent_cfg.max_iterations))

    def update_due(self) -> bool:
        """Whether to learn after this control step."""
        if self.agent_cfg.is_on_policy:
            return self.control_steps % self.agent_cfg.on_policy.num_steps == 0
        off = self.agent_cfg.off_policy
        return self.steps >= off.learning_starts and self.control_steps % off.train_every == 0

    def state(self) -> dict[str, Any]:
        return {
            "checkpoint": self.checkpoint(),
            "env": self.env.state_dict(),
            "torch_rng": torch.get_rng_state(),
            "numpy_rng": _numpy_rng_state(),
            "control_steps": self.control_steps,
            "optimiser_steps": self.optimiser_steps,
            "buffer": {} if self.agent_cfg.is_on_policy else self.buffer_state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.load_checkpoint(state["checkpoint"], weights_only=False)
        self.env.load_state_dict(state["env"])
        self.control_steps = stored(state, "control_steps", CountOrZero)
        self.optimiser_steps = stored(state, "optimiser_steps", CountOrZero)
        if self.iteration != state["checkpoint"]["iter"]:
            raise UserError(f"'control_steps' is {self.control_steps}, which is not when its checkpoint was made")
        if not self.agent_cfg.is_on_policy:
            self.load_buffer_state(state["buffer"])
        torch.set_rng_state(state["torch_rng"])
        _set_numpy_rng_state(state["numpy_rng"])

    def policy(self, num_envs: int) -> DeployedPolicy:
        return self.trained_policy().copy(num_envs)

    def _gradient_steps(self) -> int:
        if not self.agent_cfg.is_on_policy:
            return self.agent_cfg.off_policy.gradient_steps
        on = self.agent_cfg.on_policy
        return on.num_epochs * on.num_mini_batches if self.agent_cfg.algorithm == "PPO" else 1

    def groups(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Observation groups of a network: those configured, and the goals in a goal-conditioned task."""
        goals = () if self.env.goal is None else self.env.goal.groups
        groups = (*names, *(name for name in goals if name not in names))
        if not groups:
            raise UserError("agent.obs_groups is empty: the networks would see nothing")
        for name in groups:
            require_known("observation group", name, self.env.observation_manager.groups)
        reader = f"the networks of a {type(self.agent_cfg).__name__} read vectors only"
        self.env.observation_manager.require_vectors(groups, reader)
        return groups

    def width(self, groups: tuple[str, ...]) -> int:
        return sum(self.env.observation_manager.groups[name].dim for name in groups)


def filled_rows(size: int, position: int, full: bool) -> int:
    """How many rows of a buffer hold something, given where the next one goes."""
    if position >= size:
        raise UserError(f"the buffer goes on at row {position}, but it has {size}")
    return size if full else position


def _numpy_rng_state() -> dict[str, Any]:
    """State of numpy's global generator, which some libraries draw from, as plain data."""
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {"keys": torch.from_numpy(np.asarray(keys, np.int64)), "rest": [position, has_gauss, float(cached)]}


def _set_numpy_rng_state(state: dict[str, Any]) -> None:
    keys = stored_tensor(state, "keys", (_MT19937,), torch.int64)
    position, has_gauss, cached = stored(state, "rest", tuple[int, int, float])
    check("'rest'", position, Annotated[int, Range(0, _MT19937)])  # numpy would read beyond its numbers
    np.random.set_state(("MT19937", keys.numpy().astype(np.uint32), position, has_gauss, cached))
