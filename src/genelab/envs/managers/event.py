"""Events change worlds at start-up, at reset or now and then; a curriculum does so at reset and says how hard it is."""

from typing import Any

import torch
from torch import Tensor

from genelab.core.stored_config import stored
from genelab.envs.cfg import CurriculumTermCfg, EventTermCfg
from genelab.envs.managers.base import TermManager
from genelab.envs.terms import Env


def _when(cfg: EventTermCfg) -> str:
    if cfg.interval_s is None:
        return cfg.mode
    later = f", from step {cfg.after} on" if cfg.after else ""
    return "every {:g} to {:g} s".format(*cfg.interval_s) + later


class EventManager(TermManager):
    """Runs events. Interval events have one clock per world, started anew with each episode."""

    kind, title = "event", "events"
    state = ("_time_left",)
    columns = {"when": _when}  # noqa: RUF012

    def __init__(self, cfg: dict[str, EventTermCfg], env: Env):
        super().__init__(cfg, env)
        self._startup, self._resets, self._intervals = (
            [term for term in self.terms if cfg[term.name].mode == mode] for mode in ("startup", "reset", "interval")
        )
        self.terms = [*self._startup, *self._resets, *self._intervals]
        self._after = [term.after for term in cfg.values() if term.mode == "interval"]
        self._time_left = torch.zeros(len(self._intervals), env.num_envs, device=env.device)

    def check(self) -> None:
        """Run every event once on one world, to find the ones that fail. The caller resets afterwards."""
        one_world = torch.zeros(1, dtype=torch.int64, device=self._env.device)
        for term in (*self._resets, *self._intervals):
            term.checked(one_world)

    def startup(self) -> None:
        for term in self._startup:
            term.checked(self._env.worlds)

    def step(self, dt: float) -> None:
        """Let time pass; run the interval events that are due."""
        if not self._intervals:
            return
        self._time_left -= dt
        if not bool((self._time_left <= 0.0).any()):
            return
        for row, term in enumerate(self._intervals):
            due = (self._time_left[row] <= 0.0).nonzero().flatten()
            if len(due):
                self._restart_clock(row, due)
                if self._env.step_count >= self._after[row]:
                    term(due)

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        for row in range(len(self._intervals)):
            self._restart_clock(row, env_ids)
        for term in self._resets:
            term(env_ids)

    def _restart_clock(self, row: int, env_ids: Tensor) -> None:
        term = self._intervals[row]
        low, high = term.cfg.interval_s  # type: ignore[attr-defined]
        stream = f"event/{term.name}/interval"
        self._time_left[row, env_ids] = self._env.streams.uniform(stream, (len(env_ids),), low, high)


class CurriculumManager(TermManager):
    """Runs curriculum terms; `values` holds what each returned last, for the log."""

    kind = title = "curriculum"

    def __init__(self, cfg: dict[str, CurriculumTermCfg], env: Env):
        super().__init__(cfg, env)
        self.values: dict[str, float] = {}

    def check(self) -> None:
        """Run every term once on one world, to find the ones that fail."""
        for term in self.terms:
            float(term.checked(torch.zeros(1, dtype=torch.int64, device=self._env.device)))

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        for term in self.terms:
            self.values[term.name] = float(term(env_ids))

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "values": dict(self.values)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.values = stored(state, "values", dict[str, float])
