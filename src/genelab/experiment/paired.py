"""Environments whose episodes can be compared world by world, and the policy of a checkpoint in them."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from genelab.core.config import from_dict
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.rl.backends import make_backend
from genelab.rl.backends.base import Policy
from genelab.rl.checkpoint import INFO_KEY


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


def load_policy(env: ManagerBasedRlEnv, checkpoint: dict[str, Any]) -> Policy:
    """The policy of a checkpoint, with its own normalisation statistics, for these worlds."""
    infos = checkpoint[INFO_KEY]
    return make_backend(infos["backend"]).load(env, from_dict(Any, infos["agent"]), checkpoint)
