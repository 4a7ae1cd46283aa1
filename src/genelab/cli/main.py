"""The `genelab` command: options with a dot are config overrides, everything else is Typer's."""

import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from genelab import __version__
from genelab.cli import campaign, project
from genelab.cli.options import ARGUMENTS
from genelab.core.errors import RunStopped, UserError, hint
from genelab.core.registry import load
from genelab.experiment.console import allow_all_text, say

GC_THRESHOLD = 50_000
"""New objects between two searches for garbage. With Python's 700, importing torch takes a fifth longer."""
CONTEXT = {"token_normalize_func": lambda name: name.replace("_", "-"), "help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="genelab",
    help="Define a robot-learning task once; train, evaluate and play it.",
    epilog="Example: genelab train GeneLab-Inverted-Pendulum-v0 --seed 1",
    context_settings=CONTEXT,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
LOOK, RUN = "Look around", "Train and run"
PANELS = {
    LOOK: ("list", "info", "runs", "doctor"),
    RUN: ("train", "play", "watch", "collect", "export"),
    "Judge": ("eval", "probe", "sim2sim", "benchmark", "summary", "report"),
}
"""Panels of the help with their commands, each in a module of its name."""
FUNCTIONS = {"list": "list_things", "eval": "evaluate"}
"""What commands do whose names Python has for itself; of the others, the function with the same name."""
COMMANDS: list[tuple[str, str, Callable[..., Any]]] = [
    (panel, name, load(f"genelab.cli.{name}:{FUNCTIONS.get(name, name)}"))
    for panel, names in PANELS.items()
    for name in names
]
"""The panel of the help that a command stands in, its name, and what it does."""
WITH_OVERRIDES = {"info", "play", "train", "eval", "export", "probe", "sim2sim", "collect"}
OVERRIDES_HINT = "Options with a dot, such as --env.num_envs 8, set config values ('genelab info TASK --overrides')."

for _panel, _name, _function in COMMANDS:
    _epilog = OVERRIDES_HINT if _name in WITH_OVERRIDES else None
    app.command(_name, rich_help_panel=_panel, epilog=_epilog)(_function)
for _group, _panel in ((campaign, RUN), (project, LOOK)):
    _commands = typer.Typer(rich_markup_mode="rich", help=_group.__doc__)
    for _name, _function in _group.COMMANDS.items():
        _commands.command(_name)(_function)
    app.add_typer(_commands, name=_group.__name__.rpartition(".")[2], rich_help_panel=_panel, no_args_is_help=True)

# Typer carries its own copy of click and exports only the leaves of its exceptions.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_OVERRIDE = re.compile(r"--(?P<path>[A-Za-z_][\w-]*(\.[\w-]+)+)(=(?P<value>.*))?", re.DOTALL)


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context, version: bool = typer.Option(False, "--version", help="Show the version and exit.")
) -> None:
    ctx.meta[ARGUMENTS], ctx.obj = ctx.obj
    if version:
        say(f"genelab {__version__}")
    elif ctx.invoked_subcommand is None:
        ctx.get_help()  # prints it


def split_overrides(arguments: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Take ``--a.b.c VALUE`` and ``--a.b.c=VALUE`` out of the arguments."""
    rest: list[str] = []
    overrides: list[tuple[str, str]] = []
    words = iter(arguments)
    for word in words:
        if (match := _OVERRIDE.fullmatch(word)) is None:
            rest.append(word)
            continue
        value = next(words, None) if match["value"] is None else match["value"]
        if value is None or value.startswith("--"):
            raise UserError(f"{word} needs a value")
        overrides.append((match["path"], value))
    return rest, overrides


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 stopped, 2 a mistake in the request."""
    gc.set_threshold(GC_THRESHOLD)
    _open_standard_streams()
    code = run(list(sys.argv[1:] if arguments is None else arguments))
    gc.freeze()  # at exit Python would look for cycles in all of torch, a fifth of a second
    sys.exit(code)


def run(arguments: list[str]) -> int:
    allow_all_text()
    try:
        words, overrides = split_overrides(arguments)
        command = next((word for word in words if not word.startswith("-")), None)
        if overrides and command not in WITH_OVERRIDES:
            raise UserError(f"'{command}' takes no config overrides such as --{overrides[0][0]}")
        result = typer.main.get_command(app).main(words, "genelab", standalone_mode=False, obj=(arguments, overrides))
        return result if isinstance(result, int) else 0
    except UserError as error:
        return _fail(error, 2)
    except RunStopped as error:
        return _fail(error, 1)
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _fail("interrupted", 130)
    except _UsageError as error:
        return _fail(_explain(error), 2)
    except BrokenPipeError:  # who read the output wants no more of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a disk that is full, a directory that may not be read, …
        where = f": '{error.filename}'" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}", 1)


def _open_standard_streams() -> None:
    """Open those that are closed, or the next file that is opened takes their place and gets all that is printed."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115  (open to the end)


def _explain(error: Any) -> str:
    """A usage error in one line, with the nearest valid name."""
    if hasattr(error, "option_name") and error.ctx is not None:  # no such option
        options = [name for parameter in error.ctx.command.params for name in parameter.opts]
        return f"unknown option '{error.option_name}'{hint(error.option_name, options)}"
    return " ".join(error.format_message().split()).rstrip(".")


def _fail(message: object, code: int) -> int:
    # Names from files may hold anything: in a terminal, other than printable characters would be commands.
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(message))
    print(f"genelab: {line}", file=sys.stderr)
    return code
