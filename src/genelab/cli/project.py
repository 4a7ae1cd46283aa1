"""Begin a package of one's own: a robot, a task, and agents that learn it.

Example: genelab project new my_arm
"""

from pathlib import Path
from typing import Annotated

from genelab.cli.options import argument, option
from genelab.experiment.console import say


def new(
    name: Annotated[str, argument("The name of the project, such as my_arm.", "NAME")],
    path: Annotated[Path, option("Write it into this directory (here).")] = Path(),
    package: Annotated[str | None, option("Call the Python package so (as the project).")] = None,
    task_id: Annotated[str | None, option("Call the task so (MyArm-Reach-v0).")] = None,
) -> None:
    """Write a package that installs, trains, evaluates and exports at once, to change it into one's own.

    Example: genelab project new my_arm --path ~/robots
    """
    from genelab.experiment.project import new_project

    target = new_project(name, path, package, task_id)
    say(f"project: {target}\n  pip install --editable {target}\n  genelab list")
    say(f"or 'make demo' and 'make test' in {target}; its README.md says which file is for what")


COMMANDS = {"new": new}
