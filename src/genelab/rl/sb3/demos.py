"""Demonstrations: a file of recorded episodes that a replay buffer is filled with before learning begins.

``torch.save`` of a dict: ``format`` (`FORMAT`), ``task``, ``num_envs``, ``obs`` and ``next_obs`` (observation groups
(T, N, d), the latter with the true last observations of episodes), ``actions`` (T, N, A), ``rewards``, ``terminated``
and ``truncated`` (T, N).
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.checkpoint import read_tensors

FORMAT = "genelab-demos-1"


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
