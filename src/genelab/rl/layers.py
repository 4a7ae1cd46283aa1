"""Layers that the libraries' networks are put together from."""

import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from genelab.mdp.symmetry import Reflection

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


class Symmetric(nn.Sequential):
    """Layers that are their own mirror image: the mean of what they say of an input and, mirrored back, of its image.

    Images are ``sign * value[index]``; mirrored twice, a value is what it was.
    """

    in_index: Tensor
    in_sign: Tensor
    out_index: Tensor
    out_sign: Tensor

    def __init__(self, layers: nn.Sequential, inputs: Reflection, outputs: Reflection):
        super().__init__(*layers)
        self.register_buffer("symmetric", torch.ones(()))  # in checkpoints: other layers cannot take over these weights
        for side, reflection in (("in", inputs), ("out", outputs)):
            self.register_buffer(f"{side}_index", reflection.index, persistent=False)
            self.register_buffer(f"{side}_sign", reflection.sign, persistent=False)

    def image(self, x: Tensor) -> Tensor:
        """An input in the mirror."""
        return x[:, self.in_index] * self.in_sign

    def outputs_image(self, y: Tensor) -> Tensor:
        """An output in the mirror. A slope by outputs goes the same way back."""
        return y[:, self.out_index] * self.out_sign

    def forward(self, x: Tensor) -> Tensor:
        image = self.image(x)
        for layer in self:
            x, image = layer(x), layer(image)
        return 0.5 * (x + self.outputs_image(image))


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
