"""genelab play"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from genelab.cli.options import PICTURES, Dt, Gpu, Headless, Sim, Task, Vis, shortcuts
from genelab.experiment.console import say


def play(
    ctx: typer.Context,
    task: Task,
    agent: Annotated[
        Literal["zero", "random", "demonstrator", "trained"] | None,
        typer.Option(help="Choose who acts; trained if a checkpoint is given, otherwise zero.", show_default=False),
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Act with this checkpoint, or 'bundled'.")] = None,
    num_envs: Annotated[int | None, typer.Option(help="Run this many worlds (1).", show_default=False)] = None,
    steps: Annotated[
        int | None, typer.Option(help="Play this many steps without a window (env.simulation.steps, 240).")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="Stop after this many steps, window or not.")] = None,
    vis: Vis = False,
    headless: Headless = False,
    viewer: Annotated[
        Literal["native"], typer.Option(help="Open this kind of window.", rich_help_panel=PICTURES)
    ] = "native",
    video: Annotated[
        Path | None, typer.Option(help="Film world 0 into this file (.mp4).", rich_help_panel=PICTURES)
    ] = None,
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
    seed: Annotated[int, typer.Option(help="Fix everything random.")] = 0,
) -> None:
    """Run a policy in a task: in a window, into a video, or just so.

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
