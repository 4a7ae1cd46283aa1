"""Options that several commands share, and what they stand for."""

from typing import Annotated, Any

import typer

from genelab.core.errors import UserError

SIMULATION, PICTURES = "Simulation", "Pictures"
"""Panels of the help."""


def task_ids() -> list[str]:
    """What a shell offers for the name of a task."""
    from genelab.core.registry import tasks

    return sorted(tasks())


def engine_names() -> list[str]:
    """What a shell offers for the name of an engine."""
    from genelab.engines import ENGINES

    return list(ENGINES)


def backend_names() -> list[str]:
    """What a shell offers for the name of an RL library."""
    from genelab.rl.backends import BACKENDS

    return list(BACKENDS)


def preset_names() -> list[str]:
    """What a shell offers for the name of a preset."""
    from genelab.core.registry import tasks

    own = {name for task in tasks().values() for name in task.preset_names(None)}
    return sorted({"auto", *own})


Task = Annotated[
    str,
    typer.Argument(help="The id of a task; 'genelab list' shows them.", show_default=False, autocompletion=task_ids),
]
Vis = Annotated[
    bool,
    typer.Option("--vis", "-v", help="Open a viewer window (env.simulation.vis=true).", rich_help_panel=PICTURES),
]
Headless = Annotated[
    bool, typer.Option("--headless", help="Open no window (env.simulation.vis=false).", rich_help_panel=PICTURES)
]
Gpu = Annotated[
    bool,
    typer.Option("--gpu", help="Run on the CUDA device (env.simulation.gpu=true).", rich_help_panel=SIMULATION),
]
Dt = Annotated[
    float | None,
    typer.Option("--dt", help="Advance physics by this many seconds (env.simulation.dt).", rich_help_panel=SIMULATION),
]
Sim = Annotated[
    str | None,
    typer.Option(
        "--sim",
        help="Simulate with this engine (env.simulation.engine).",
        rich_help_panel=SIMULATION,
        autocompletion=engine_names,
    ),
]

LOCALHOST = "127.0.0.1"
Host = Annotated[str, typer.Option(help="Serve the page at this address of this machine.", rich_help_panel=PICTURES)]
Port = Annotated[
    int | None,
    typer.Option(help="Serve the page at this port (the first free one from 8080).", rich_help_panel=PICTURES),
]


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
