"""Command terms."""

from dataclasses import dataclass

from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs.cfg import CommandTermCfg
from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.managers import CommandTerm


@dataclass(kw_only=True)
class UniformCommandCfg(CommandTermCfg):
    """A vector drawn uniformly between two corners."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def build(self, name: str, env: ManagerBasedRlEnv) -> "UniformCommand":
        if len(self.low) != len(self.high):
            raise UserError(f"low has {len(self.low)} values and high {len(self.high)}")
        return UniformCommand(name, self, env, len(self.low))


class UniformCommand(CommandTerm):
    """See `UniformCommandCfg`."""

    cfg: UniformCommandCfg

    def resample(self, env_ids: Tensor) -> None:
        for column, (low, high) in enumerate(zip(self.cfg.low, self.cfg.high, strict=True)):
            self.command[env_ids, column] = self._env.streams.uniform(self._stream, (len(env_ids),), low, high)
