"""Work through a file that lists many trainings, and see what became of them.

Example: genelab campaign run examples/campaign.toml --parallel 2
"""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import Json, argument, is_ray, option
from genelab.experiment.console import on_terminal, say

File = Annotated[Path, argument("A campaign file (TOML).", "FILE")]
Out = Annotated[Path | None, option("Write here and beside it (table.md among the runs).")]


def run(
    file: File,
    parallel: Annotated[int, typer.Option(help="Train this many runs at once.")] = 1,
    only_failing: Annotated[
        bool, option("Only rows with a failed run, or of tasks below their target.", "--only-failing")
    ] = False,
    launcher: Annotated[str, option("Run on this machine (local), or on a cluster (ray).")] = "local",
    address: Annotated[str | None, option("Take the Ray cluster at this address.")] = None,
) -> int:
    """Train and evaluate everything that a campaign file lists and that is not done yet.

    Example: genelab campaign run examples/campaign.toml --parallel 2
    """
    from genelab.experiment.campaign.work import run_campaign
    from genelab.experiment.cluster import RayRuns

    place = partial(RayRuns, address) if is_ray(launcher, address) else None
    return run_campaign(file, parallel, only_failing, say, cluster=place)


def status(file: File, as_json: Json = False) -> None:
    """Show how every run of a campaign stands; on a terminal, for as long as the campaign is worked through.

    Example: genelab campaign status examples/campaign.toml
    """
    from genelab.experiment.campaign.file import read_campaign
    from genelab.experiment.campaign.state import METRICS, look_at, run_table, status_text
    from genelab.experiment.campaign.work import follow_campaign

    campaign = read_campaign(file)
    if as_json:
        runs = run_table(run for row in look_at(campaign) for run in row.runs)
        say(json.dumps({"metrics": METRICS, "runs": runs.records()}, indent=2))
    elif on_terminal():
        follow_campaign(campaign)
    else:
        say(status_text(look_at(campaign)))


def table(file: File, out: Out = None) -> None:
    """Write what every row of a campaign reached as Markdown and JSON, from the files of its runs.

    Example: genelab campaign table examples/campaign.toml --out results/campaign.md
    """
    from genelab.experiment.campaign.file import read_campaign
    from genelab.experiment.campaign.state import write_table

    shown, markdown, data = write_table(read_campaign(file), out)
    say(shown)
    say(f"table: {markdown}, {data}")


COMMANDS = {"run": run, "status": status, "table": table}
