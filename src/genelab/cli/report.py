"""genelab report"""

from pathlib import Path
from typing import Annotated

import typer

from genelab.experiment.console import say


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Runs, or directories of several seeds.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the report here (report.html in the first DIR).", show_default=False)
    ] = None,
) -> None:
    """Write one HTML file about a run, about all seeds of one, or to compare several: it opens without network.

    Example: genelab report logs/rsl_rl/GeneLab-Inverted-Pendulum-v0/baseline logs/…/other --out comparison.html
    """
    from genelab.experiment.report import write_report

    say(f"report: {write_report(directories, out)}")
