"""RL libraries by name. Nothing heavy is imported until a backend is used."""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genelab.core.errors import UserError, unknown
from genelab.core.registry import load

if TYPE_CHECKING:
    from genelab.rl.backends.base import Backend


@dataclass(frozen=True)
class BackendInfo:
    """A backend that can be asked for, installed or not."""

    name: str
    target: str
    """``"module:Class"``."""
    agent_cfg: str
    """``"module:Class"`` of the agent config that selects this backend."""
    requires: str
    install: str
    summary: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None


BACKENDS = {
    "rsl_rl": BackendInfo(
        name="rsl_rl",
        target="genelab.rl.backends.rsl_rl:RslRlBackend",
        agent_cfg="genelab.rl.cfg:RslRlOnPolicyRunnerCfg",
        requires="rsl_rl",
        install="pip install genelab",
        summary="PPO, with MLP, LSTM and GRU policies",
    ),
}


def backend_of(agent_cfg: Any) -> "Backend":
    """The backend that an agent config's type selects."""
    for info in BACKENDS.values():
        if isinstance(agent_cfg, load(info.agent_cfg)):
            return make_backend(info.name)
    raise UserError(f"no backend trains a {type(agent_cfg).__name__}")


def make_backend(name: str) -> "Backend":
    """The backend called `name`."""
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    info = BACKENDS[name]
    if not info.installed:
        raise UserError(f"backend '{name}' is not installed: {info.install}")
    return load(info.target)()
