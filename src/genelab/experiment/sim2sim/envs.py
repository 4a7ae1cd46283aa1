"""The environments that are compared: the same task in another engine, or in the same one with something moved."""

import copy
from typing import Any

import torch
from torch import Tensor

from genelab.core.config import from_dict
from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.rl.backends import make_backend
from genelab.rl.backends.base import Policy
from genelab.rl.checkpoint import INFO_KEY


class PairedEnv(ManagerBasedRlEnv):
    """Worlds whose episode has ended are left to themselves until the next `reset`.

    So nothing random depends on how an episode went: with the same seed, every engine draws the same noise, commands
    and pushes at the same steps, also after one of them has let a robot fall.
    """

    def _restart(self, done: Tensor) -> None:
        pass

    @property
    def worlds(self) -> Tensor:
        """Ids of all worlds."""
        return torch.arange(self.num_envs, device=self.device)


def make_env(
    cfg: ManagerBasedRlEnvCfg, engine: str, seed: int, *, dt_factor: float = 1.0, latency: int = 0
) -> PairedEnv:
    """The task in an engine, with its time step scaled at the same control rate, or its actions delayed further."""
    cfg = copy.deepcopy(cfg)
    cfg.simulation.engine = engine
    decimation = cfg.decimation / dt_factor
    if decimation != int(decimation):
        raise UserError(f"a control step of {cfg.decimation} physics steps does not divide into steps {dt_factor} long")
    cfg.decimation = int(decimation)
    cfg.simulation.dt *= dt_factor
    for action in cfg.actions.values():
        low, high = action.latency
        action.latency = (low + latency, high + latency)
    return PairedEnv(cfg, seed=seed)


def load_policy(env: ManagerBasedRlEnv, checkpoint: dict[str, Any]) -> Policy:
    """The policy of a checkpoint, with its own normalisation statistics, for these worlds."""
    infos = checkpoint[INFO_KEY]
    return make_backend(infos["backend"]).load(env, from_dict(Any, infos["agent"]), checkpoint)
