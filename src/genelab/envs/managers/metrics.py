"""Metrics: numbers per world, averaged over each episode."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from genelab.core.table import Table
from genelab.envs.cfg import MetricTermCfg
from genelab.envs.managers.base import Manager, check_terms, instances, term_table
from genelab.envs.terms import Term

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


class MetricsManager(Manager):
    """Sums each metric over the running episode."""

    buffers = ("episode_sums",)

    def __init__(self, cfg: dict[str, MetricTermCfg], env: "ManagerBasedRlEnv"):
        self._env = env
        self.terms = [Term("metric", name, term, env) for name, term in cfg.items()]
        self.episode_sums = torch.zeros(len(self.terms), env.num_envs, dtype=torch.float64, device=env.device)
        """(T, N)"""

    def check(self) -> None:
        """Evaluate every term once; raise for the first that does not fit."""
        check_terms(self.terms, self._env.num_envs)

    def step(self) -> None:
        for row, term in enumerate(self.terms):
            self.episode_sums[row] += term()

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        self.episode_sums[:, env_ids] = 0.0

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        return instances(self.terms)

    def tables(self) -> list[Table]:
        return [term_table("metrics", self.terms)]
