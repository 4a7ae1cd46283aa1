"""What a step led to: rewards, a weighted sum of terms times the control time step, metrics, and which episodes end."""

from typing import Any

import torch
from torch import Tensor

from genelab.envs.cfg import DoneTermCfg, RewardTermCfg
from genelab.envs.managers.base import SummingManager, TermManager
from genelab.envs.terms import Env


class RewardManager(SummingManager):
    """Evaluates the terms and keeps each one's sum over the running episode."""

    kind, title = "reward", "rewards"
    columns = {"weight": lambda cfg: cfg.weight}  # noqa: RUF012

    def __init__(self, cfg: dict[str, RewardTermCfg], env: Env):
        super().__init__(cfg, env)
        if any(term.ramp for term in cfg.values()):
            self.columns = {**self.columns, "ramp": lambda cfg: cfg.ramp and str(cfg.ramp)}
        self._scale = env.cfg.control_dt if env.cfg.scale_rewards_by_dt else 1.0
        self.values = torch.zeros(len(self.terms), env.num_envs, device=env.device)
        """(T, N) weighted reward of each term in the last step."""

    def compute(self, broken: Tensor | None = None) -> Tensor:
        """(N,) reward of this step, zero in worlds whose physics broke down. Terms of weight zero are not evaluated."""
        for row, term in enumerate(self.terms):
            cfg: Any = term.cfg  # read each step: curricula change it
            weight = cfg.weight if cfg.ramp is None else cfg.weight * cfg.ramp.factor(self._env.step_count)
            if weight == 0.0:
                self.values[row] = 0.0
            else:
                torch.mul(term(), weight * self._scale, out=self.values[row])
        if broken is not None:
            self.values[:, broken] = 0.0
        self.episode_sums += self.values
        return self.values.sum(dim=0)

    def not_finite(self) -> str | None:
        """The first term whose part of this step's reward is NaN or infinite in some world."""
        bad = (~self.values.isfinite()).any(dim=1).nonzero()
        return self.terms[int(bad[0])].name if len(bad) else None


class MetricsManager(SummingManager):
    """Sums each metric over the running episode."""

    kind, title = "metric", "metrics"

    def step(self) -> None:
        for row, term in enumerate(self.terms):
            self.episode_sums[row] += term()


class TerminationManager(TermManager):
    """Evaluates the end conditions. `fired` tells which of them held in the last step."""

    kind, title, dtype = "termination", "terminations", torch.bool
    columns = {"time-out": lambda cfg: cfg.time_out or None}  # noqa: RUF012

    def __init__(self, cfg: dict[str, DoneTermCfg], env: Env):
        super().__init__(cfg, env)
        self.fired = torch.zeros(len(self.terms), env.num_envs, dtype=torch.bool, device=env.device)
        """(T, N)"""
        self._time_out = [term.time_out for term in cfg.values()]

    def compute(self) -> tuple[Tensor, Tensor]:
        """(N,) terminated and (N,) truncated. A world that does both at once has terminated."""
        terminated = torch.zeros(self._env.num_envs, dtype=torch.bool, device=self._env.device)
        truncated = torch.zeros_like(terminated)
        for row, term in enumerate(self.terms):
            self.fired[row] = term()
            (truncated if self._time_out[row] else terminated).logical_or_(self.fired[row])
        return terminated, truncated & ~terminated
