"""Rollouts of workers on this machine: the learner's side.

The worlds are cut into one shard per worker, in order. Workers write their rollouts into the learner's storage, which
is shared memory. What a shard does depends on its state and the weights only, and whatever is put together is put
together in the order of the shards: scheduling changes nothing.

After every iteration the learner has the state of every shard. A worker that dies or hangs is replaced by one that
begins with the last state and repeats the iteration alone.
"""

import pickle
import shutil
import signal
import socket
import struct
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor
from torch.multiprocessing import get_context

from genelab.core.errors import RunStopped, UserError, reason
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.methods.base import Method, batch_of
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.rl.rsl_rl.worker import Report, Shard, book, packed, shard_name, unpacked, work

POLL_S = 1.0
"""Time between two looks at who is silent."""
STARTUP_S = 600.0
"""Silence that is allowed to a worker that builds its worlds, and in the first iteration; engines may compile."""
GRACE_S, PATIENCE = 60.0, 20.0
"""A worker hangs if it is silent for `GRACE_S` and `PATIENCE` times as long as the slowest has taken."""
ATTEMPTS = 3
"""Workers of one shard that may be lost in one iteration: what kills each of them is in the iteration itself."""
SHARED_MEMORY = Path("/dev/shm")


class ShardedLearner(RslRlLearner):
    """Collects in worker processes. The environment of this process is never stepped: it keeps the books."""

    def build(self) -> None:
        super().build()
        env, workers = self.env, self.agent_cfg.rollout.workers
        for setting in ("gpu", "vis"):
            if getattr(env.cfg.simulation, setting):
                raise UserError(f"env.simulation.{setting} needs all worlds in this process: use --workers 0")
        self.hire: type[Remote] = self.hooks.workers or Process
        _share(env, self.method)
        self.shards: list[Shard] = []
        for i, worlds in enumerate(cut(env.num_envs, workers)):
            simulation = replace(env.cfg.simulation, threads=1)
            env_cfg = replace(env.cfg, num_envs=worlds.stop - worlds.start, simulation=simulation)
            name, rows = shard_name(i, workers), part(self.method.storage, worlds)
            self.shards.append(Shard(name, worlds.start, env_cfg, self.agent_cfg, rows))
        self.workers: dict[int, Remote] = {}  # by the number of their shard
        self._states: list[bytes | None] = [None] * workers
        """Of every shard, after the last iteration."""
        self._limit_s = STARTUP_S

    def start(self) -> None:
        self._exchange(None)

    def close(self) -> None:
        while self.workers:
            self.workers.popitem()[1].end()

    def worlds(self) -> dict[str, Any]:
        shards = [unpacked(state) for state in self._states if state is not None]
        return {"shards": shards, "episode_stats": self.env.episode_stats.state_dict()}

    def load_worlds(self, state: dict[str, Any]) -> None:
        if len(state["shards"]) != len(self.shards):
            raise UserError(f"it has {len(state['shards'])} shards, not {len(self.shards)}")
        self.env.episode_stats.load_state_dict(state["episode_stats"])
        self._states = list(map(packed, state["shards"]))
        self._exchange(None)

    def _collect(self) -> None:
        weights = {name: network.state_dict() for name, network in self.networks().items()}
        progress = self.iteration / self.agent_cfg.max_iterations
        reports = self._exchange(packed({"weights": weights, "progress": progress}))
        self._limit_s = GRACE_S + PATIENCE * max(report.seconds for report in reports)

    def _exchange(self, message: bytes | None) -> list[Report]:
        """Let every shard collect, or without a message only be ready. Returns the reports, in the shards' order."""
        reports: dict[int, Report] = {}
        lost: Counter[int] = Counter()
        everyone = range(len(self.shards))
        for i in everyone:
            self._ask(i, message)
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
                    self.hooks.say(f"{self.shards[i].name}: its worker {fate}; another one repeats the iteration")
                    self._ask(i, message)
                    continue
                if heard is None:
                    continue
                report, state = heard
                if report.error is None:
                    self._states[i] = state
                if report.error is not None or self.workers[i].owes == 0:
                    reports[i] = report
        ordered = [reports[i] for i in everyone]
        book(self.env, ordered)
        return ordered

    def _ask(self, i: int, message: bytes | None) -> None:
        if i not in self.workers:
            self.workers[i] = self.hire(self.shards[i], self._states[i])
        if message is not None:
            self.workers[i].ask(message)


class Lost(Exception):  # noqa: N818
    """What happened to a worker, in words."""


class Remote(ABC):
    """A worker somewhere else, as the learner knows it."""

    def __init__(self, shard: Shard, state: bytes | None):
        """`state` is what `Worker.worlds` returned, packed; None begins the training."""
        self.owes = 1
        """Reports to come: the first one says that the worlds are built."""
        self._ready, self._silent_s = False, 0.0

    @staticmethod
    @abstractmethod
    def spoke(workers: "dict[int, Any]") -> list[int]:
        """The keys of those that have a report. Waits for it, but not for long."""

    @abstractmethod
    def ask(self, message: bytes) -> None:
        """Let it collect."""
        self.owes += 1

    @abstractmethod
    def hear(self) -> tuple[Report, bytes]:
        """The report that has come, and the state after it; `Lost` if there will be none."""
        self.owes -= 1
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
        super().ask(message)
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


def part(storage: RolloutStorage, worlds: slice) -> dict[str, Any]:
    """What a storage holds of some worlds, by attribute: views of its tensors."""
    found: dict[str, Any] = {}
    for name, value in vars(storage).items():
        hidden = name.startswith("saved_hidden_state")  # (T, layers, N, dim)
        rows = (slice(None), slice(None), worlds) if hidden else (slice(None), worlds)
        if isinstance(value, Tensor):
            found[name] = value[rows]
        elif isinstance(value, TensorDict):
            found[name] = {group: values[rows] for group, values in value.items()}
        elif isinstance(value, list | tuple) and all(isinstance(values, Tensor) for values in value):
            found[name] = [values[rows] for values in value]
    return found


def tensors(tree: Any) -> list[Tensor]:
    """The tensors in a `part`."""
    if isinstance(tree, Tensor):
        return [tree]
    branches = tree.values() if isinstance(tree, dict) else tree
    return [tensor for branch in branches for tensor in tensors(branch)]


def _share(env: ManagerBasedRlEnv, method: Method) -> None:
    """Move a method's storage to shared memory, if there is room for it: a full one kills whoever writes to it."""
    # A storage makes some tensors with the first step, and those of recurrent networks with the second.
    obs, nothing = batch_of(env, env.obs), torch.zeros(env.num_envs)
    extras = {"final_obs": env.obs, "time_outs": nothing.bool()}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for _ in range(2):
            method.act(obs)
            method.process_env_step(obs, nothing, nothing.bool(), extras)
            method.storage.clear()
    method.forget()
    shared = tensors(part(method.storage, slice(None)))
    size = sum(tensor.nbytes for tensor in shared)
    free = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else size
    if size > free:
        room = f"{SHARED_MEMORY} has room for {free / 1e6:.0f} MB (docker run --shm-size)"
        raise UserError(f"rollouts of workers take {size / 1e6:.0f} MB of shared memory, and {room}")
    for tensor in shared:
        tensor.zero_().share_memory_()
