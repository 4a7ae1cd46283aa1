"""genelab info"""

import json
import textwrap
from typing import Annotated, Any

import typer

from genelab.cli.options import Json, Task, backend, option, preset
from genelab.core.table import terminal_width
from genelab.experiment.console import say


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
    from genelab.core.files import without_infinities
    from genelab.experiment import describe
    from genelab.experiment.setup import resolve

    setup = resolve(task, play=play, preset=preset, backend=backend, overrides=ctx.obj)
    tables = [] if overrides else describe.tables(setup.env_cfg)
    paths, spec = describe.overridable(setup), setup.spec
    prose, width = describe.prose(spec), terminal_width()
    presets = {name: describe.preset(spec, name, backend) for name in spec.preset_names(backend)}
    if as_json:
        listed = [{**row, "path": row["path"].removeprefix("--")} for row in paths.records()]
        record: dict[str, Any] = {"task": spec.id, "overrides": listed}
        if not overrides:
            record |= {
                "description": prose,
                "tables": {table.title: table.records() for table in tables},
                "published": spec.published or None,
                "backends": list(spec.agents),
                "preset": setup.preset,
                "presets": {name: changes.records() for name, changes in presets.items()},
            }
        return say(json.dumps(without_infinities(record), indent=2))
    if not overrides:
        if width is not None:
            prose = "\n\n".join(textwrap.fill(" ".join(part.split()), width) for part in prose.split("\n\n"))
        say(f"{spec.id}\n\n{prose}\n")
        for table in tables:
            say(f"{table}\n")
        if spec.published:
            say(f"Published: {spec.published}\n")
        for name, changes in presets.items():
            marker = " (in use)" if name == setup.preset else ""
            say(f"Preset {name}{marker}{'' if changes.rows else ': the values of the task'}")
            say(f"{changes}\n" if changes.rows else "")
        say(f"Agents: {', '.join(spec.agents) or 'none'}\n")
    say(paths)
