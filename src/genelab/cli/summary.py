"""genelab summary"""

from pathlib import Path
from typing import Annotated

from genelab.cli.options import argument
from genelab.core.errors import UserError
from genelab.experiment.console import say


def summary(directory: Annotated[Path, argument("The directory of several seeds.", "DIR")]) -> None:
    """Summarise the seeds of a training again from their files: a table, and summary.json.

    Example: genelab summary logs/multi-seed/GeneLab-Inverted-Pendulum-v0/2026-01-31_12-00-00
    """
    from genelab.experiment.run.summary import summarise

    if not directory.is_dir():
        raise UserError(f"there is no directory '{directory}'")
    summarise(directory, say)
