"""Demonstrations: every transition of a task's scripted policy, in a file that learners start from.

The file holds a dict of tensors and plain data (``torch.load(path, weights_only=True)``), time first, worlds second:

| key | value |
| --- | --- |
| ``format``, ``task``, ``num_envs``, ``seed`` | ``"genelab-demos-1"``, the task's id, N, the seed |
| ``success_rate`` | over the episodes that ended; None if none did |
| ``obs``, ``next_obs`` | observation groups, (T, N, d) each; ``next_obs`` is what the step led to, before any reset |
| ``actions``, ``rewards`` | (T, N, A), (T, N) |
| ``terminated``, ``truncated`` | (T, N) bool; a time-out is a truncation |
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.files import make_parent, write_atomic
from genelab.core.overrides import at_least
from genelab.core.registry import find, load
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.rl.backends.base import Policy
from genelab.rl.sb3.demos import FORMAT

UNUSED_IN_COLLECT = {
    "agent": "a demonstrator has no networks and learns nothing",
    "env.simulation.steps": "the length is --steps",
    "env.simulation.vis": "collecting shows no window",
}


@dataclass(frozen=True)
class CollectRequest:
    """What the user asked to record."""

    task: str
    out: Path
    overrides: list[tuple[str, str]] = field(default_factory=list)
    steps: int = 1000
    seed: int = 0
    preset: str = "auto"


def run_collection(request: CollectRequest, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Record the demonstrator of a task in its training environment and write the file."""
    at_least(1, steps=request.steps)
    scripted = demonstrator(request.task)
    make_parent(request.out)
    setup = resolve(request.task, preset=request.preset, user=request.overrides, unused=UNUSED_IN_COLLECT)
    for change in setup.changes:
        say(str(change))
    env = ManagerBasedRlEnv(setup.env_cfg, seed=request.seed)
    try:
        demos = {
            "format": FORMAT,
            "task": request.task,
            "num_envs": env.num_envs,
            "seed": request.seed,
            **record(env, scripted(env), request.steps),
        }
    finally:
        env.close()
    write_atomic(request.out, lambda path: torch.save(demos, path))
    rate = "-" if demos["success_rate"] is None else f"{demos['success_rate']:.3f}"
    say(
        f"{request.steps} steps in {env.num_envs} worlds, success_rate {rate}, "
        f"{request.out.stat().st_size / 1e6:.1f} MB written to {request.out}"
    )
    return demos


def demonstrator(task: str) -> Callable[[ManagerBasedRlEnv], Policy]:
    """What makes the scripted policy of a task for an environment."""
    reference = find(task).demonstrator
    if reference is None:
        raise UserError(f"task '{task}' has no demonstrator")
    return load(reference)


@torch.no_grad()
def record(env: ManagerBasedRlEnv, policy: Policy, steps: int) -> dict[str, Any]:
    """Every transition of `steps` control steps, and the share of successful episodes among those that ended."""
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
    return {"success_rate": rate, **{name: _stacked(values) for name, values in columns.items()}}


def _stacked(values: list[Any]) -> Any:
    if isinstance(values[0], Tensor):
        return torch.stack(values).cpu()
    return {group: torch.stack([value[group] for value in values]).cpu() for group in values[0]}
