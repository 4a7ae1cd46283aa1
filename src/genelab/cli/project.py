"""Begin a package of one's own: a robot, a task, and agents that learn it.

Example: genelab project new my_arm
"""

from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import argument
from genelab.experiment.console import say


def new(
    name: Annotated[str, argument("The name of the package, such as my_arm.", "NAME")],
    into: Annotated[Path, typer.Option(help="Write it into this directory.")] = Path(),
) -> None:
    """Write a package that installs, trains, evaluates and exports at once, to change it into one's own.

    Example: genelab project new my_arm --into ~/robots
    """
    from genelab.experiment.project import new_project

    target = new_project(name, into)
    say(f"project: {target}\n  pip install --editable {target}\n  genelab list")
    say(f"or 'make demo' and 'make test' in {target}; its README.md says which file is for what")


COMMANDS = {"new": new}
