"""RL libraries by name. Nothing heavy is imported until a backend is used."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genelab.core.errors import UserError
from genelab.core.parts import Part, part_class
from genelab.core.registry import load

if TYPE_CHECKING:
    from genelab.rl.backends.base import Backend


@dataclass(frozen=True, kw_only=True)
class BackendPart(Part):
    """A backend, and the agent config that selects it."""

    agent_cfg: str
    """``"module:Class"``."""


BACKENDS = {
    "rsl_rl": BackendPart(
        name="rsl_rl",
        target="genelab.rl.backends.rsl_rl:RslRlBackend",
        agent_cfg="genelab.rl.cfg:RslRlOnPolicyRunnerCfg",
        requires="rsl_rl",
        install="pip install genelab",
        summary="PPO, with MLP, LSTM and GRU policies",
    ),
    "skrl": BackendPart(
        name="skrl",
        target="genelab.rl.backends.skrl:SkrlBackend",
        agent_cfg="genelab.rl.cfg:SkrlAgentCfg",
        requires="skrl",
        install="pip install genelab[skrl]",
        summary="PPO, A2C, SAC, TD3, DDPG, with an asymmetric critic",
    ),
    "sb3": BackendPart(
        name="sb3",
        target="genelab.rl.backends.sb3:Sb3Backend",
        agent_cfg="genelab.rl.cfg:Sb3AgentCfg",
        requires="stable_baselines3",
        install="pip install genelab[sb3]",
        summary="PPO, A2C, SAC, TD3, DDPG, with HER and demonstrations",
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
    return part_class("backend", name, BACKENDS)()
