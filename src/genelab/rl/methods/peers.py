"""Processes that learn together: each from the samples of its own worlds, all with the same gradient steps.

A mini-batch is drawn from the samples of all, with the same random numbers in every process. Each has those of its own
worlds, and what it computes from them counts by their share of the mini-batch: the sum over all processes is what one
process with all samples would have, up to rounding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from rsl_rl.storage import RolloutStorage
from torch import Tensor, distributed


@dataclass(frozen=True)
class Peers:
    """Which worlds are this process's own, and the exchange with the others."""

    first_world: int
    num_envs: int
    """Of all processes together."""

    def mini_batches(self, storage: RolloutStorage, number: int) -> Iterator[RolloutStorage.Batch]:
        """The samples that this process has of each mini-batch of an epoch."""
        size = self.num_envs * storage.num_transitions_per_env // number
        drawn = torch.randperm(number * size)
        step, world = drawn // self.num_envs, drawn % self.num_envs - self.first_world
        own = (world >= 0) & (world < storage.num_envs)
        names = ("observations", "actions", "values", "returns", "advantages")
        flat = {name: getattr(storage, name).flatten(0, 1) for name in names}
        log_prob = storage.actions_log_prob.flatten(0, 1)
        params = [part.flatten(0, 1) for part in storage.distribution_params or ()]
        for rows, kept in zip((step * storage.num_envs + world).split(size), own.split(size), strict=True):
            index = rows[kept].to(storage.device)
            yield RolloutStorage.Batch(
                **{name: values[index] for name, values in flat.items()},
                old_actions_log_prob=log_prob[index],
                old_distribution_params=tuple(part[index] for part in params),
            )

    def mean_and_std(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Of the values of all processes."""
        count, total = torch.tensor(float(values.numel()), device=values.device), values.sum()
        self.add_up([count, total])
        mean = total / count
        squares = (values - mean).square().sum()
        self.add_up([squares])
        return mean, (squares / (count - 1.0)).sqrt()

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, in one exchange."""
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        for tensor, total in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))
