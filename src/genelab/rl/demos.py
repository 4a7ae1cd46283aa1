"""Demonstrations: a file of recorded transitions that replay buffers are filled with before learning begins.

The file holds a dict of tensors and plain data (``torch.load(path, weights_only=True)``), time first, worlds second:

| key | value |
| --- | --- |
| ``format``, ``task``, ``num_envs``, ``seed`` | ``"genelab-demos-1"``, the task's id, N, the seed |
| ``success_rate`` | over the episodes that ended; None if none did |
| ``obs``, ``next_obs`` | observation groups, (T, N, d) each; ``next_obs`` is what the step led to, before any reset |
| ``actions``, ``rewards`` | (T, N, A), (T, N) |
| ``terminated``, ``truncated`` | (T, N) bool; a time-out is a truncation |
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.files import write_atomic
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Policy
from genelab.rl.checkpoint import read_tensors

FORMAT = "genelab-demos-1"


@torch.no_grad()
def record_demos(task: str, env: ManagerBasedRlEnv, policy: Policy, steps: int, seed: int) -> dict[str, Any]:
    """Every transition of `steps` control steps of an environment made with `seed`."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("obs", "next_obs", "actions", "rewards", "terminated", "truncated")
    }
    successes: list[bool] = []
    obs = env.obs
    policy.reset()
    for _ in range(steps):
        before = obs
        obs, rewards, terminated, truncated, extras = env.step(policy.act(before))
        taken = env.action_manager.action.clone()
        step = (before, extras["final_obs"], taken, rewards, terminated, truncated)
        for column, value in zip(columns.values(), step, strict=True):
            column.append(value)
        if (finished := extras["finished"]) is not None:
            policy.reset(finished.env_ids)
            successes += [] if finished.success is None else finished.success.tolist()
    rate = sum(successes) / len(successes) if successes else None
    return {
        "format": FORMAT,
        "task": task,
        "num_envs": env.num_envs,
        "seed": seed,
        "success_rate": rate,
        **{name: _stacked(values) for name, values in columns.items()},
    }


def write_demos(path: Path, demos: dict[str, Any]) -> None:
    """Write what `record_demos` returned."""
    write_atomic(path, lambda temporary: torch.save(demos, temporary))


def read_demos(path: Path, task: str, env: ManagerBasedRlEnv, groups: tuple[str, ...]) -> dict[str, Any]:
    """The demonstrations in a file, or a `UserError` that says why they are not for this task and environment."""
    demos = read_tensors(path, "file of demonstrations")
    if not isinstance(demos, dict) or demos.get("format") != FORMAT:
        found = demos.get("format") if isinstance(demos, dict) else type(demos).__name__
        raise UserError(f"'{path}' is not a file of demonstrations: its format is {found}, expected {FORMAT}")
    if demos.get("task") != task:
        raise UserError(f"'{path}' has demonstrations of task '{demos.get('task')}', not of '{task}'")
    if demos.get("num_envs") != env.num_envs:
        raise UserError(
            f"'{path}' was collected in {demos.get('num_envs')} worlds, this run has {env.num_envs}: "
            "collect again, or change env.num_envs (--num-envs)"
        )
    actions = demos.get("actions")
    steps = len(actions) if isinstance(actions, Tensor) and actions.ndim == 3 else 0
    if steps == 0:
        raise UserError(f"'{path}' has no actions")
    expected = {("actions",): (env.num_actions,), **{(name,): () for name in ("rewards", "terminated", "truncated")}}
    for part in ("obs", "next_obs"):
        expected |= {(part, name): (env.observation_manager.groups[name].dim,) for name in groups}
    for where, rest in expected.items():
        _check_shape(path, demos, where, (steps, env.num_envs, *rest))
    # The recording ends here, whatever the last episodes were about to do.
    ends = demos["terminated"][-1] | demos["truncated"][-1]
    demos["truncated"][-1] |= ~ends
    return demos


def _stacked(values: list[Any]) -> Any:
    if isinstance(values[0], Tensor):
        return torch.stack(values).cpu()
    return {group: torch.stack([value[group] for value in values]).cpu() for group in values[0]}


def _check_shape(path: Path, demos: dict[str, Any], where: tuple[str, ...], shape: tuple[int, ...]) -> None:
    name, value = ".".join(where), demos
    for key in where:
        value = value.get(key) if isinstance(value, dict) else None  # type: ignore[assignment]
    if not isinstance(value, Tensor):
        raise UserError(f"'{path}' has no {name}")
    if tuple(value.shape) != shape:
        raise UserError(f"'{path}': {name} has shape {tuple(value.shape)}, expected {shape}")
    wanted = torch.bool if where[-1] in ("terminated", "truncated") else torch.float32
    if value.dtype != wanted:
        raise UserError(f"'{path}': {name} is {value.dtype}, expected {wanted}")
