"""genelab collect"""

from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import Dt, Gpu, Seed, Sim, Task, option, preset, shortcuts
from genelab.experiment.console import say


def collect(
    ctx: typer.Context,
    task: Task,
    out: Annotated[Path, option("Write the demonstrations to this file (.npz).")],
    num_envs: Annotated[int | None, option("Record in as many worlds as the training has that they are for.")] = None,
    steps: Annotated[int, typer.Option(help="Record this many control steps of each world.")] = 1000,
    seed: Seed = 0,
    preset: Annotated[str, preset("Use these settings of the task, as in training (auto).")] = "auto",
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
) -> None:
    """Record how a task's scripted demonstrator does it, for replay buffers to start from.

    Example: genelab collect GeneLab-Franka-Pick-And-Place-v0 --num-envs 64 --steps 1000 --out demos.npz
    """
    from genelab.experiment.collect import run_collection

    overrides = shortcuts(ctx.obj, gpu=gpu, dt=dt, sim=sim, more={"env.num_envs": num_envs})
    run_collection(task, out, overrides, steps=steps, seed=seed, preset=preset, say=say)
