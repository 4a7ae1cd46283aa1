"""Feed-forward policies of the libraries that leave the network to us, in the pieces an export is made of."""

import copy
import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn

from genelab.rl.backends.base import Actor, Policy

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "elu": nn.ELU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
}


class MlpPolicy(Policy):
    """Runs an `Actor` without recurrent layers. `sample` draws a random action for flat observations, if it can."""

    def __init__(self, actor: Actor, sample: Callable[[Tensor], Tensor] | None = None):
        self._actor = actor
        self._sample = sample
        self._layers = [layer.forward for layer in (actor.normalizer or nn.Identity(), *_leaves(actor.head))]

    def copy(self) -> "MlpPolicy":
        """The same deterministic policy with weights of its own."""
        return MlpPolicy(copy.deepcopy(self._actor))

    @torch.no_grad()
    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        value = flat(obs, self._actor.obs_groups)
        if not deterministic and self._sample is not None:
            return self._sample(value)
        for layer in self._layers:  # without the containers, which cost as much as a small network itself
            value = layer(value)
        return value

    @property
    def module(self) -> nn.Module:
        return self._actor.head

    @property
    def actor(self) -> Actor:
        return self._actor


def flat(obs: dict[str, Tensor], groups: tuple[str, ...]) -> Tensor:
    """Observation groups side by side, (N, d)."""
    return obs[groups[0]] if len(groups) == 1 else torch.cat([obs[name] for name in groups], dim=-1)


class Scale(nn.Module):
    """Multiplies by a constant."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class Standardize(nn.Module):
    """Subtracts a mean, divides by a standard deviation and clips: a trained normaliser that no longer learns."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor, limit: float):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        return torch.clamp((x - self.mean) / self.std, -self.limit, self.limit)


def squashed(*layers: nn.Module, scale: float) -> nn.Sequential:
    """Layers whose output is bounded to plus and minus `scale`."""
    return nn.Sequential(*layers, nn.Tanh(), Scale(scale))


def mlp(inputs: int, hidden: tuple[int, ...], activation: str) -> nn.Sequential:
    """Hidden layers, each with its activation."""
    sizes = (inputs, *hidden)
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


def _leaves(module: nn.Module) -> list[nn.Module]:
    if not isinstance(module, nn.Sequential):
        return [module]
    return [leaf for part in module for leaf in _leaves(part)]
