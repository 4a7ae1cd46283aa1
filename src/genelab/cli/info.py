"""genelab info"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from genelab.cli.options import Json, Task, backend, option, preset
from genelab.core.table import Table, terminal_width
from genelab.experiment.console import say

if TYPE_CHECKING:
    from genelab.experiment.setup import Setup


def info(
    ctx: typer.Context,
    task: Task,
    overrides: Annotated[bool, option("Show only the paths that can be overridden.", "--overrides")] = False,
    play: Annotated[bool, option("Show the environment of play and eval, not that of training.", "--play")] = False,
    preset: Annotated[str, preset("Show the values with these settings of the task (auto).")] = "auto",
    backend: Annotated[str | None, backend("Show the agent of this RL library, if the task has several.")] = None,
    as_json: Json = False,
) -> None:
    """Show a task: its MDP, presets, published result, and every path that can be overridden.

    Example: genelab info GeneLab-Inverted-Pendulum-v0 --overrides
    """
    import json

    from genelab.core.files import without_infinities
    from genelab.experiment import describe
    from genelab.experiment.setup import resolve

    setup = resolve(task, play=play, preset=preset, backend=backend, overrides=ctx.obj)
    tables = [] if overrides else describe.tables(setup.env_cfg)
    paths = describe.overridable(setup)
    if as_json:
        listed = [{**row, "path": row["path"].removeprefix("--")} for row in paths.records()]
        record = {"task": setup.spec.id, "overrides": listed}
        if not overrides:
            record |= _facts(setup, backend, tables)
        say(json.dumps(without_infinities(record), indent=2))
        return
    if not overrides:
        _print(setup, backend, tables)
    say(paths)


def _facts(setup: "Setup", backend: str | None, tables: list[Table]) -> dict[str, Any]:
    """What is known of a task beside the paths that can be overridden, as data."""
    from genelab.experiment import describe

    spec = setup.spec
    return {
        "description": describe.prose(spec),
        "tables": {table.title: table.records() for table in tables},
        "published": spec.published or None,
        "backends": list(spec.agents),
        "preset": setup.preset,
        "presets": {name: describe.preset(spec, name, backend).records() for name in spec.preset_names(backend)},
    }


def _print(setup: "Setup", backend: str | None, tables: list[Table]) -> None:
    from genelab.experiment import describe

    spec = setup.spec
    say(f"{spec.id}\n\n{_filled(describe.prose(spec))}\n")
    for table in tables:
        say(f"{table}\n")
    if spec.published:
        say(f"Published: {spec.published}\n")
    for name in spec.preset_names(backend):
        marker = " (in use)" if name == setup.preset else ""
        changes = describe.preset(spec, name, backend)
        say(f"Preset {name}{marker}{'' if changes.rows else ': the values of the task'}")
        say(f"{changes}\n" if changes.rows else "")
    say(f"Agents: {', '.join(spec.agents) or 'none'}\n")


def _filled(text: str) -> str:
    """Paragraphs as wide as the terminal; as they are where there is none."""
    import textwrap

    width = terminal_width()
    if width is None:
        return text
    return "\n\n".join(textwrap.fill(" ".join(part.split()), width) for part in text.split("\n\n"))
