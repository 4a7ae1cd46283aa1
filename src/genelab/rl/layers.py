"""Layers that the libraries' networks are put together from."""

import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "elu": nn.ELU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
}


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


def log_tanh_slope(x: Tensor) -> Tensor:
    """log(1 - tanh(x)²), without loss of precision where tanh saturates."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


def squashed(*layers: nn.Module, scale: float) -> nn.Sequential:
    """Layers whose output is bounded to plus and minus `scale`."""
    return nn.Sequential(*layers, nn.Tanh(), Scale(scale))


def mlp(inputs: int, hidden: tuple[int, ...], activation: str) -> nn.Sequential:
    """Hidden layers, each with its activation."""
    sizes = itertools.pairwise((inputs, *hidden))
    return nn.Sequential(*(part for size in sizes for part in (nn.Linear(*size), ACTIVATIONS[activation]())))
