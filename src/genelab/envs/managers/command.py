"""Commands: what the robot is asked to do, resampled at reset and from time to time."""

import torch
from torch import Tensor

from genelab.core.errors import lookup
from genelab.engines.pictures import Mark
from genelab.envs.cfg import CommandTermCfg
from genelab.envs.managers.base import BuiltTermManager
from genelab.envs.terms import Env, Stateful


class CommandTerm(Stateful):
    """Base of command terms: a value per world and the time until it changes."""

    state = ("command", "time_left")

    def __init__(self, name: str, cfg: CommandTermCfg, env: Env, dim: int):
        self.cfg, self.env, self.dim = cfg, env, dim
        self.stream = f"command/{name}"
        """The random stream of this term, for ``self.env.streams``."""
        self.command = torch.zeros(env.num_envs, dim, device=env.device)
        """(N, dim)"""
        self.time_left = torch.full((env.num_envs,), torch.inf, device=env.device)
        """(N,) seconds until the next resampling."""
        self._held: Tensor | None = None

    def sliders(self) -> list[tuple[str, float, float]]:
        """Name, lowest and highest value of each number of a command that can be given by hand. None, by default."""
        return []

    def hold(self, commands: Tensor) -> None:
        """Give worlds commands (N, dim) that stay, through resets too. Rows of NaN are drawn as ever."""
        self._held = commands
        self._keep(torch.arange(len(commands), device=commands.device))

    def resample(self, env_ids: Tensor) -> None:
        """Draw new commands for these worlds."""
        raise NotImplementedError

    def step(self, dt: float) -> None:
        """Let time pass; resample where it has run out."""
        if self.cfg.resampling_s is None:
            return
        self.time_left -= dt
        due = (self.time_left <= 0.0).nonzero().flatten()
        if len(due):
            self._renew(due)

    def write_state(self, env_ids: Tensor) -> None:
        """Put these worlds into the state that their new commands begin with. Nothing, unless overridden.

        Called at reset, after the reset events and after `resample`. Not when a command changes within an episode.
        """

    def marks(self, env_id: int) -> list[Mark]:
        """What pictures show of the present command in one world. Nothing, unless overridden."""
        return []

    def reset(self, env_ids: Tensor) -> None:
        self._renew(env_ids)
        self.write_state(env_ids)

    def _renew(self, env_ids: Tensor) -> None:
        if self.cfg.resampling_s is not None:
            self.time_left[env_ids] = self.env.streams.uniform(self.stream, (len(env_ids),), *self.cfg.resampling_s)
        self.resample(env_ids)
        self._keep(env_ids)

    def _keep(self, env_ids: Tensor) -> None:
        """Write the commands that these worlds hold."""
        if self._held is not None:
            held = self._held[env_ids]
            self.command[env_ids] = torch.where(held.isnan(), self.command[env_ids], held)


class CommandManager(BuiltTermManager):
    """Commands by name."""

    kind = "command"
    terms: dict[str, CommandTerm]

    def __getitem__(self, name: str) -> Tensor:
        """(N, dim) the present value of a command."""
        return lookup("command", name, self.terms).command

    def step(self, dt: float) -> None:
        for term in self.terms.values():
            term.step(dt)
