"""The page docs/reference/commands.md: every command with its arguments and options, from its help."""

from typing import Any

import typer
from make_reference import NOTE

from genelab.cli.main import WITH_OVERRIDES, app
from genelab.core.table import Table

ABOUT = """`genelab COMMAND --help` says the same. Where a command takes config overrides, any option with a dot changes
a value: `--env.rewards.alive.weight 2`. `genelab info TASK --overrides` lists them all."""


def commands_page() -> str:
    """All commands, in the panels of ``genelab --help``."""
    group: Any = typer.main.get_command(app)
    panels: dict[str, list[str]] = {}
    for name, command in group.commands.items():
        parts = {f"{name} {part}": it for part, it in getattr(command, "commands", {}).items()} or {name: command}
        lines = panels.setdefault(command.rich_help_panel, [f"## {command.rich_help_panel}", ""])
        lines += [line for part in parts.items() for line in entry(*part)]
    lines = ["# The command line", "", NOTE, "", ABOUT, "", *(line for panel in panels.values() for line in panel)]
    return "\n".join(lines).rstrip() + "\n"


def entry(name: str, command: Any) -> list[str]:
    """What a command does, an example, and what it takes."""
    about, _, example = command.help.partition("Example: ")
    takes = " It takes config overrides." if name in WITH_OVERRIDES else ""
    lines = [f"### genelab {name}", "", about.strip() + takes, "", "```sh", example.strip(), "```", ""]
    rows = [(_spelled(p), p.help, _default(p)) for p in command.params]
    return [*lines, Table(("argument or option", "meaning", "default"), rows).markdown(), ""]


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name).upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    if not parameter.show_default or parameter.default in (None, False):
        return ""
    return parameter.opts[0] if parameter.default is True else f"`{parameter.default}`"
