"""Environments whose episodes can be compared world by world, also between engines, or with something moved."""

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg


class PairedEnv(ManagerBasedRlEnv):
    """Worlds whose episode has ended are left to themselves until the next `reset`.

    So nothing random depends on how an episode went: with the same seed, every engine draws the same noise, commands
    and pushes at the same steps, also after one of them has let a robot fall.
    """

    def __init__(self, cfg: ManagerBasedRlEnvCfg, seed: int = 0):
        super().__init__(dataclasses.replace(cfg, auto_reset=False), seed)


def make_env(
    cfg: ManagerBasedRlEnvCfg,
    engine: str,
    seed: int,
    *,
    dt_factor: float = 1.0,
    latency: int = 0,
    simulation: Iterable[tuple[str, Any]] = (),
) -> PairedEnv:
    """The task in an engine, with dt scaled at the same control rate, actions delayed further, physics options set."""
    cfg = copy.deepcopy(cfg)
    cfg.simulation = dataclasses.replace(cfg.simulation, **dict(simulation), engine=engine)
    decimation = cfg.decimation / dt_factor
    if decimation != int(decimation):
        raise UserError(f"a control step of {cfg.decimation} physics steps does not divide into steps {dt_factor} long")
    cfg.decimation = int(decimation)
    cfg.simulation.dt *= dt_factor
    for action in cfg.actions.values():
        low, high = action.latency
        action.latency = (low + latency, high + latency)
    return PairedEnv(cfg, seed=seed)
