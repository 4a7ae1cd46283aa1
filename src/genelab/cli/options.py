"""Options that several commands share, and what they stand for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from genelab.core.errors import UserError, require_known
from genelab.core.registry import tasks
from genelab.engines import ENGINES
from genelab.experiment.launch import LAUNCHERS
from genelab.rl.backends import BACKENDS

SIMULATION, PICTURES = "Simulation", "Pictures"
"""Panels of the help."""
LOCALHOST = "127.0.0.1"
ARGUMENTS = "genelab.arguments"
"""What the user typed, in the context of a command (``ctx.meta``); ``ctx.obj`` is the overrides among it."""
Complete = Callable[[], Sequence[str]]
"""Says what a shell offers."""


def argument(help: str, metavar: str | None = None, complete: Complete | None = None) -> Any:
    """An argument whose default its help says, if it has one."""
    return typer.Argument(help=help, metavar=metavar, show_default=False, autocompletion=complete)


def option(help: str, *flags: str, panel: str | None = None, complete: Complete | None = None) -> Any:
    """An option whose default its help says, if it matters."""
    return typer.Option(*flags, help=help, show_default=False, rich_help_panel=panel, autocompletion=complete)


def preset(help: str) -> Any:
    return option(help, complete=lambda: sorted({"auto", *(n for t in tasks().values() for n in t.preset_names())}))


def backend(help: str) -> Any:
    return option(help, complete=lambda: list(BACKENDS))


Task = Annotated[str, argument("The id of a task; 'genelab list' shows them.", complete=lambda: sorted(tasks()))]
Checkpoint = Annotated[Path, argument("A checkpoint, or 'bundled'.")]
Seed = Annotated[int, typer.Option(help="Fix everything random.")]
Out = Annotated[Path | None, option("Write the result to this JSON file.")]
Json = Annotated[bool, option("Write JSON, for programs.", "--json")]
Vis = Annotated[bool, option("Open a viewer window (env.simulation.vis=true).", "--vis", "-v", panel=PICTURES)]
Headless = Annotated[bool, option("Open no window (env.simulation.vis=false).", "--headless", panel=PICTURES)]
Gpu = Annotated[bool, option("Run on the CUDA device (env.simulation.gpu=true).", "--gpu", panel=SIMULATION)]
Dt = Annotated[float | None, option("Advance physics by this many seconds (env.simulation.dt).", panel=SIMULATION)]
Sim = Annotated[
    str | None,
    option("Simulate with this engine (env.simulation.engine).", panel=SIMULATION, complete=lambda: list(ENGINES)),
]
Host = Annotated[str, typer.Option(help="Serve the page at this address of this machine.", rich_help_panel=PICTURES)]
Port = Annotated[int | None, option("Serve the page at this port (the first free one from 8080).", panel=PICTURES)]


def is_ray(launcher: str, address: str | None) -> bool:
    """Whether a cluster is asked for."""
    require_known("launcher", launcher, LAUNCHERS)
    if address is not None and launcher != "ray":
        raise UserError("--address goes with --launcher ray")
    return launcher == "ray"


def shortcuts(
    overrides: list[tuple[str, str]] | None,
    *,
    vis: bool = False,
    headless: bool = False,
    gpu: bool = False,
    dt: float | None = None,
    sim: str | None = None,
    more: dict[str, Any] | None = None,
) -> list[tuple[str, str]]:
    """The user's overrides together with those that shortcut flags stand for. None in `more` means not given."""
    if vis and headless:
        raise UserError("--vis and --headless exclude each other")
    paths = {
        "env.simulation.vis": True if vis else False if headless else None,
        "env.simulation.gpu": True if gpu else None,
        "env.simulation.dt": dt,
        "env.simulation.engine": sim,
        **(more or {}),
    }
    return [*(overrides or []), *((path, str(value).lower()) for path, value in paths.items() if value is not None)]
