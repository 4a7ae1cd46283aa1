"""A report: one HTML file about one run, its seeds, several to compare, or a campaign. It opens without network."""

from collections.abc import Sequence
from pathlib import Path

from genelab.core.errors import UserError
from genelab.core.files import write_text
from genelab.core.run_files import REPORT_FILE
from genelab.experiment.report.page import report_page
from genelab.experiment.run.reading import load_entries


def write_report(places: Sequence[Path], out: Path | None = None) -> Path:
    """Write the report on some run directories, or on a campaign file, and return where it is.

    Unless said otherwise that is in the first directory, or in that of the campaign.
    """
    if len(places) == 1 and places[0].suffix == ".toml":
        from genelab.experiment.campaign.file import read_campaign  # tasks and presets take torch, which runs do not
        from genelab.experiment.report.campaign import campaign_page

        campaign = read_campaign(places[0])
        path, page = campaign.directory / REPORT_FILE, campaign_page(campaign)
    else:
        path, page = places[0] / REPORT_FILE, report_page(load_entries(places))
    path = out or path
    if path.is_dir():
        raise UserError(f"'{path}' is a directory: give --out the name of a file")
    try:
        write_text(path, page)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from error
    return path
