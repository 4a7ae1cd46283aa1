"""What works in a shard: a process with a part of the worlds, which does what the learner asks for.

What it does depends on nothing but the state of its shard and what it is told. So another worker can repeat it, from
the same state, to the last bit.
"""

import io
import pickle
import signal
import time
import traceback
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import RunStopped, UserError, reason
from genelab.core.registry import load
from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.envs.episodes import FinishedEpisodes


def shard_name(i: int, count: int) -> str:
    """What the i-th of `count` shards is called, and its random numbers are derived from."""
    return f"shard {i + 1} of {count}"


@dataclass(frozen=True)
class Shard:
    """What a worker is given: its part of the config, and of the learner's storage, if that is shared memory."""

    name: str
    worker: str
    """The kind of worker, ``"module:Class"``, a `Worker`."""
    first_world: int
    env_cfg: ManagerBasedRlEnvCfg
    agent_cfg: Any
    storage: dict[str, Any]

    @property
    def seed(self) -> int:
        return derive_seed(self.agent_cfg.seed, self.name)

    def make_env(self) -> ManagerBasedRlEnv:
        return ManagerBasedRlEnv(self.env_cfg, self.seed, self.first_world)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the learner hears of a shard, beside its rollouts and its state."""

    shard: str
    num_envs: int = 0
    seconds: float = 0.0
    finished: dict[str, Tensor] = field(default_factory=dict)
    """The episodes that ended: fields of `FinishedEpisodes`, and ``step``, the control steps they ended in."""
    curriculum: dict[str, float] = field(default_factory=dict)
    failed_worlds: int = 0
    not_finite: str | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    """What a control step led to, if that is what was asked for."""
    error: Exception | None = None
    """Why there is nothing of all this, if there is nothing."""


class Books:
    """The episodes that ended in a shard, for its next report."""

    def __init__(self, shard: str, env: ManagerBasedRlEnv):
        self._shard, self._env = shard, env
        self._finished: list[dict[str, Tensor]] = []

    def open(self) -> None:
        """Begin a new report."""
        self._finished = []

    def note(self, finished: FinishedEpisodes | None) -> None:
        """Write down what a control step ended."""
        if finished is not None:
            columns = {name: values for name, values in vars(finished).items() if values is not None}
            self._finished.append({**columns, "step": torch.full_like(finished.env_ids, self._env.step_count)})

    def report(self, **more: Any) -> Report:
        """What happened since they were opened."""
        env = self._env
        happened = {"curriculum": env.curriculum_manager.values, "failed_worlds": env.failed_worlds}
        happened |= {"shard": self._shard, "num_envs": env.num_envs, "not_finite": env.not_finite}
        return Report(finished=joined(self._finished), **happened, **more)


class Worker(ABC):
    """Works in a shard. Made as ``Worker(shard, state)``: from what `worlds` returned, or from None to begin."""

    books: Books

    @abstractmethod
    def work(self, **message: Any) -> dict[str, Any]:
        """Do what a message asks for. Returns the outcome for the report."""

    @abstractmethod
    def worlds(self) -> dict[str, Any] | None:
        """What all that comes depends on; None if there is no need to have it now."""

    def rollouts(self) -> list[Tensor]:
        """What the learner's storage has of the shard, where that is not shared memory."""
        return []


class Post:
    """A worker at work. Whatever happens, it answers: with a report, and the state of its shard after it."""

    def __init__(self, shard: Shard, state: bytes | None):
        torch.set_num_threads(1)
        self._shard, self._state = shard, None if state is None else unpacked(state)
        self.worker: Worker | None = None

    def answer(self, message: bytes | None = None) -> tuple[Report, bytes]:
        """Do what is asked; without a message, only build the worlds."""
        start, name = time.perf_counter(), self._shard.name
        try:
            worker = self.worker = self.worker or load(self._shard.worker)(self._shard, self._state)
            worker.books.open()
            outcome = worker.work(**({} if message is None else unpacked(message)))
            report, after = worker.books.report(seconds=time.perf_counter() - start, outcome=outcome), worker.worlds()
            return report, b"" if after is None else packed(after)
        except Exception as error:
            fault = told(error, name)
            if self.worker is None:
                return Report(shard=name, error=fault), b""
            return self.worker.books.report(error=fault), b""


def work(connection: Connection, shard: Shard, state: bytes | None) -> None:
    """Build a shard, then work as often as asked to. Each time a `Report` is sent, and the state after it."""
    for number in (signal.SIGINT, signal.SIGHUP):  # the learner's business: it finishes the iteration
        signal.signal(number, signal.SIG_IGN)
    post, message = Post(shard, state), None
    with suppress(EOFError, ConnectionError):  # the learner is gone
        while True:
            report, after = post.answer(message)
            connection.send_bytes(pickle.dumps(report))  # not by `send`, which would share each tensor as a file
            connection.send_bytes(after)
            message = connection.recv_bytes()


def joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.cat([part[name] for part in parts], dim=-1) for name in parts[0]} if parts else {}


def book(env: ManagerBasedRlEnv, reports: list[Report]) -> None:
    """Write down what happened in all shards as if it had happened in the worlds of `env`; raise the first error."""
    if columns := joined([report.finished for report in reports if report.finished]):
        order = columns.pop("step").argsort(stable=True)
        finished: dict[str, Any] = {name: values[..., order] for name, values in columns.items()}
        env.episode_stats.add(FinishedEpisodes(**{"success": None, **finished}))
    env.failed_worlds = sum(report.failed_worlds for report in reports)
    for report in reports:
        if report.not_finite is not None:
            env.not_finite = env.not_finite or f"{report.not_finite} in {report.shard}"
    for error in filter(None, (report.error for report in reports)):
        raise error
    shares = [report.num_envs / sum(report.num_envs for report in reports) for report in reports]
    for name in reports[0].curriculum:
        values = (report.curriculum[name] for report in reports)
        env.curriculum_manager.values[name] = sum(map(float.__mul__, shares, values))


def packed(data: dict[str, Any]) -> bytes:
    """Tensors and plain data, as they travel between processes."""
    torch.save(data, file := io.BytesIO())
    return file.getvalue()


def unpacked(data: bytes) -> dict[str, Any]:
    return torch.load(io.BytesIO(data), weights_only=True)


def told(error: Exception, name: str) -> Exception:
    """An error as the learner raises it, with the shard named."""
    if isinstance(error, UserError | RunStopped):
        return type(error)(f"{name}: {error}")
    fault = RuntimeError(f"{name}: {reason(error)}")
    fault.add_note("".join(traceback.format_exception(error)).rstrip())
    return fault
