"""Workers of all shards, as the learner knows them.

The worlds are cut into one shard per worker, in order. What a shard does depends on its state and on what it is asked
for only, and whatever is put together is put together in the order of the shards: scheduling changes nothing.

The learner has a state of every shard, and all that was asked of it since. A worker that dies or hangs is replaced by
one that begins with this state and does all of that again.
"""

import pickle
import signal
import socket
import struct
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing.connection import wait
from typing import Any

from torch.multiprocessing import get_context

from genelab.core.errors import RunStopped, UserError, reason
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks
from genelab.rl.shards.work import Report, Shard, book, packed, shard_name, unpacked, work

POLL_S = 1.0
"""Time between two looks at who is silent."""
STARTUP_S = 600.0
"""Silence that is allowed to a worker that builds its worlds, and in the first iteration; engines may compile."""
GRACE_S, PATIENCE = 60.0, 20.0
"""A worker hangs if it is silent for `GRACE_S` and `PATIENCE` times as long as the slowest has taken."""
ATTEMPTS = 3
"""Workers of one shard that may be lost in one exchange: what kills each of them is in what they are asked for."""


class Crew:
    """The workers, each with its shard. The environment of this process is never stepped: it keeps the books."""

    def __init__(
        self,
        env: ManagerBasedRlEnv,
        agent_cfg: Any,
        worker: str,
        hooks: Hooks,
        storage: Callable[[slice], dict[str, Any]] = lambda worlds: {},
    ):
        """`worker` is the kind of worker; `storage` is what the storage in shared memory holds of some worlds."""
        for setting in ("gpu", "vis"):
            if getattr(env.cfg.simulation, setting):
                raise UserError(f"env.simulation.{setting} needs all worlds in this process: use --workers 0")
        self._env, self._hooks, count = env, hooks, agent_cfg.rollout.workers
        self.hire: type[Remote] = hooks.workers or Process
        self.worlds = cut(env.num_envs, count)
        """Of each shard."""
        self.shards: list[Shard] = []
        for i, worlds in enumerate(self.worlds):
            simulation = replace(env.cfg.simulation, threads=1)
            env_cfg = replace(env.cfg, num_envs=worlds.stop - worlds.start, simulation=simulation)
            name = shard_name(i, count)
            self.shards.append(Shard(name, worker, worlds.start, env_cfg, agent_cfg, storage(worlds)))
        self.workers: dict[int, Remote] = {}  # by the number of their shard
        self.states: list[bytes | None] = [None] * count
        """The last that is known of every shard."""
        self._since: list[list[bytes]] = [[] for _ in self.shards]
        """What it was told after that."""
        self._untold: list[list[bytes]] = [[] for _ in self.shards]
        """What of this its present worker has not been told yet: one thing after the other."""
        self._limit_s = STARTUP_S

    def end(self) -> None:
        while self.workers:
            self.workers.popitem()[1].end()

    def state_dict(self) -> dict[str, Any]:
        shards = [unpacked(state) for state in self.states if state is not None]
        return {"shards": shards, "episode_stats": self._env.episode_stats.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if len(state["shards"]) != len(self.shards):
            raise UserError(f"it has {len(state['shards'])} shards, not {len(self.shards)}")
        self._env.episode_stats.load_state_dict(state["episode_stats"])
        self.states = list(map(packed, state["shards"]))

    def exchange(self, messages: Sequence[bytes] = ()) -> list[Report]:
        """Give every shard its message, or without any only let all be ready. Returns the reports, in order."""
        reports: dict[int, Report] = {}
        lost: Counter[int] = Counter()
        everyone = range(len(self.shards))
        for since, message in zip(self._since, messages, strict=False):
            since.append(message)
        for i in everyone:
            if i not in self.workers:
                self._hire(i)
            elif messages:
                self.workers[i].ask(messages[i])
        while waiting := {i: self.workers[i] for i in everyone if i not in reports}:
            spoke = self.hire.spoke(waiting)
            for i in spoke or waiting:
                try:
                    heard = self.workers[i].hear() if spoke else self.workers[i].miss(self._limit_s)
                except Lost as fate:
                    self.workers.pop(i).end()
                    lost[i] += 1
                    if lost[i] == ATTEMPTS:
                        raise RunStopped(f"{self.shards[i].name}: {ATTEMPTS} workers in a row {fate}") from None
                    self._hooks.say(f"{self.shards[i].name}: its worker {fate}; another one repeats the iteration")
                    self._hire(i)
                    continue
                if heard is None:
                    continue
                report, state = heard
                if state:
                    self.states[i], self._since[i] = state, list(self._untold[i])
                if report.error is None and self._untold[i]:
                    self.workers[i].ask(self._untold[i].pop(0))
                else:
                    reports[i] = report
        ordered = [reports[i] for i in everyone]
        book(self._env, ordered)
        if messages:
            self._limit_s = GRACE_S + PATIENCE * max(report.seconds for report in ordered)
        return ordered

    def _hire(self, i: int) -> None:
        self.workers[i] = self.hire(self.shards[i], self.states[i])
        self._untold[i] = list(self._since[i])


class Lost(Exception):  # noqa: N818
    """What happened to a worker, in words."""


class Remote(ABC):
    """A worker somewhere else, as the learner knows it."""

    def __init__(self, shard: Shard, state: bytes | None):
        """`state` is what `Worker.worlds` returned, packed; None begins. It reports when the worlds are built."""
        self._ready, self._silent_s = False, 0.0

    @staticmethod
    @abstractmethod
    def spoke(workers: "dict[int, Any]") -> list[int]:
        """The keys of those that have a report. Waits for it, but not for long."""

    @abstractmethod
    def ask(self, message: bytes) -> None:
        """Let it do what the message says, and report."""

    @abstractmethod
    def hear(self) -> tuple[Report, bytes]:
        """The report that has come, and the state after it; `Lost` if there will be none."""
        self._ready, self._silent_s = True, 0.0

    def miss(self, limit_s: float) -> None:
        """Another poll without a word; `Lost` if that was too long."""
        self._silent_s += POLL_S  # not by the clock, which goes on while this process is stopped
        if self._silent_s > (limit_s if self._ready else STARTUP_S):
            raise Lost(f"has hung for {self._silent_s:.0f} s")

    @abstractmethod
    def end(self) -> None:
        """Stop it at once."""


class Process(Remote):
    """A worker in a process of this machine, which writes into the learner's storage."""

    def __init__(self, shard: Shard, state: bytes | None):
        super().__init__(shard, state)
        # Forked from a clean process that has imported everything: it begins at once, and shares that memory.
        context = get_context("forkserver")
        context.set_forkserver_preload(["genelab.rl.rsl_rl.worker", "genelab.rl.methods.ppo", "genelab.engines.mujoco"])
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, shard, state), name=shard.name, daemon=True)
        try:
            self.process.start()
        except (OSError, EOFError) as error:  # no processes left, no memory
            raise RunStopped(f"{shard.name}: no worker can be started: {reason(error)}") from error
        theirs.close()
        with socket.socket(fileno=self.connection.fileno()) as ours:
            for way in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # who stops within a message must not stop us
                ours.setsockopt(socket.SOL_SOCKET, way, struct.pack("ll", int(GRACE_S), 0))
            ours.detach()

    @staticmethod
    def spoke(workers: "dict[int, Process]") -> list[int]:
        heard = wait([worker.connection for worker in workers.values()], POLL_S)
        return [i for i, worker in workers.items() if worker.connection in heard]

    def ask(self, message: bytes) -> None:
        with suppress(OSError):  # it is dead, or it hangs: both are found out soon
            self.connection.send_bytes(message)

    def hear(self) -> tuple[Report, bytes]:
        try:
            report, state = pickle.loads(self.connection.recv_bytes()), self.connection.recv_bytes()
        except (EOFError, OSError):
            self.process.join(POLL_S)
            code = self.process.exitcode
            ended = f"ended with exit code {code}" if code is not None else "stopped within a report"
            raise Lost(f"died of {signal.Signals(-code).name}" if code and code < 0 else ended) from None
        super().hear()
        return report, state

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def cut(num_envs: int, workers: int) -> list[slice]:
    """The worlds of each worker: all, in order, as evenly as possible."""
    return [slice(*ends) for ends in pairwise(num_envs * i // workers for i in range(workers + 1))]
