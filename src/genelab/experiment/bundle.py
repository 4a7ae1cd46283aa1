"""What comes with the package: small trained policies, and the suite and reference of the regression gate."""

from importlib.resources import files
from pathlib import Path

from genelab.core.errors import unknown
from genelab.core.registry import tasks

BUNDLED, PREFIX = "bundled", "bundled:"
"""Wherever a checkpoint is named, ``bundled`` stands for the task's bundled one, ``bundled:<task>`` for another's."""


def directory() -> Path:
    """Where the bundled files are."""
    return Path(str(files("genelab"))) / "bundled"


def bundled_checkpoint(task: str) -> Path | None:
    """The bundled checkpoint of a task, or None if there is none."""
    return next((path for path in directory().glob("*.pt") if path.stem == task), None)


def is_bundled(name: str | Path) -> bool:
    """Whether a name of a checkpoint stands for a bundled one, rather than being a path."""
    return str(name) == BUNDLED or str(name).startswith(PREFIX)


def resolve_checkpoint(name: str | Path, task: str, relative_to: Path | None = None) -> Path:
    """A checkpoint for `task` by path, ``bundled`` or ``bundled:<task>``. Paths count from `relative_to`."""
    if task in tasks():
        tasks()[task].agent_cfg()  # an error if there is none: no policy acts in the task
    if is_bundled(name):
        task = task if str(name) == BUNDLED else str(name).removeprefix(PREFIX)
        path = bundled_checkpoint(task)
        if path is None:
            raise unknown("bundled policy", task, (p.stem for p in directory().glob("*.pt")))
        return path
    path = Path(name)
    return path if relative_to is None else relative_to / path
