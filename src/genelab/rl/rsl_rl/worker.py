"""Rollouts in a shard of the worlds: what workers, and learners of several processes, do for their part."""

from typing import Any

import torch
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor

from genelab.core.rng import derive_seed
from genelab.rl.rsl_rl.learner import RslRlLearner, Step
from genelab.rl.shards.work import Books, Shard, Worker


class ShardLearner(RslRlLearner):
    """A learner in the worlds of a shard, which can tell another one what happened in them."""

    shard: str

    def build(self) -> None:
        super().build()
        self.books = Books(self.shard, self.env)

    def worlds(self) -> dict[str, Any]:
        return {**super().worlds(), "torch_rng": torch.get_rng_state()}

    def load_worlds(self, state: dict[str, Any]) -> None:
        super().load_worlds(state)
        torch.set_rng_state(state["torch_rng"])

    def _step(self, actions: Tensor) -> Step:
        step = super()._step(actions)
        self.books.note(step[-1]["finished"])
        return step


class RolloutWorker(ShardLearner, Worker):
    """The part of a learner that collects."""

    def __init__(self, shard: Shard, state: dict[str, Any] | None):
        self.shard = shard.name
        super().__init__(shard.make_env(), shard.agent_cfg, infos={})
        if shard.storage:
            storage = vars(self.method.storage)
            obs = TensorDict(shard.storage["observations"], batch_size=storage["observations"].batch_size)
            storage.update({**shard.storage, "observations": obs})
        torch.manual_seed(derive_seed(shard.seed, "actions"))
        if state is None:
            self.start()
        else:
            self.load_worlds(state)

    def work(self, weights: dict[str, Any] | None = None, progress: float = 0.0) -> dict[str, Any]:
        """The rollouts of an iteration, into the storage; without weights, nothing."""
        if weights is not None:
            for name, network in self.method.networks().items():
                network.load_state_dict(weights[name])
            self.method.storage.clear()
            self.method.train_mode()
            self.method.start_iteration(progress)
            self._collect()
        return {}

    def rollouts(self) -> list[Tensor]:
        return tensors(part(self.method.storage, slice(None)))


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
