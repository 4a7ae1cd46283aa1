"""Actions: the policy's vector, split over terms that write the engine's controls."""

from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs.cfg import ActionTermCfg
from genelab.envs.managers.base import BuiltTermManager
from genelab.envs.terms import Env, Stateful


class ActionTerm(Stateful):
    """Base of action terms: delays and disturbs its part of the action, then `apply` acts on it."""

    state = ("recent", "delay")
    dim: int
    unit: str = ""
    """What the controls that it writes are measured in."""

    def __init__(self, name: str, cfg: ActionTermCfg, env: Env, dim: int):
        self.cfg, self.env, self.dim = cfg, env, dim
        self.delay = torch.zeros(env.num_envs, dtype=torch.int64, device=env.device)
        """(N,) control steps between an action and its effect."""
        self.recent = torch.zeros(cfg.latency[1] + 1, env.num_envs, dim, device=env.device)
        """Latest actions, newest first."""
        self.stream = f"action/{name}"
        """The random stream of this term, for ``self.env.streams``."""

    def process(self, action: Tensor) -> None:
        """Take this step's raw action and act on what arrives at the robot now."""
        applied = action
        if len(self.recent) > 1:
            self.recent = torch.cat((action.unsqueeze(0), self.recent[:-1]))
            applied = self.recent[self.delay, torch.arange(len(self.delay), device=action.device)]
        if self.cfg.noise > 0.0:
            applied = applied + self.cfg.noise * self.env.streams.normal(self.stream, applied.shape)
        self.apply(applied)

    def apply(self, action: Tensor) -> None:
        """Write the engine's controls for an action (N, dim)."""
        raise NotImplementedError

    def draw_delay(self, env_ids: Tensor, low: int, high: int) -> None:
        """Delay actions in these worlds by a number of control steps from `low` to `high`, until it is drawn again."""
        missing = high + 1 - len(self.recent)
        if missing > 0:
            self.recent = torch.cat((self.recent, self.recent[-1:].expand(missing, -1, -1)))
        self.delay[env_ids] = self.env.streams.integers(self.stream, (len(env_ids),), low, high)

    def reset(self, env_ids: Tensor) -> None:
        if len(self.recent) > 1:
            self.recent.index_fill_(1, env_ids, 0.0)
        if self.cfg.latency[1] > 0:
            self.draw_delay(env_ids, *self.cfg.latency)

    def describe(self) -> dict[str, Any]:
        """What a deployed controller must know about this term."""
        return {"dim": self.dim}


class ActionManager(BuiltTermManager):
    """Clips the raw action, remembers the last two, and hands each term its columns."""

    kind = "action"
    state = ("action", "previous_action")
    terms: dict[str, ActionTerm]

    def __init__(self, cfg: dict[str, ActionTermCfg], env: Env):
        super().__init__(cfg, env)
        self._dims = [term.dim for term in self.terms.values()]
        self._bound = env.engine.floats([term.cfg.clip for term in self.terms.values() for _ in range(term.dim)])
        self.dim = sum(self._dims)
        self.action = torch.zeros(env.num_envs, self.dim, device=env.device)
        """(N, dim) this step's raw action, clipped: what observations and rewards see."""
        self.previous_action = torch.zeros_like(self.action)

    def process(self, action: Tensor) -> None:
        """Accept this control step's action (N, dim)."""
        if action.shape != self.action.shape:
            raise UserError(f"the action has shape {tuple(action.shape)}, expected {tuple(self.action.shape)}")
        self.previous_action.copy_(self.action)
        torch.clamp(action, -self._bound, self._bound, out=self.action)
        for term, part in zip(self.terms.values(), self.action.split(self._dims, dim=1), strict=True):
            term.process(part)

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        self.action.index_fill_(0, env_ids, 0.0)
        self.previous_action.index_fill_(0, env_ids, 0.0)
