"""genelab play"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from genelab.cli.options import Dt, Gpu, Headless, Sim, Task, Vis, shortcuts
from genelab.experiment.console import say


def play(
    ctx: typer.Context,
    task: Task,
    agent: Annotated[
        Literal["zero", "random", "demonstrator", "trained"] | None,
        typer.Option(help="Who acts. Default: trained if a checkpoint is given, else zero.", show_default=False),
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint of a trained policy.")] = None,
    num_envs: Annotated[int | None, typer.Option(help="Number of worlds (1).", show_default=False)] = None,
    steps: Annotated[
        int | None, typer.Option(help="Soft length, env.simulation.steps (240); not read with a window.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="Hard cap on the number of steps, window or not.")] = None,
    vis: Vis = False,
    headless: Headless = False,
    viewer: Annotated[Literal["native"], typer.Option(help="Kind of window.")] = "native",
    video: Annotated[Path | None, typer.Option(help="Record world 0 to this file (.mp4).")] = None,
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
    seed: Annotated[int, typer.Option(help="Seed of resets, noise and random actions.")] = 0,
) -> None:
    """Run a policy in a task.

    Example: genelab play GeneLab-Inverted-Pendulum-v0 --agent trained --video pendulum.mp4
    """
    from genelab.experiment.play import PlayRequest, run_playback

    overrides = shortcuts(
        ctx.obj, vis=vis, headless=headless, gpu=gpu, dt=dt, sim=sim, more={"env.simulation.steps": steps}
    )
    run_playback(
        PlayRequest(
            task=task,
            overrides=overrides,
            agent=agent,
            checkpoint=checkpoint,
            num_envs=num_envs,
            max_steps=max_steps,
            video=video,
            seed=seed,
        ),
        say=say,
    )
