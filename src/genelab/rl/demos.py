"""Demonstrations: a file of recorded transitions that replay buffers are filled with before learning begins.

The file is numpy's ``.npz`` (``numpy.load(path)``), with these arrays, time first, worlds second:

| name | value |
| --- | --- |
| ``format``, ``task``, ``num_envs``, ``seed`` | ``"genelab-demos-2"``, the task's id, N, the seed |
| ``success_rate`` | over the episodes that ended; nan if none did |
| ``obs.<group>``, ``next_obs.<group>`` | (T, N, d); ``next_obs`` is what the step led to, before any reset |
| ``actions``, ``rewards`` | (T, N, A), (T, N) |
| ``terminated``, ``truncated`` | (T, N) bool; a time-out is a truncation |
"""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genelab.core.config import flatten
from genelab.core.errors import UserError
from genelab.core.files import check_archive, write_atomic
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Policy

FORMAT = "genelab-demos-2"


@torch.no_grad()
def record_demos(task: str, env: ManagerBasedRlEnv, policy: Policy, steps: int, seed: int) -> dict[str, Any]:
    """Every transition of `steps` control steps of an environment made with `seed`."""
    names = ("obs", "next_obs", "actions", "rewards", "terminated", "truncated")
    recorded: list[tuple[Any, ...]] = []
    successes: list[bool] = []
    obs = env.obs
    policy.reset()
    for _ in range(steps):
        before = obs
        obs, rewards, terminated, truncated, extras = env.step(policy.act(before))
        taken = env.action_manager.action.clone()
        recorded.append((before, extras["final_obs"], taken, rewards, terminated, truncated))
        if (finished := extras["finished"]) is not None:
            policy.reset(finished.env_ids)
            successes += [] if finished.success is None else finished.success.tolist()
    return {
        "format": FORMAT,
        "task": task,
        "num_envs": env.num_envs,
        "seed": seed,
        "success_rate": sum(successes) / len(successes) if successes else None,
        **{name: _stacked(values) for name, values in zip(names, zip(*recorded, strict=True), strict=True)},
    }


def write_demos(path: Path, demos: dict[str, Any]) -> None:
    rate = math.nan if demos["success_rate"] is None else demos["success_rate"]
    arrays = {name: np.asarray(value) for name, value in flatten({**demos, "success_rate": rate}).items()}

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:  # given a name, numpy would add its own suffix
            np.savez(file, allow_pickle=False, **arrays)

    write_atomic(path, write)


def read_demos(path: Path, task: str, env: ManagerBasedRlEnv, groups: tuple[str, ...]) -> dict[str, Tensor]:
    """The arrays of a file by name, or a `UserError` that says why they are not for this task and environment."""
    arrays = _read_arrays(path)
    about = {name: array.item() for name, array in arrays.items() if array.ndim == 0}
    if about.get("format") != FORMAT:
        raise UserError(f"'{path}' is not a file of demonstrations: its format is {about.get('format')}, not {FORMAT}")
    if about.get("task") != task:
        raise UserError(f"'{path}' has demonstrations of task '{about.get('task')}', not of '{task}'")
    if about.get("num_envs") != env.num_envs:
        raise UserError(
            f"'{path}' was collected in {about.get('num_envs')} worlds, this run has {env.num_envs}: "
            "collect again, or change env.num_envs (--num-envs)"
        )
    steps = len(arrays["actions"]) if "actions" in arrays and arrays["actions"].ndim == 3 else 0
    if steps == 0:
        raise UserError(f"'{path}' has no actions")
    expected = {"actions": (env.num_actions,), **dict.fromkeys(("rewards", "terminated", "truncated"), ())}
    for part in ("obs", "next_obs"):
        expected |= {f"{part}.{name}": (env.observation_manager.groups[name].dim,) for name in groups}
    read = {name: _checked(path, arrays, name, (steps, env.num_envs, *rest)) for name, rest in expected.items()}
    # The recording ends here, whatever the last episodes were about to do.
    read["truncated"][-1] |= ~read["terminated"][-1]
    return read


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file. Nothing in it is executed."""
    if not path.is_file():
        raise UserError(f"no file of demonstrations at '{path}'")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
        if any(member.endswith("/data.pkl") for member in members):
            raise UserError(f"'{path}' is torch's format, which demonstrations no longer have: collect them again")
        check_archive(path)
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except UserError:
        raise
    except Exception as error:  # a damaged file fails in whatever way its bytes suggest
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"'{path}' is not a readable file of demonstrations: {reason}") from error


def _stacked(values: tuple[Any, ...]) -> Any:
    if isinstance(values[0], Tensor):
        return torch.stack(values).cpu()
    return {group: torch.stack([value[group] for value in values]).cpu() for group in values[0]}


def _checked(path: Path, arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> Tensor:
    """One array as a tensor: of the expected shape and type, and finite."""
    if name not in arrays:
        raise UserError(f"'{path}' has no {name}")
    value = arrays[name]
    if value.shape != shape:
        raise UserError(f"'{path}': {name} has shape {value.shape}, expected {shape}")
    wanted = np.dtype(np.bool_ if name in ("terminated", "truncated") else np.float32)
    if value.dtype != wanted:
        raise UserError(f"'{path}': {name} is {value.dtype}, expected {wanted}")
    if not (finite := np.isfinite(value)).all():
        step, world = np.argwhere(~finite)[0][:2]
        raise UserError(f"'{path}': {name} is not finite in step {step} of world {world}")
    return torch.from_numpy(value.copy())
