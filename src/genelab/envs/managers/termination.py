"""Terminations: which episodes end, and whether they finished or were cut off."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from genelab.core.table import Table
from genelab.envs.cfg import DoneTermCfg
from genelab.envs.managers.base import Manager, check_terms, instances, term_table
from genelab.envs.terms import Term

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


class TerminationManager(Manager):
    """Evaluates the end conditions. `fired` tells which of them held in the last step."""

    def __init__(self, cfg: dict[str, DoneTermCfg], env: "ManagerBasedRlEnv"):
        self._env = env
        self.terms = [Term("termination", name, term, env) for name, term in cfg.items()]
        self.fired = torch.zeros(len(self.terms), env.num_envs, dtype=torch.bool, device=env.device)
        """(T, N)"""
        self._time_out = [term.time_out for term in cfg.values()]

    def check(self) -> None:
        """Evaluate every term once; raise for the first that does not fit."""
        check_terms(self.terms, self._env.num_envs, torch.bool)

    def compute(self) -> tuple[Tensor, Tensor]:
        """(N,) terminated and (N,) truncated. A world that does both at once has terminated."""
        terminated = torch.zeros(self._env.num_envs, dtype=torch.bool, device=self._env.device)
        truncated = torch.zeros_like(terminated)
        for row, term in enumerate(self.terms):
            self.fired[row] = term()
            (truncated if self._time_out[row] else terminated).logical_or_(self.fired[row])
        return terminated, truncated & ~terminated

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        return instances(self.terms)

    def tables(self) -> list[Table]:
        return [term_table("terminations", self.terms, {"time-out": lambda cfg: cfg.time_out or None})]
