"""Curriculum: difficulty that follows what has been learnt, updated when worlds reset."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from genelab.core.stored_config import stored
from genelab.envs.cfg import CurriculumTermCfg
from genelab.envs.managers.base import TermManager

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


class CurriculumManager(TermManager):
    """Runs curriculum terms; `values` holds what each returned last, for the log."""

    kind = title = "curriculum"

    def __init__(self, cfg: dict[str, CurriculumTermCfg], env: "ManagerBasedRlEnv"):
        super().__init__(cfg, env)
        self.values: dict[str, float] = {}

    def check(self) -> None:
        """Run every term once on one world, to find the ones that fail."""
        for term in self.terms:
            float(term.checked(torch.zeros(1, dtype=torch.int64, device=self._env.device)))

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        for term in self.terms:
            self.values[term.name] = float(term(env_ids))

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "values": dict(self.values)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.values = stored(state, "values", dict[str, float])
