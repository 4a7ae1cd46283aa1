"""Terminations: which episodes end, and whether they finished or were cut off."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from genelab.envs.cfg import DoneTermCfg
from genelab.envs.managers.base import TermManager

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


class TerminationManager(TermManager):
    """Evaluates the end conditions. `fired` tells which of them held in the last step."""

    kind, title, dtype = "termination", "terminations", torch.bool
    columns = {"time-out": lambda cfg: cfg.time_out or None}  # noqa: RUF012

    def __init__(self, cfg: dict[str, DoneTermCfg], env: "ManagerBasedRlEnv"):
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
