"""Curriculum: difficulty that follows what has been learnt, updated when worlds reset."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from genelab.core.records import stored
from genelab.core.table import Table
from genelab.envs.cfg import CurriculumTermCfg
from genelab.envs.managers.base import Manager, instances, term_table
from genelab.envs.terms import Term

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


class CurriculumManager(Manager):
    """Runs curriculum terms; `values` holds what each returned last, for the log."""

    def __init__(self, cfg: dict[str, CurriculumTermCfg], env: "ManagerBasedRlEnv"):
        self._env = env
        self._terms = [Term("curriculum", name, term, env) for name, term in cfg.items()]
        self.values: dict[str, float] = {}

    def check(self) -> None:
        """Run every term once on one world, to find the ones that fail."""
        for term in self._terms:
            float(term.checked(torch.zeros(1, dtype=torch.int64, device=self._env.device)))

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        for term in self._terms:
            self.values[term.name] = float(term(env_ids))

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        return instances(self._terms)

    def tables(self) -> list[Table]:
        return [term_table("curriculum", self._terms)]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "values": dict(self.values)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.values = stored(state, "values", dict[str, float])
