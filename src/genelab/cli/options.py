"""Options that several commands share, and what they stand for."""

from typing import Annotated, Any

import typer

from genelab.core.errors import UserError

Task = Annotated[str, typer.Argument(help="Task id, see 'genelab list'.", show_default=False)]
Vis = Annotated[bool, typer.Option("--vis", "-v", help="Show a viewer window (env.simulation.vis=true).")]
Headless = Annotated[bool, typer.Option("--headless", help="No window (env.simulation.vis=false).")]
Gpu = Annotated[bool, typer.Option("--gpu", help="Run on the CUDA device (env.simulation.gpu=true).")]
Dt = Annotated[float | None, typer.Option("--dt", help="Physics time step in seconds (env.simulation.dt).")]
Sim = Annotated[str | None, typer.Option("--sim", help="Physics engine (env.simulation.engine).")]


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
