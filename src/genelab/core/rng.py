"""Named random streams of one seed: a draw from one shifts no other, and the global generators are not touched."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.stored_config import stored


def derive_seed(seed: int, name: str) -> int:
    """A 63-bit seed for the stream `name` of the run seed `seed`."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "little") >> 1


class Streams:
    """Random streams by name, made on first use."""

    def __init__(self, seed: int, device: str = "cpu"):
        self.seed, self.device = seed, device
        self._generators: dict[str, torch.Generator] = {}

    def __getitem__(self, name: str) -> torch.Generator:
        if name not in self._generators:
            self._generators[name] = torch.Generator(self.device).manual_seed(derive_seed(self.seed, name))
        return self._generators[name]

    def uniform(self, name: str, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> Tensor:
        return torch.empty(tuple(shape), device=self.device).uniform_(low, high, generator=self[name])

    def normal(self, name: str, shape: Sequence[int]) -> Tensor:
        return torch.randn(tuple(shape), generator=self[name], device=self.device)

    def integers(self, name: str, shape: Sequence[int], low: int, high: int) -> Tensor:
        """Integer samples from low to high, both included."""
        return torch.randint(low, high + 1, tuple(shape), generator=self[name], device=self.device)

    def state_dict(self) -> dict[str, Any]:
        return {"seed": self.seed, "generators": {name: g.get_state() for name, g in self._generators.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seed = stored(state, "seed", int)
        expected = set(self._generators)
        self._generators.clear()
        for name, generator_state in state["generators"].items():
            self[name].set_state(generator_state)
        if missing := expected - set(self._generators):
            raise UserError(f"the random stream '{min(missing)}' is missing")
