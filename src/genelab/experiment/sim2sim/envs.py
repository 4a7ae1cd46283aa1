"""The environments that are compared: the same task in another engine, or in the same one with something moved."""

import copy

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnvCfg
from genelab.experiment.paired import PairedEnv


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
