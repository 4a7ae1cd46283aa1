"""genelab info"""

from typing import Annotated

import typer

from genelab.cli.options import Task
from genelab.experiment.console import say


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
    from genelab.core.overrides import configs, leaves, show, type_name, variants
    from genelab.core.ranges import rules_of
    from genelab.experiment import describe
    from genelab.experiment.setup import resolve

    setup = resolve(task, play=play, preset=preset, backend=backend, overrides=ctx.obj)
    spec = setup.spec
    if not overrides:
        say(f"{spec.id}\n\n{describe.prose(spec)}\n")
        for table in describe.tables(setup.env_cfg):
            say(f"{table}\n")
        if spec.published:
            say(f"Published: {spec.published}\n")
        for name in spec.preset_names(backend):
            marker = " (in use)" if name == setup.preset else ""
            changes = spec.preset(name, backend)
            say(f"Preset {name}{marker}: {'the values of the task' if not changes else ''}".rstrip())
            for path, value in changes.items():
                say(f"  {path} = {show(value)}")
        say(f"\nAgents: {', '.join(spec.agents) or 'none'}\n\nOverrides (path, type and range, value):")
    for path, config in configs(setup.roots):
        if names := variants(config):
            chosen = next((name for name, cls in names.items() if cls.endswith(f":{type(config).__name__}")), "")
            say(f"  --{path}  {'|'.join(names)}  {chosen}")
    for leaf in leaves(setup.roots):
        rules = rules_of(leaf.type)
        say(f"  --{leaf.path}  {type_name(leaf.type)}{f' ({rules})' if rules else ''}  {show(leaf.value)}")
