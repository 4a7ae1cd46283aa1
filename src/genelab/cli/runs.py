"""genelab runs"""

import json
from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import Json, argument
from genelab.experiment.console import say
from genelab.experiment.run.listing import COLUMNS, list_runs, run_table


def runs(
    directory: Annotated[Path, argument("Look below this directory (logs).", "DIR")] = Path("logs"),
    sort: Annotated[str, typer.Option(help="Sort by this column.", autocompletion=lambda: list(COLUMNS))] = "age",
    as_json: Json = False,
) -> None:
    """Show the runs below a directory: how they stand, what they reached, and how fast.

    Example: genelab runs logs --sort return
    """
    records, notes = list_runs(directory, sort)
    if as_json:
        return say(json.dumps({"runs": records, "notes": notes}, indent=2))
    say(run_table(records) if records else f"there is no run below '{directory}'")
    for note in notes:
        say(f"note: {note}")
