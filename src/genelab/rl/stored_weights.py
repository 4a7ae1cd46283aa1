"""Networks, optimisers and hidden states from files, checked before they are taken over.

torch checks shapes of weights only: it takes weights of another type, and whatever an optimiser's state may be.
"""

import copy
import math
from typing import Any

import torch
from rsl_rl.modules import HiddenState
from torch import Tensor, nn
from torch.optim import Optimizer

from genelab.core.errors import UserError, unknown
from genelab.core.tensors import stored_tensor


def load_part(part: nn.Module | Optimizer, state: Any) -> None:
    """Take over what a file holds for a network or an optimiser."""
    check_part(part, state)
    part.load_state_dict(state)


def check_part(part: nn.Module | Optimizer, state: Any) -> None:
    """Raise a `UserError` if a file does not hold what a network or an optimiser of this kind does."""
    if isinstance(part, Optimizer):
        _check_optimizer(part, state)
    else:
        check_tensors(part.state_dict(), state)


def check_tensors(expected: dict[str, Any], state: Any) -> None:
    """Raise a `UserError` unless a state has the names, shapes and types of the expected tensors."""
    for name, value in expected.items():
        if isinstance(value, Tensor):
            stored_tensor(state, name, value.shape, value.dtype)
    for name in state:
        if name not in expected:
            raise unknown("entry", str(name), expected)


def stored_hidden_state(memory: Any, name: str, rnn: nn.RNNBase, num_envs: int) -> HiddenState:
    """What a recurrent network remembers of the running episodes; None before the first step."""
    value = memory[name]
    if value is None:
        return None
    parts = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) != isinstance(rnn, nn.LSTM) or len(parts) > 2:
        raise UserError(f"'{name}' is the memory of another kind of network")
    for part in parts:
        stored_tensor({name: part}, name, (rnn.num_layers, num_envs, rnn.hidden_size))
    return value


def _check_optimizer(optimizer: Optimizer, state: Any) -> None:
    expected = _after_a_step(optimizer)
    if not isinstance(state, dict) or not {"state", "param_groups"} <= state.keys():
        raise UserError("it is no state of an optimiser")
    groups = state["param_groups"]
    if not isinstance(groups, list) or len(groups) != len(expected["param_groups"]):
        raise UserError("'param_groups' are of another optimiser")
    for own, group in zip(expected["param_groups"], groups, strict=True):
        for name, value in own.items():
            if not isinstance(group, dict) or name not in group or not _same_kind(value, group[name]):
                raise UserError(f"'param_groups.{name}' is missing, or of another type")
    remembered = state["state"]
    if not isinstance(remembered, dict) or (remembered and remembered.keys() != expected["state"].keys()):
        raise UserError("'state' is of an optimiser of other parameters")
    for index, values in remembered.items():
        check_tensors(expected["state"][index], values)


def _after_a_step(optimizer: Optimizer) -> dict[str, Any]:
    """What an optimiser remembers once it has made a step."""
    example = copy.deepcopy(optimizer)
    for group in example.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.zeros_like(parameter)
    example.step()
    return example.state_dict()


def _same_kind(expected: Any, value: Any) -> bool:
    if isinstance(expected, tuple | list):
        if not isinstance(value, tuple | list) or len(value) != len(expected):
            return False
        return all(_same_kind(one, other) for one, other in zip(expected, value, strict=True))
    if isinstance(expected, float):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is type(expected)
