"""A worker: a process with a shard of the worlds, which acts in them whenever the learner asks for rollouts.

What it does depends on nothing but the state of its shard, the weights, and how far the training is. So another worker
can repeat its rollouts, from the same state, to the last bit.
"""

import io
import pickle
import signal
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from genelab.core.errors import RunStopped, UserError, reason
from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.envs.episodes import FinishedEpisodes
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.rsl_rl.learner import RslRlLearner, Step


def shard_name(i: int, count: int) -> str:
    """What the i-th of `count` shards is called, and its random numbers are derived from."""
    return f"shard {i + 1} of {count}"


@dataclass(frozen=True)
class Shard:
    """What a worker is given: its part of the config, and of the learner's storage, if that is shared memory."""

    name: str
    first_world: int
    env_cfg: ManagerBasedRlEnvCfg
    agent_cfg: RslRlOnPolicyRunnerCfg
    storage: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the learner hears of a shard, beside its rollouts and its state."""

    shard: str
    num_envs: int = 0
    seconds: float = 0.0
    """What the rollouts took."""
    finished: dict[str, Tensor]
    """The episodes that ended: fields of `FinishedEpisodes`, and ``step``, the control steps they ended in."""
    curriculum: dict[str, float]
    failed_worlds: int = 0
    not_finite: str | None = None
    error: Exception | None = None
    """Why there are no rollouts, if there are none."""


class ShardLearner(RslRlLearner):
    """A learner in the worlds of a shard, which can tell another one what happened in them."""

    shard: str

    def build(self) -> None:
        super().build()
        self._finished: list[dict[str, Tensor]] = []

    def report(self, seconds: float = 0.0, error: Exception | None = None) -> Report:
        """What happened since the last rollouts began."""
        values, failed, fault = self.env.curriculum_manager.values, self.env.failed_worlds, self.env.not_finite
        more = {"curriculum": values, "failed_worlds": failed, "not_finite": fault, "error": error}
        more |= {"shard": self.shard, "num_envs": self.env.num_envs, "seconds": seconds}
        return Report(finished=joined(self._finished), **more)

    def worlds(self) -> dict[str, Any]:
        return {**super().worlds(), "torch_rng": torch.get_rng_state()}

    def load_worlds(self, state: dict[str, Any]) -> None:
        super().load_worlds(state)
        torch.set_rng_state(state["torch_rng"])

    def _collect(self) -> None:
        self._finished = []
        super()._collect()

    def _step(self, actions: Tensor) -> Step:
        step = super()._step(actions)
        if (finished := step[-1]["finished"]) is not None:
            columns = {name: values for name, values in vars(finished).items() if values is not None}
            self._finished.append({**columns, "step": torch.full_like(finished.env_ids, self.env.step_count)})
        return step


class Worker(ShardLearner):
    """The part of a learner that collects."""

    def __init__(self, shard: Shard, state: bytes | None):
        """`state` is what `worlds` returned, packed; None begins the training."""
        seed = derive_seed(shard.agent_cfg.seed, shard.name)
        env = ManagerBasedRlEnv(shard.env_cfg, seed, shard.first_world)
        self.shard = shard.name
        super().__init__(env, shard.agent_cfg, infos={})
        if shard.storage:
            storage = vars(self.method.storage)
            obs = TensorDict(shard.storage["observations"], batch_size=storage["observations"].batch_size)
            storage.update({**shard.storage, "observations": obs})
        torch.manual_seed(derive_seed(seed, "actions"))
        if state is None:
            self.start()
        else:
            self.load_worlds(unpacked(state))

    def collect(self, weights: dict[str, Any], progress: float) -> None:
        """The rollouts of an iteration, into the storage."""
        for name, network in self.method.networks().items():
            network.load_state_dict(weights[name])
        self.method.storage.clear()
        self.method.train_mode()
        self.method.start_iteration(progress)
        self._collect()


class Post:
    """A worker at work. Whatever happens, it answers: with a report, and the state of its shard after it."""

    def __init__(self, shard: Shard, state: bytes | None):
        torch.set_num_threads(1)
        self._shard, self._state = shard, state
        self.worker: Worker | None = None

    def answer(self, message: bytes | None = None) -> tuple[Report, bytes]:
        """Collect as asked to; without a message, only build the worlds."""
        start = time.perf_counter()
        try:
            self.worker = self.worker or Worker(self._shard, self._state)
            if message is not None:
                self.worker.collect(**unpacked(message))
            return self.worker.report(time.perf_counter() - start), packed(self.worker.worlds())
        except Exception as error:
            fault = told(error, self._shard.name)
            if self.worker is None:
                return Report(shard=self._shard.name, finished={}, curriculum={}, error=fault), b""
            return self.worker.report(error=fault), b""


def work(connection: Connection, shard: Shard, state: bytes | None) -> None:
    """Build a shard, then collect as often as asked to. Each time a `Report` is sent, and the state after it."""
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
    """Episodes one after the other."""
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
