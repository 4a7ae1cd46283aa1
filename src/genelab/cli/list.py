"""genelab list"""

from typing import Annotated

import typer

from genelab.cli.table import echo_table
from genelab.core.errors import UserError, unknown
from genelab.core.registry import tasks

KINDS = ("tasks", "robots", "engines", "backends")


def list_things(
    kind: Annotated[str, typer.Argument(help="What to list: tasks, robots, engines or backends.")] = "tasks",
    tag: Annotated[str | None, typer.Option(help="Only tasks with this tag.")] = None,
) -> None:
    """Show the tasks, robots, engines or backends there are.

    Example: genelab list tasks --tag pendulum
    """
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    if tag is not None and kind != "tasks":
        raise UserError("--tag goes with 'list tasks'")
    rows = {"tasks": lambda: _tasks(tag), "robots": _robots, "engines": _engines, "backends": _backends}[kind]()
    echo_table(rows)


def _tasks(tag: str | None) -> list[tuple[str, ...]]:
    known = tasks()
    tags = {t for spec in known.values() for t in spec.tags}
    if tag is not None and tag not in tags:
        raise unknown("tag", tag, tags)
    chosen = [spec for spec in known.values() if tag is None or tag in spec.tags]
    return [
        ("TASK", "BACKENDS", "TAGS", "SUMMARY"),
        *((spec.id, ",".join(spec.agents) or "-", ",".join(spec.tags), spec.summary) for spec in chosen),
    ]


def _robots() -> list[tuple[str, ...]]:
    from genelab.scene.robots.catalog import ROBOTS

    return [("ROBOT", "MODEL", "SUMMARY"), *((name, target, summary) for name, (target, summary) in ROBOTS.items())]


def _engines() -> list[tuple[str, ...]]:
    from genelab.engines import ENGINES

    return [
        ("ENGINE", "INSTALLED", "SUMMARY"),
        *((e.name, "yes" if e.installed else f"no: {e.install}", e.summary) for e in ENGINES.values()),
    ]


def _backends() -> list[tuple[str, ...]]:
    from genelab.rl.backends import BACKENDS

    return [
        ("BACKEND", "INSTALLED", "SUMMARY"),
        *((b.name, "yes" if b.installed else f"no: {b.install}", b.summary) for b in BACKENDS.values()),
    ]
