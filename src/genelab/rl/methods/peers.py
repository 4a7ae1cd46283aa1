"""Processes that learn together: each from the samples of its own worlds, all with the same gradient steps.

A mini-batch is drawn from the samples of all, with the same random numbers in every process. Each has those of its own
worlds, and what it computes from them counts by their share of the mini-batch: the sum over all processes is what one
process with all samples would have, up to rounding.
"""

import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rsl_rl.storage import RolloutStorage
from torch import Tensor, distributed

from genelab.core.errors import RunStopped

SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Peers:
    """Which worlds are this process's own, and the exchange with the others."""

    first_world: int
    num_envs: int
    """Of all processes together."""
    _shared: "SharedSums | None" = field(default_factory=lambda: SharedSums() if SharedSums.fits() else None)

    def mini_batches(self, storage: RolloutStorage, number: int) -> Iterator[RolloutStorage.Batch]:
        """The samples that this process has of each mini-batch of an epoch."""
        names = ("observations", "actions", "values", "returns", "advantages")
        flat = {name: getattr(storage, name).flatten(0, 1) for name in names}
        log_prob = storage.actions_log_prob.flatten(0, 1)
        params = [part.flatten(0, 1) for part in storage.distribution_params or ()]
        for index in self.rows(storage, number):
            yield RolloutStorage.Batch(
                **{name: values[index] for name, values in flat.items()},
                old_actions_log_prob=log_prob[index],
                old_distribution_params=tuple(part[index] for part in params),
            )

    def rows(self, storage: RolloutStorage, number: int) -> list[Tensor]:
        """Which samples of this process's storage are in each mini-batch."""
        size = self.num_envs * storage.num_transitions_per_env // number
        drawn = torch.randperm(number * size)
        step, world = drawn // self.num_envs, drawn % self.num_envs - self.first_world
        own = (world >= 0) & (world < storage.num_envs)
        rows = (step * storage.num_envs + world).split(size)
        return [row[kept].to(storage.device) for row, kept in zip(rows, own.split(size), strict=True)]

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
        if self._shared is not None and flat.device.type == "cpu" and flat.dtype == torch.float32:
            self._shared.add_up(flat)
        else:
            distributed.all_reduce(flat)
        for tensor, total in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))


class SharedSums:
    """Sums over the processes of one machine, through memory that they share.

    A sum of gloo's takes milliseconds: its threads have to be woken up. Here every process writes its numbers, says so,
    looks at the others until they have, and adds up all numbers in the same order. It writes to one half of the memory
    and then to the other: who is at the next sum has read all of the last one.
    """

    @staticmethod
    def fits() -> bool:
        """Whether all processes are on this machine, a Linux whose processors see what others write in order."""
        here, all_of_them = (os.environ.get(name) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
        return here == all_of_them and sys.platform == "linux" and platform.machine() == "x86_64"

    def __init__(self) -> None:
        self._rank, self._count, self._turn, self._size = distributed.get_rank(), distributed.get_world_size(), 0, 0
        self._pids: list[int] = [0] * self._count
        distributed.all_gather_object(self._pids, os.getpid())
        self._turns = self._map(self._count, torch.int64)
        """The last sum that each process has written its numbers for."""

    def add_up(self, flat: Tensor) -> None:
        """Replace numbers, (n,), by their sums over all processes."""
        if len(flat) > self._size:
            self._size = len(flat)
            self._numbers = self._map(2 * self._count * self._size, torch.float32).view(2, self._count, -1)
        self._turn += 1
        numbers = self._numbers[self._turn % 2, :, : len(flat)]
        numbers[self._rank] = flat
        self._turns[self._rank] = self._turn
        self._wait()
        torch.sum(numbers, 0, out=flat)

    def _wait(self) -> None:
        start = time.monotonic()
        while int(self._turns.min()) < self._turn:
            if (waited := time.monotonic() - start) > 0.01:  # no longer a matter of microseconds
                time.sleep(0.0002)
            if waited > 1.0 and not all(Path(f"/proc/{pid}").is_dir() for pid in self._pids):
                raise RunStopped("another learner was killed (--resume goes on from the last saved state)")

    def _map(self, size: int, dtype: torch.dtype) -> Tensor:
        """Memory of zeros that all processes have."""
        with tempfile.NamedTemporaryFile(dir=SHARED_MEMORY) as file:
            names = [file.name]
            distributed.broadcast_object_list(names)
            if self._rank == 0:
                file.truncate(size * dtype.itemsize)
            distributed.barrier()
            shared = torch.from_file(names[0], shared=True, size=size, dtype=dtype)
            distributed.barrier()  # then its name can go
        return shared
