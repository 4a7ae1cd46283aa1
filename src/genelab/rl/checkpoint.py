"""Reading checkpoints, also to begin a training with, and one-line errors for files that are not what they should be.

A checkpoint holds tensors and plain data only and is read with ``weights_only=True``: nothing in it is executed.
"""

import copy
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from genelab.core.errors import UserError, about, unknown
from genelab.core.files import check_archive
from genelab.core.stored_config import check_record, stored
from genelab.core.tensors import stored_tensor
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends import stored_agent_cfg

INFO_KEY = "infos"
ORIGIN = {"task": str, "backend": str, "agent": Any, "env_changes": dict[str, Any]}
"""What a checkpoint must say about its origin."""


def read_checkpoint(path: Path, task: str | None = None) -> dict[str, Any]:
    """A checkpoint of `task` (of any if None), or a `UserError` that says what the file is instead."""
    data = read_tensors(path)
    label = f"'{path}' is not a genelab checkpoint"
    infos = stored(data, INFO_KEY, Any, label)
    check_record(label, infos, ORIGIN, required=ORIGIN)
    with about(label):
        stored_agent_cfg(infos["agent"])
    if task is not None and infos["task"] != task:
        raise UserError(f"'{path}' is a checkpoint of task '{infos['task']}', not of '{task}'")
    return data


def saved_checkpoints(directory: Path) -> list[Path]:
    """The checkpoints of a run, oldest first, but for the best one."""
    found = {path for pattern in ("model_*.pt", "model_*.zip", "model.zip") for path in directory.glob(pattern)}
    return sorted(found, key=lambda path: path.stat().st_mtime)


def read_tensors(path: Path, what: str = "checkpoint") -> Any:
    """Tensors and plain data from a file, without running any code that is in it."""
    if not path.is_file():
        raise UserError(f"no {what} at '{path}'")
    try:
        check_archive(path)  # torch does not
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file fails in whatever way its bytes suggest
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"'{path}' is not a readable {what}: {reason}") from error


def weights_digest(*state_dicts: dict[str, Any]) -> str:
    """sha256 over the names, shapes and bytes of all tensors."""
    sha = hashlib.sha256()
    for state in state_dicts:
        for name in sorted(state):
            tensor = state[name].detach().cpu().contiguous()
            sha.update(f"{name}:{tuple(tensor.shape)}:{tensor.dtype}".encode())
            sha.update(tensor.numpy().tobytes())
    return sha.hexdigest()


@dataclass(frozen=True)
class WarmStart:
    """A checkpoint to begin with, and what the policy in it saw."""

    checkpoint: dict[str, Any]
    columns: dict[str, list[str]]
    """What each column of each observation group is where the checkpoint was trained."""

    @staticmethod
    def of(env: ManagerBasedRlEnv) -> dict[str, list[str]]:
        """What each column of each observation group of an environment is: group, term, number, and its frame's age."""
        return {
            name: [
                f"{name}.{term}[{i}], {age} frames ago"
                for age in reversed(range(group.cfg.history))
                for term, dim in group.term_dims.items()
                for i in range(dim)
            ]
            for name, group in env.observation_manager.groups.items()
        }


def load_part(part: nn.Module | Optimizer, state: Any) -> None:
    """Take over what a file holds for a network or an optimiser; a `UserError` if that is of another kind."""
    if isinstance(part, Optimizer):
        _check_optimizer(part, state)
    else:
        check_tensors(part.state_dict(), state)
    part.load_state_dict(state)


def check_tensors(expected: dict[str, Any], state: Any) -> None:
    """Raise a `UserError` unless a state has the names, shapes and types of the expected tensors."""
    for name, value in expected.items():
        if isinstance(value, Tensor):
            stored_tensor(state, name, value.shape, value.dtype)
    for name in state:
        if name not in expected:
            raise unknown("entry", str(name), expected)


def stored_hidden_state(memory: Any, name: str, rnn: nn.RNNBase, num_envs: int) -> Any:
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
        alike = isinstance(value, tuple | list) and len(value) == len(expected)
        return alike and all(map(_same_kind, expected, value))
    if isinstance(expected, float):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is type(expected)
