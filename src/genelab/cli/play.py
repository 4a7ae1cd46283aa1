"""genelab play"""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from genelab.cli.options import LOCALHOST, PICTURES, Dt, Gpu, Headless, Host, Port, Sim, Task, Vis, option, shortcuts
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.experiment.console import say
from genelab.viewer.server import announced

Agent = Literal["zero", "random", "demonstrator", "trained"]
Viewer = Literal["native", "web"]


def play(
    ctx: typer.Context,
    task: Task,
    agent: Annotated[Agent | None, option("Choose who acts; trained if a checkpoint is given, otherwise zero.")] = None,
    checkpoint: Annotated[Path | None, option("Act with this checkpoint, or 'bundled'.")] = None,
    num_envs: Annotated[int | None, option("Run this many worlds (1).")] = None,
    steps: Annotated[int | None, option("Play this many steps without a window (env.simulation.steps, 240).")] = None,
    max_steps: Annotated[int | None, option("Stop after this many steps, window or not.")] = None,
    vis: Vis = False,
    headless: Headless = False,
    viewer: Annotated[Viewer | None, option("Open a window, or a page for the browser.", panel=PICTURES)] = None,
    host: Host = LOCALHOST,
    port: Port = None,
    video: Annotated[Path | None, option("Film world 0 into this file (.mp4).", panel=PICTURES)] = None,
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
    seed: Annotated[int, typer.Option(help="Fix everything random.")] = 0,
    prof: Annotated[bool, option("Say where the time went.", "--prof")] = False,
) -> None:
    """Run a policy in a task: in a window, in the browser, into a video, or just so.

    Example: genelab play GeneLab-Inverted-Pendulum-v0 --agent trained --viewer web
    """
    if viewer is not None and headless:
        raise UserError("--viewer and --headless exclude each other")
    if viewer != "web" and (host != LOCALHOST or port is not None):
        raise UserError("--host and --port go with --viewer web")
    find(task)  # a page of an unknown task would be announced for nothing
    with announced(task, host, port, say) if viewer == "web" else nullcontext() as page:
        from genelab.experiment.play import PlayRequest, run_playback

        seen, more = vis or viewer is not None, {"env.simulation.steps": steps}
        overrides = shortcuts(ctx.obj, vis=seen, headless=headless, gpu=gpu, dt=dt, sim=sim, more=more)
        run_playback(PlayRequest(task, overrides, agent, checkpoint, num_envs, max_steps, video, seed, page, prof), say)
