"""The training loop that all learners share: collect and learn, log, evaluate, save, stop.

An iteration is complete or has not happened: state is saved only between iterations.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn

from genelab.core.errors import Diverged, UserError
from genelab.core.tensors import networks_not_finite
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks, Policy, TrainingRun, TrainResult
from genelab.rl.checkpoint import INFO_KEY, WarmStart, saved_checkpoints, weights_digest
from genelab.rl.deployed import DeployedPolicy

STATE_INTERVAL_S = 60.0
"""Time between two saves of the state that a killed run is resumed from, as long as saving is quick."""
STATE_SHARE = 0.05
"""Largest part of the time that may go into saving that state: large replay buffers are saved less often."""


class Learner(ABC):
    """Trains in a run, one iteration at a time. Without `training` it only needs what a policy needs."""

    checkpoint_name: ClassVar[str] = "model_{}.pt"
    final_name: ClassVar[str] = "model_final.pt"

    def __init__(
        self,
        env: ManagerBasedRlEnv,
        cfg: Any,
        infos: dict[str, Any],
        hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
        training: bool = True,
    ):
        self.env, self.agent_cfg, self.hooks, self.training = env, cfg, hooks, training
        self.infos = infos
        """What every checkpoint says about its origin."""
        self.previous = 0
        """Iterations that were complete when the last hook was called."""
        self.optimiser_steps = 0
        """Gradient steps so far."""
        self.build()

    @classmethod
    def in_training(cls, cfg: Any) -> "type[Learner]":
        """The class that trains with a config. This one acts with what was trained, too."""
        return cls

    @abstractmethod
    def build(self) -> None:
        """Make the networks and all they learn with, for the observations and actions of the environment."""

    @property
    @abstractmethod
    def iteration(self) -> int:
        """Complete iterations, in the unit of the config's ``max_iterations``."""

    @property
    def unit(self) -> str:
        """What iterations are counted in."""
        return self.agent_cfg.unit

    @abstractmethod
    def run_iteration(self) -> tuple[dict[str, float], float, float]:
        """Collect and learn once. Returns losses, and the seconds spent on collecting and on learning."""

    @abstractmethod
    def networks(self) -> Mapping[str, nn.Module]:
        """All that is learnt, by name, the actor first."""

    def start(self) -> None:
        """What a run does once, before its first iteration."""
        if self.agent_cfg.random_episode_start:
            self.env.randomize_episode_start()

    def close(self) -> None:  # noqa: B027
        """Free what the learner holds beside the environment."""

    def begin_with(self, start: WarmStart) -> None:
        """Take over the weights of a checkpoint, if its policy sees what this one does."""
        if start.columns != start.of(self.env):
            raise UserError("the checkpoint's policy has other observations, which this backend cannot begin with")
        self.load_checkpoint(start.checkpoint, weights_only=True)

    def digest(self) -> str:
        return weights_digest(*(network.state_dict() for network in self.networks().values()))

    @abstractmethod
    def policy(self, num_envs: int) -> Policy:
        """A copy of the present policy for `num_envs` worlds."""

    @abstractmethod
    def trained_policy(self) -> DeployedPolicy:
        """The policy itself, for a learner that does not go on learning."""

    @abstractmethod
    def checkpoint(self) -> dict[str, Any]:
        """What a checkpoint file holds: networks, optimisers, ``iter``, and where they come from."""

    def load_checkpoint(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        """Take over the networks of a checkpoint and, unless `weights_only`, its optimisers."""
        try:
            self._take_over(checkpoint, weights_only)
        except Exception as error:  # the structure of a checkpoint can be wrong in any way
            reason = " ".join(str(error).split())
            raise UserError(f"the checkpoint does not fit the agent and environment: {reason}") from error

    @abstractmethod
    def _take_over(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        """`load_checkpoint`, with whatever error a checkpoint of other networks leads to."""

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
            self.previous, steps = self.iteration, self.steps
            try:
                losses, collect_s, learn_s = self.run_iteration()
            except (ValueError, RuntimeError):  # torch refuses to draw from a distribution that is not finite
                self._check_finite({}, run)
                raise
            self._check_finite(losses, run)
            times = {"collect_s": collect_s, "learn_s": learn_s}
            speed = (self.steps - steps) / (collect_s + learn_s)
            metrics = {"steps": self.steps, "steps_per_s": speed, **times, **self._log(losses)}
            run.log(self.iteration, total, metrics, self.unit)
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
        return TrainResult(self.iteration, finished, path, self.digest(), self.unit)

    @property
    @abstractmethod
    def steps(self) -> int:
        """Environment steps so far, over all worlds."""

    def origin(self) -> dict[str, Any]:
        """The entries of a checkpoint that say when and from what it was made."""
        return {"iter": self.iteration, INFO_KEY: self.infos}

    def _log(self, losses: dict[str, float]) -> dict[str, float]:
        """What an iteration logs beside its times: the learner's numbers, then those of the episodes that ended."""
        stats = self.env.episode_stats
        metrics: dict[str, float] = {"optimiser_steps": self.optimiser_steps, **self.metrics()}
        if stats.returns:
            metrics["return_mean"] = sum(stats.returns) / len(stats.returns)
            metrics["length_mean"] = sum(stats.lengths) / len(stats.lengths)
        metrics |= {f"loss/{name}": float(value) for name, value in losses.items()}
        return metrics | self.env.pop_episode_stats()

    def require_finite_networks(self) -> None:
        """Raise a `UserError` if the networks that a training is about to begin with are not finite."""
        if (fault := networks_not_finite(self.networks())) is not None:
            raise UserError(f"the checkpoint to begin with is not finite: {fault}")

    def _check_finite(self, losses: dict[str, float], run: TrainingRun) -> None:
        """Stop if anything is not finite, and say what was first: what came in, else a network, else a loss."""
        fault = self.env.not_finite or networks_not_finite(self.networks())
        if fault is None:
            fault = next((f"loss '{name}'" for name, value in losses.items() if not math.isfinite(value)), None)
        if fault is not None:
            saved = saved_checkpoints(run.directory)
            last = f"the last good checkpoint is {saved[-1]}" if saved else "no checkpoint had been saved yet"
            raise Diverged(f"the policy diverged after {self.unit} {self.previous}; first not finite: {fault}; {last}")


def passed(interval: int, before: int, now: int) -> bool:
    """Whether a multiple of `interval` lies after `before` and not after `now`."""
    return now // interval > before // interval
