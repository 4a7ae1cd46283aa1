"""A worker: a process with a shard of the worlds, which acts in them whenever the learner asks for rollouts.

What it does depends on nothing but the state of its shard, the weights, and how far the training is. So another worker
can repeat its rollouts, from the same state, to the last bit.
"""

import io
import pickle
import signal
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from genelab.core.errors import RunStopped, UserError, reason
from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.rsl_rl.learner import RslRlLearner, Step


@dataclass(frozen=True)
class Shard:
    """What a worker is given: its part of the config, and of the learner's storage, which is shared memory."""

    name: str
    first_world: int
    env_cfg: ManagerBasedRlEnvCfg
    agent_cfg: RslRlOnPolicyRunnerCfg
    storage: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the learner hears of a shard, beside its rollouts and its state."""

    seconds: float = 0.0
    """What the rollouts took."""
    finished: dict[str, Tensor]
    """The episodes that ended: fields of `FinishedEpisodes`, and ``step``, the control steps they ended in."""
    curriculum: dict[str, float]
    failed_worlds: int = 0
    not_finite: str | None = None
    error: Exception | None = None
    """Why there are no rollouts, if there are none."""


class Worker(RslRlLearner):
    """The part of a learner that collects, in the worlds of a shard."""

    def __init__(self, shard: Shard, state: bytes | None):
        """`state` is what `worlds` returned, packed; None begins the training."""
        seed = derive_seed(shard.agent_cfg.seed, shard.name)
        env = ManagerBasedRlEnv(shard.env_cfg, seed, shard.first_world)
        super().__init__(env, shard.agent_cfg, infos={})
        storage = vars(self.method.storage)
        obs = TensorDict(shard.storage["observations"], batch_size=storage["observations"].batch_size)
        storage.update({**shard.storage, "observations": obs})
        self._finished: list[dict[str, Tensor]] = []
        torch.manual_seed(derive_seed(seed, "actions"))
        if state is None:
            self.start()
        else:
            self.load_worlds(unpacked(state))

    def collect(self, weights: dict[str, Any], progress: float) -> None:
        """The rollouts of an iteration, into the shared memory."""
        for name, network in self.method.networks().items():
            network.load_state_dict(weights[name])
        self.method.storage.clear()
        self._finished = []
        self.method.train_mode()
        self.method.start_iteration(progress)
        self._collect()

    def report(self, seconds: float = 0.0, error: Exception | None = None) -> Report:
        """What happened since the last rollouts began."""
        values, failed, fault = self.env.curriculum_manager.values, self.env.failed_worlds, self.env.not_finite
        more = {"curriculum": values, "failed_worlds": failed, "not_finite": fault, "error": error}
        return Report(seconds=seconds, finished=joined(self._finished), **more)

    def worlds(self) -> dict[str, Any]:
        return {**super().worlds(), "torch_rng": torch.get_rng_state()}

    def load_worlds(self, state: dict[str, Any]) -> None:
        super().load_worlds(state)
        torch.set_rng_state(state["torch_rng"])

    def _step(self, actions: Tensor) -> Step:
        step = super()._step(actions)
        if (finished := step[-1]["finished"]) is not None:
            columns = {name: values for name, values in vars(finished).items() if values is not None}
            self._finished.append({**columns, "step": torch.full_like(finished.env_ids, self.env.step_count)})
        return step


def work(connection: Connection, shard: Shard, state: bytes | None) -> None:
    """Build a shard, then collect as often as asked to. Each time a `Report` is sent, and the state after it."""
    for number in (signal.SIGINT, signal.SIGHUP):  # the learner's business: it finishes the iteration
        signal.signal(number, signal.SIG_IGN)
    torch.set_num_threads(1)
    worker = None
    try:
        worker = Worker(shard, state)
        _send(connection, worker.report(), packed(worker.worlds()))
        while True:
            asked, start = unpacked(connection.recv_bytes()), time.perf_counter()
            worker.collect(**asked)
            _send(connection, worker.report(time.perf_counter() - start), packed(worker.worlds()))
    except (EOFError, ConnectionError):  # the learner is gone
        return
    except Exception as error:
        told = _told(error, shard.name)
        _send(
            connection,
            Report(finished={}, curriculum={}, error=told) if worker is None else worker.report(error=told),
            b"",
        )


def joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Episodes one after the other."""
    return {name: torch.cat([part[name] for part in parts], dim=-1) for name in parts[0]} if parts else {}


def packed(data: dict[str, Any]) -> bytes:
    """Tensors and plain data, as they travel between processes."""
    torch.save(data, file := io.BytesIO())
    return file.getvalue()


def unpacked(data: bytes) -> dict[str, Any]:
    return torch.load(io.BytesIO(data), weights_only=True)


def _send(connection: Connection, report: Report, state: bytes) -> None:
    connection.send_bytes(pickle.dumps(report))  # not by `send`, which would share each tensor as a file
    connection.send_bytes(state)


def _told(error: Exception, name: str) -> Exception:
    """An error as the learner raises it, with the shard named."""
    if isinstance(error, UserError | RunStopped):
        return type(error)(f"{name}: {error}")
    told = RuntimeError(f"{name}: {reason(error)}")
    told.add_note("".join(traceback.format_exception(error)).rstrip())
    return told
