"""genelab probe"""

from typing import Annotated

import typer

from genelab.cli.options import Checkpoint, Dt, Gpu, Out, Seed, Sim, Task, shortcuts
from genelab.core.table import Table
from genelab.experiment.console import say


def probe(
    ctx: typer.Context,
    task: Task,
    checkpoint: Checkpoint,
    num_envs: Annotated[int, typer.Option(help="Give each command in this many worlds.")] = 64,
    seconds: Annotated[float, typer.Option(help="Hold each command this long.")] = 10.0,
    seed: Seed = 0,
    out: Out = None,
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
) -> None:
    """Give fixed velocity commands in every direction: achieved over commanded, and falls.

    A last row counts falls under the task's random commands with the pushes of training, one episode per world.

    Example: genelab probe Genelab-Velocity-Flat-Unitree-Go1-v0 logs/…/model_final.pt --out probe.json
    """
    from genelab.experiment.probe import run_probe

    overrides = shortcuts(ctx.obj, gpu=gpu, dt=dt, sim=sim)
    record = run_probe(task, checkpoint, overrides, num_envs, seconds, seed, out, say)
    rows = []
    for row in record["directions"]:
        achieved = "-" if row["achieved"] is None else f"{row['achieved']:+.3f}"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.0%}"
        rows.append((row["direction"], achieved, ratio, f"{row['falls']}/{row['worlds']}"))
    pushed = record["random_with_pushes"]
    rows.append((f"random, pushed, {pushed['seconds']:g} s", "-", "-", f"{pushed['falls']}/{pushed['worlds']}"))
    say(Table(("direction", "achieved", "of command", "falls"), rows))
    if out is not None:
        say(f"written to {out}")
