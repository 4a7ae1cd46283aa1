"""What comes with the package: small trained policies, and the suite and reference of the regression gate."""

from importlib.resources import files
from pathlib import Path

from genelab.core.errors import unknown

PREFIX = "bundled:"
"""``bundled:<task>`` stands for the bundled checkpoint of a task wherever a checkpoint is named."""


def directory() -> Path:
    """Where the bundled files are."""
    return Path(str(files("genelab"))) / "bundled"


def bundled_checkpoint(task: str) -> Path | None:
    """The bundled checkpoint of a task, or None if there is none."""
    return next((path for path in directory().glob("*.pt") if path.stem == task), None)


def resolve_checkpoint(name: str | Path, relative_to: Path | None = None) -> Path:
    """A checkpoint by path, or by ``bundled:<task>``. Relative paths count from `relative_to`."""
    if str(name).startswith(PREFIX):
        task = str(name).removeprefix(PREFIX)
        path = bundled_checkpoint(task)
        if path is None:
            raise unknown("bundled policy", task, (p.stem for p in directory().glob("*.pt")))
        return path
    path = Path(name)
    return path if relative_to is None else relative_to / path
