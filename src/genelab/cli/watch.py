"""genelab watch"""

from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import LOCALHOST, Host, Port, argument, option
from genelab.experiment.console import say


def watch(
    run: Annotated[Path, argument("The directory of a run, as 'train' prints it.")],
    num_envs: Annotated[int, typer.Option(help="Show this many worlds.")] = 4,
    max_steps: Annotated[int | None, option("Stop after this many steps.")] = None,
    host: Host = LOCALHOST,
    port: Port = None,
) -> None:
    """Follow a training in the browser: each new checkpoint plays, and the curves grow.

    Example: genelab watch logs/rsl_rl/GeneLab-Inverted-Pendulum-v0/2026-01-31_12-00-00
    """
    from genelab.experiment.watch import watch

    watch(run, num_envs, max_steps, host, port, say)
