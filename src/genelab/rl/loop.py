"""The training loop that all backends share: log, evaluate, save, stop; and what libraries that count steps add to it.

An iteration is complete or has not happened: state is saved only between iterations.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from genelab.core.errors import RunStopped, UserError, unknown
from genelab.core.threads import one_torch_thread
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks, Policy, TrainingRun, TrainResult
from genelab.rl.cfg import TimestepAgentCfg
from genelab.rl.checkpoint import INFO_KEY, saved_checkpoints, weights_digest
from genelab.rl.mlp_policy import MlpPolicy

STATE_INTERVAL_S = 60.0
"""Time between two saves of the state that a killed run is resumed from, as long as saving is quick."""
STATE_SHARE = 0.05
"""Largest part of the time that may go into saving that state: large replay buffers are saved less often."""


class TrainingLoop(ABC):
    """A learner that trains in a run, one iteration at a time. It is the `Snapshot` that hooks see."""

    agent_cfg: Any
    hooks: Hooks
    worlds: ManagerBasedRlEnv
    """The environment it learns in."""
    previous: int = 0
    """Iterations that were complete when the last hook was called."""
    checkpoint_name = "model_{}.pt"
    final_name = "model_final.pt"

    @property
    @abstractmethod
    def iteration(self) -> int:
        """Complete iterations, in the unit of the config's ``max_iterations``."""

    @abstractmethod
    def run_iteration(self) -> tuple[dict[str, float], float, float]:
        """Collect and learn once. Returns losses, and the seconds spent on collecting and on learning."""

    @abstractmethod
    def networks(self) -> Sequence[nn.Module]:
        """All that is learnt, the actor first."""

    def start(self) -> None:
        """What a run does once, before its first iteration."""
        if self.agent_cfg.random_episode_start:
            self.worlds.randomize_episode_start()

    def digest(self) -> str:
        """sha256 of the weights."""
        return weights_digest(*(network.state_dict() for network in self.networks()))

    @abstractmethod
    def policy(self, num_envs: int) -> Policy:
        """A copy of the present policy for `num_envs` worlds."""

    @abstractmethod
    def trained_policy(self) -> Policy:
        """The policy itself, for a learner that does not go on learning."""

    @abstractmethod
    def checkpoint(self) -> dict[str, Any]:
        """What a checkpoint file holds: networks, optimisers, ``iter``, and where they come from."""

    @abstractmethod
    def load_checkpoint(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        """Take over the networks of a checkpoint and, unless `weights_only`, its optimisers."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything that the next iteration depends on, with the checkpoint of this moment as ``checkpoint``."""

    @abstractmethod
    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""

    def metrics(self) -> dict[str, float]:
        """Numbers to log beside the common ones."""
        return {}

    def learn_in(self, run: TrainingRun) -> TrainResult:
        """Train until the config's last iteration, or until the run is asked to stop."""
        total = self.agent_cfg.max_iterations
        saved_at, interval = time.monotonic(), STATE_INTERVAL_S
        while self.iteration < total and not run.stop_requested:
            self.previous = self.iteration
            losses, collect_s, learn_s = self.run_iteration()
            self._check_finite(losses, run)
            run.log(self.iteration, total, self._all_metrics(losses, collect_s, learn_s))
            if self.hooks.after_iteration is not None:
                self.hooks.after_iteration(self)
            due = passed(self.agent_cfg.save_interval, self.previous, self.iteration)
            if due:
                run.save_checkpoint(self.checkpoint_name.format(self.iteration), self.checkpoint())
            if due or time.monotonic() - saved_at > interval:
                began = time.monotonic()
                run.save_state(self.state())
                saved_at = time.monotonic()
                interval = max(STATE_INTERVAL_S, (saved_at - began) / STATE_SHARE)
        finished = self.iteration >= total
        run.save_state(self.state())
        name = self.final_name if finished else self.checkpoint_name.format(self.iteration)
        path = run.save_checkpoint(name, self.checkpoint())
        return TrainResult(self.iteration, finished, path, self.digest())

    @property
    @abstractmethod
    def steps(self) -> int:
        """Environment steps so far, over all worlds."""

    def _all_metrics(self, losses: dict[str, float], collect_s: float, learn_s: float) -> dict[str, float]:
        before = self.steps * self.previous // self.iteration
        stats = self.worlds.episode_stats
        metrics: dict[str, float] = {
            "steps": self.steps,
            "steps_per_s": (self.steps - before) / (collect_s + learn_s),
            "collect_s": collect_s,
            "learn_s": learn_s,
            **self.metrics(),
        }
        if stats.returns:
            metrics["return_mean"] = sum(stats.returns) / len(stats.returns)
            metrics["length_mean"] = sum(stats.lengths) / len(stats.lengths)
        metrics |= {f"loss/{name}": float(value) for name, value in losses.items()}
        return metrics | self.worlds.pop_episode_stats()

    def _check_finite(self, losses: dict[str, float], run: TrainingRun) -> None:
        weights_finite = all(bool(p.isfinite().all()) for p in self.networks()[0].parameters())
        if weights_finite and all(math.isfinite(value) for value in losses.values()):
            return
        saved = saved_checkpoints(run.directory)
        last = f"the last good checkpoint is {saved[-1]}" if saved else "no checkpoint had been saved yet"
        raise RunStopped(f"the policy diverged in iteration {self.iteration}; {last}")


def passed(interval: int, before: int, now: int) -> bool:
    """Whether a multiple of `interval` lies after `before` and not after `now`."""
    return now // interval > before // interval


class TimestepLearner(TrainingLoop):
    """A learner of a library that counts environment steps over all worlds: these are its iterations.

    It works in blocks: one rollout of an on-policy algorithm, `log_interval` control steps of an off-policy one.
    """

    agent_cfg: TimestepAgentCfg

    def __init__(self, env: ManagerBasedRlEnv, cfg: TimestepAgentCfg, infos: dict[str, Any], hooks: Hooks):
        self.env = self.worlds = env
        self.agent_cfg = cfg
        self.infos = infos
        self.hooks = hooks
        self.control_steps = 0
        """Control steps so far, the same in every world."""
        self.losses: dict[str, float] = {}
        """Losses of the last update."""

    @property
    def iteration(self) -> int:
        return self.steps

    @property
    def steps(self) -> int:
        return self.control_steps * self.env.num_envs

    def run_iteration(self) -> tuple[dict[str, float], float, float]:
        collect_s = learn_s = 0.0
        for _ in range(self._block()):
            start = time.perf_counter()
            with torch.no_grad(), one_torch_thread():
                self.collect()
            self.control_steps += 1
            if self.hooks.after_step is not None:
                self.hooks.after_step()
            collected = time.perf_counter()
            if self.update_due():
                self.update()
            collect_s += collected - start
            learn_s += time.perf_counter() - collected
        return self.losses, collect_s, learn_s

    @abstractmethod
    def collect(self) -> None:
        """Act for one control step and store what happened."""

    @abstractmethod
    def update(self) -> None:
        """Learn from what is stored."""

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
            "buffer": {} if self.agent_cfg.is_on_policy else self.buffer_state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.load_checkpoint(state["checkpoint"], weights_only=False)
        self.env.load_state_dict(state["env"])
        self.control_steps = state["control_steps"]
        if not self.agent_cfg.is_on_policy:
            self.load_buffer_state(state["buffer"])
        torch.set_rng_state(state["torch_rng"])
        _set_numpy_rng_state(state["numpy_rng"])

    def policy(self, num_envs: int) -> Policy:
        return self.trained_policy().copy()

    @abstractmethod
    def trained_policy(self) -> MlpPolicy: ...

    def origin(self) -> dict[str, Any]:
        """The entries of a checkpoint that say when and from what it was made."""
        return {"iter": self.iteration, INFO_KEY: self.infos}

    def groups(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Observation groups of a network: those configured, and the goals in a goal-conditioned task."""
        goals = () if self.env.goal is None else self.env.goal.groups
        groups = (*names, *(name for name in goals if name not in names))
        for name in groups:
            if name not in self.env.observation_manager.groups:
                raise unknown("observation group", name, self.env.observation_manager.groups)
        return groups

    def width(self, groups: tuple[str, ...]) -> int:
        """Values in these observation groups together."""
        return sum(self.env.observation_manager.groups[name].dim for name in groups)

    def _block(self) -> int:
        """Control steps of the next iteration."""
        if self.agent_cfg.is_on_policy:
            return self.agent_cfg.on_policy.num_steps
        left = math.ceil((self.agent_cfg.max_iterations - self.steps) / self.env.num_envs)
        return min(self.agent_cfg.off_policy.log_interval, left)


def does_not_fit(error: Exception) -> UserError:
    """The error for a checkpoint of other networks."""
    return UserError(f"the checkpoint does not fit the agent and environment: {' '.join(str(error).split())}")


def _numpy_rng_state() -> dict[str, Any]:
    """State of numpy's global generator, which some libraries draw from, as plain data."""
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {"keys": torch.from_numpy(np.asarray(keys, np.int64)), "rest": [position, has_gauss, float(cached)]}


def _set_numpy_rng_state(state: dict[str, Any]) -> None:
    np.random.set_state(("MT19937", state["keys"].numpy().astype(np.uint32), *state["rest"]))
