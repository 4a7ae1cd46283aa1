"""genelab info"""

import copy
import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genelab.cli.options import Task

if TYPE_CHECKING:
    from genelab.core.table import Table


def info(
    ctx: typer.Context,
    task: Task,
    overrides: Annotated[bool, typer.Option("--overrides", help="Only the overridable paths.")] = False,
    play: Annotated[bool, typer.Option("--play", help="The environment of play and eval, not of training.")] = False,
    preset: Annotated[str, typer.Option(help="auto, cpu or reference.")] = "auto",
    backend: Annotated[str | None, typer.Option(help="RL library, if the task has agents for several.")] = None,
) -> None:
    """Show a task: its MDP, presets, published result, and every path that can be overridden.

    Example: genelab info GeneLab-Inverted-Pendulum-v0 --overrides
    """
    from genelab.core.overrides import leaves, show, type_name
    from genelab.core.registry import load
    from genelab.experiment.setup import resolve

    setup = resolve(task, play=play, preset=preset, backend=backend, user=ctx.obj)
    spec = setup.spec
    if not overrides:
        typer.echo(f"{spec.id}\n\n{_prose(load(spec.env).__doc__ or spec.summary)}\n")
        for table in _tables(setup.roots["env"]):
            typer.echo(f"{table}\n")
        if spec.published:
            typer.echo(f"Published: {spec.published}\n")
        for name in spec.preset_names(backend):
            marker = " (in use)" if name == setup.preset else ""
            changes = spec.preset(name, backend)
            typer.echo(f"Preset {name}{marker}: {'the values of the task' if not changes else ''}".rstrip())
            for path, value in changes.items():
                typer.echo(f"  {path} = {show(value)}")
        typer.echo(f"\nAgents: {', '.join(spec.agents) or 'none'}\n\nOverrides (path, type, value):")
    for leaf in leaves(setup.roots):
        typer.echo(f"  --{leaf.path}  {type_name(leaf.type)}  {show(leaf.value)}")


def _prose(docstring: str) -> str:
    """A task's docstring without its tables: the environment prints its own."""
    lines = [line for line in inspect.cleandoc(docstring).splitlines() if not line.startswith("|")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _tables(cfg: Any) -> "list[Table]":
    """The tables of all managers that have terms, from an environment of one world."""
    from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg

    if not isinstance(cfg, ManagerBasedRlEnvCfg):
        return []
    cfg = copy.deepcopy(cfg)
    # The tables are the same in every engine, and this one is always there.
    cfg.num_envs, cfg.simulation.engine, cfg.simulation.gpu = 1, "mujoco", False
    env = ManagerBasedRlEnv(cfg)
    env.close()
    return env.tables()
