"""The environments that are compared: the same task in another engine, or in the same one with something moved."""

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnvCfg
from genelab.experiment.paired import PairedEnv


def make_env(
    cfg: ManagerBasedRlEnvCfg,
    engine: str,
    seed: int,
    *,
    dt_factor: float = 1.0,
    latency: int = 0,
    simulation: Iterable[tuple[str, Any]] = (),
) -> PairedEnv:
    """The task in an engine.

    Its time step can be scaled at the same control rate, its actions delayed further, and options of the physics set.
    """
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
