"""Tensors from files: taken over only if they are of the shape and type that is expected of them."""

import reprlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError


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
