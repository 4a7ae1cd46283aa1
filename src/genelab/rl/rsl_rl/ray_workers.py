"""Workers on a Ray cluster: actors that send their rollouts through Ray's object store."""

from dataclasses import replace
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from genelab.rl.rsl_rl.shards import POLL_S, Lost, Remote, part
from genelab.rl.rsl_rl.worker import Post, Report, Shard


class RemotePost(Post):
    """A worker whose answers hold its rollouts, too."""

    def collect(self, message: bytes) -> Any:
        report, state = super().collect(message)
        assert self.worker is not None
        rollouts = part(self.worker.method.storage, slice(None)) if report.error is None else {}
        return report, state, _arrays(rollouts)


class Actor(Remote):
    """A worker that Ray puts on a node with a free core."""

    def __init__(self, shard: Shard, state: bytes | None):
        super().__init__(shard, state)
        self._rows = shard.storage
        self._actor: Any = _POST.remote(replace(shard, storage={}), state)
        self._answers: list[Any] = [self._actor.ready.remote()]

    @staticmethod
    def spoke(workers: "dict[int, Actor]") -> list[int]:
        first = {worker._answers[0]: i for i, worker in workers.items()}
        ready, _ = ray.wait(list(first), num_returns=1, timeout=POLL_S, fetch_local=True)
        return [first[answer] for answer in ready]

    def ask(self, message: bytes) -> None:
        super().ask(message)
        self._answers.append(self._actor.collect.remote(message))

    def hear(self) -> tuple[Report, bytes]:
        try:
            report, state, *rollouts = ray.get(self._answers.pop(0))
        except RayError as error:
            fate = "died with its node" if isinstance(error, RayActorError) else "lost its rollouts with its node"
            raise Lost(fate) from None
        super().hear()
        if rollouts and report.error is None:
            _copy(rollouts[0], self._rows)
        return report, state

    def end(self) -> None:
        ray.kill(self._actor)


_POST = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(RemotePost)


def _arrays(tree: Any) -> Any:
    """A `part` of a storage as numpy arrays, which Ray sends without copying them into a pickle."""
    if isinstance(tree, dict):
        return {name: _arrays(branch) for name, branch in tree.items()}
    return [_arrays(branch) for branch in tree] if isinstance(tree, list) else tree.numpy()


def _copy(source: Any, target: Any) -> None:
    """Copy what `_arrays` made into the same part of another storage."""
    if isinstance(source, dict | list):
        for key in source if isinstance(source, dict) else range(len(source)):
            _copy(source[key], target[key])
    else:
        target.numpy()[...] = source
