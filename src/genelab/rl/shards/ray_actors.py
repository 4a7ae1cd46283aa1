"""Workers on a Ray cluster: actors that send their rollouts through Ray's object store."""

from dataclasses import replace
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from genelab.rl.rsl_rl.worker import tensors
from genelab.rl.shards.crew import POLL_S, Lost, Remote
from genelab.rl.shards.work import Post, Report, Shard


class RemotePost(Post):
    """A worker whose answers hold its rollouts, too."""

    def answer(self, message: bytes | None = None) -> Any:
        report, state = super().answer(message)
        if message is None or self.worker is None or report.error is not None:
            return report, state, []
        # As arrays, which Ray sends without copying them into a pickle.
        return report, state, [rows.numpy() for rows in self.worker.rollouts()]


class Actor(Remote):
    """A worker that Ray puts on a node with a free core."""

    def __init__(self, shard: Shard, state: bytes | None):
        super().__init__(shard, state)
        self._rows = tensors(shard.storage)
        self._actor: Any = _POST.remote(replace(shard, storage={}), state)
        self._answers: list[Any] = [self._actor.answer.remote()]

    @staticmethod
    def spoke(workers: "dict[int, Actor]") -> list[int]:
        first = {worker._answers[0]: i for i, worker in workers.items()}
        ready, _ = ray.wait(list(first), num_returns=1, timeout=POLL_S, fetch_local=True)
        return [first[answer] for answer in ready]

    def ask(self, message: bytes) -> None:
        self._answers.append(self._actor.answer.remote(message))

    def hear(self) -> tuple[Report, bytes]:
        try:
            report, state, rollouts = ray.get(self._answers.pop(0))
        except RayError as error:
            fate = "died with its node" if isinstance(error, RayActorError) else "lost its rollouts with its node"
            raise Lost(fate) from None
        super().hear()
        for rows, sent in zip(self._rows, rollouts, strict=False):  # a worker that only began has sent none
            rows.numpy()[...] = sent
        return report, state

    def end(self) -> None:
        ray.kill(self._actor)


_POST = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(RemotePost)
