"""Demonstrations of a task's scripted policy, in a file that learners start from (`genelab.rl.demos`)."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import prepare_output, write_result
from genelab.core.ranges import Count, check
from genelab.core.registry import find, load
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import Overrides, Say, resolve
from genelab.rl.backends.base import Policy
from genelab.rl.demos import record_demos, write_demos

UNUSED_IN_COLLECT = {
    "agent": "a demonstrator has no networks and learns nothing",
    "env.simulation.steps": "the length is --steps",
    "env.simulation.vis": "collecting shows no window",
}


def run_collection(
    task: str, out: Path, overrides: Overrides, *, steps: int, seed: int, preset: str = "auto", say: Say
) -> dict[str, Any]:
    """Record the demonstrator of a task in its training environment and write the file."""
    check("steps", steps, Count)
    scripted = demonstrator(task)
    prepare_output(out)
    setup = resolve(task, preset=preset, overrides=overrides, unused=UNUSED_IN_COLLECT, say=say)
    with closing(ManagerBasedRlEnv(setup.env_cfg, seed=seed)) as env:
        demos = record_demos(task, env, scripted(env), steps, seed)
    write_result(out, lambda path: write_demos(path, demos))
    rate = "-" if demos["success_rate"] is None else f"{demos['success_rate']:.3f}"
    size = out.stat().st_size / 1e6
    say(f"{steps} steps in {env.num_envs} worlds, success_rate {rate}, {size:.1f} MB written to {out}")
    return demos


def demonstrator(task: str) -> Callable[[ManagerBasedRlEnv], Policy]:
    """What makes the scripted policy of a task for an environment."""
    if (reference := find(task).demonstrator) is None:
        raise UserError(f"task '{task}' has no demonstrator")
    return load(reference)
