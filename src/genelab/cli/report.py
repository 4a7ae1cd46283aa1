"""genelab report"""

from pathlib import Path
from typing import Annotated

from genelab.cli.options import argument, option
from genelab.experiment.console import say


def report(
    places: Annotated[list[Path], argument("Runs, directories of several seeds, or a campaign file.", "DIR")],
    out: Annotated[Path | None, option("Write the report here (report.html among the runs).")] = None,
) -> None:
    """Write one HTML file about a run, all seeds of one, several to compare, or a campaign: it opens without network.

    Example: genelab report logs/rsl_rl/GeneLab-Inverted-Pendulum-v0/baseline logs/…/other --out comparison.html
    """
    from genelab.experiment.report import write_report

    say(f"report: {write_report(places, out)}")
