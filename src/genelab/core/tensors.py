"""Tensors: taken from files, whether their numbers are finite, and how many threads compute with them."""

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from genelab.core.errors import RunStopped, UserError


def restore(target: Tensor, state: Any, name: str) -> None:
    """Overwrite a tensor with the one of this name in a state, which must be of the same shape and type."""
    target.copy_(stored_tensor(state, name, target.shape, target.dtype))


def stored_tensor(state: Any, name: str, shape: Sequence[int], dtype: torch.dtype = torch.float32) -> Tensor:
    """The tensor of this name in a state, of an expected shape and type; -1 stands for any length."""
    if not isinstance(state, dict) or name not in state:
        raise UserError(f"'{name}' is missing")
    value = state[name]
    fits = isinstance(value, Tensor) and value.layout == torch.strided and value.dtype == dtype
    if not fits or value.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, value.shape, strict=True)):
        found = _description(value.shape, value.dtype) if isinstance(value, Tensor) else reprlib.repr(value)
        raise UserError(f"'{name}' must be {_description(shape, dtype)}, not {found}")
    return value


def _description(shape: Sequence[int], dtype: torch.dtype) -> str:
    sizes = " x ".join("n" if size == -1 else str(size) for size in shape)
    return f"{sizes or 'one'} of {str(dtype).removeprefix('torch.')}"


def is_finite(values: Tensor) -> bool:
    """Whether no value is NaN or infinite. Their sum tells in one pass, unless large values overflow in it."""
    return math.isfinite(float(values.sum())) or bool(values.isfinite().all())


def weights_not_finite(network: nn.Module) -> str | None:
    """The name of the first weight or statistic of a network that is not finite."""
    weights = {name: w for name, w in network.state_dict().items() if isinstance(w, Tensor) and w.is_floating_point()}
    return next((name for name, values in weights.items() if not is_finite(values)), None)


def networks_not_finite(networks: Mapping[str, nn.Module]) -> str | None:
    """The networks that are not finite, in words, each with its first weight that is not."""
    bad = {name: weight for name, network in networks.items() if (weight := weights_not_finite(network)) is not None}
    return " and ".join(f"network '{name}' ({weight})" for name, weight in bad.items()) or None


def require_finite_weights(network: nn.Module) -> None:
    """Raise a `RunStopped` for a policy whose weights are not finite: so would its actions be."""
    if (name := weights_not_finite(network)) is not None:
        raise RunStopped(f"the policy's weights are not finite ({name}), and so its actions are not")


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """For single steps of all worlds: a second thread takes longer to wake than to work, and hinders the physics."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
