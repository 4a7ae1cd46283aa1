"""Curriculum: difficulty that follows what has been learnt, updated when worlds reset."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from genelab.envs.cfg import CurriculumTermCfg
from genelab.envs.managers.base import Manager, instances
from genelab.envs.terms import Term

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


class CurriculumManager(Manager):
    """Runs curriculum terms; `values` holds what each returned last, for the log."""

    def __init__(self, cfg: dict[str, CurriculumTermCfg], env: "ManagerBasedRlEnv"):
        self._terms = [Term("curriculum", name, term, env) for name, term in cfg.items()]
        self.values: dict[str, float] = {}

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        for term in self._terms:
            self.values[term.name] = float(term(env_ids))

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        return instances(self._terms)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "values": dict(self.values)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.values = dict(state["values"])
