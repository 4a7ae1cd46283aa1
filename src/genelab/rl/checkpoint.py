"""Reading checkpoints, also to begin a training with, and one-line errors for files that are not what they should be.

A checkpoint holds tensors and plain data only and is read with ``weights_only=True``: nothing in it is executed.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from genelab.core.errors import UserError
from genelab.core.files import check_archive
from genelab.core.stored_config import check_record, stored
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
    try:
        stored_agent_cfg(infos["agent"])
    except UserError as error:
        raise UserError(f"{label}: {error}") from error
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
    columns: dict[str, list[str]] | None = None
    """What each column of each observation group is in the checkpoint's task; None if it is the task of the run."""

    @staticmethod
    def of(env: ManagerBasedRlEnv) -> dict[str, list[str]]:
        """What each column of each observation group of an environment is: group, term, number, and its frame."""
        return {
            name: [
                f"{name}.{term}[{i}], frame {frame}"
                for frame in range(group.cfg.history)
                for term, dim in group.term_dims.items()
                for i in range(dim)
            ]
            for name, group in env.observation_manager.groups.items()
        }
