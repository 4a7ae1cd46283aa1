"""genelab list"""

from typing import Annotated

import typer

from genelab.cli.options import option
from genelab.core.errors import UserError, require_known
from genelab.core.registry import tasks
from genelab.core.table import Table
from genelab.engines import ENGINES
from genelab.experiment.console import say
from genelab.rl.backends import BACKENDS

KINDS = ("tasks", "robots", "engines", "backends")
ROBOTS = {
    "cartpole": ("genelab.scene.robots.cartpole:single_pole", "cart on a rail with one pole, 1 actuator"),
    "double_cartpole": ("genelab.scene.robots.cartpole:double_pole", "cart on a rail with two poles, 1 actuator"),
    "g1": ("genelab.scene.robots.g1:g1", "Unitree G1, humanoid, 29 actuators"),
    "go1": ("genelab.scene.robots.go1:go1", "Unitree Go1, quadruped, 12 actuators"),
    "panda": ("genelab.scene.robots.panda:panda", "Franka Emika Panda with its hand, 9 actuators"),
}
"""Robot name to its ``"module:function"`` and a summary."""


def list_things(
    kind: Annotated[
        str, typer.Argument(help="What to list: tasks, robots, engines or backends.", autocompletion=lambda: KINDS)
    ] = "tasks",
    tag: Annotated[str | None, option("List only tasks with this tag.")] = None,
) -> None:
    """Show the tasks, robots, engines or backends there are.

    Example: genelab list tasks --tag pendulum
    """
    require_known("kind", kind, KINDS)
    if tag is not None and kind != "tasks":
        raise UserError("--tag goes with 'list tasks'")
    if kind == "tasks":
        known = tasks().values()
        if tag is not None:
            require_known("tag", tag, {each for spec in known for each in spec.tags})
        chosen = [spec for spec in known if tag is None or tag in spec.tags]
        rows = [(spec.id, ", ".join(spec.agents) or "-", ", ".join(spec.tags), spec.summary) for spec in chosen]
        say(Table(("task", "backends", "tags", "summary"), rows))
    elif kind == "robots":
        say(Table(("robot", "model", "summary"), [(name, *about) for name, about in ROBOTS.items()]))
    else:
        parts = (ENGINES if kind == "engines" else BACKENDS).values()
        rows = [(part.name, "yes" if part.installed else f"no: {part.install}", part.summary) for part in parts]
        say(Table((kind.removesuffix("s"), "installed", "summary"), rows))
