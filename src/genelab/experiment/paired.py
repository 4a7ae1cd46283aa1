"""Environments whose episodes can be compared world by world."""

import dataclasses

import torch
from torch import Tensor

from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg


class PairedEnv(ManagerBasedRlEnv):
    """Worlds whose episode has ended are left to themselves until the next `reset`.

    So nothing random depends on how an episode went: with the same seed, every engine draws the same noise, commands
    and pushes at the same steps, also after one of them has let a robot fall.
    """

    def __init__(self, cfg: ManagerBasedRlEnvCfg, seed: int = 0):
        super().__init__(dataclasses.replace(cfg, auto_reset=False), seed)

    @property
    def worlds(self) -> Tensor:
        """Ids of all worlds."""
        return torch.arange(self.num_envs, device=self.device)
