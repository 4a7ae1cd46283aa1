"""A report: one HTML file about one run, its seeds, or several to compare. It opens without network."""

from collections.abc import Sequence
from pathlib import Path

from genelab.core.errors import UserError
from genelab.core.files import write_text
from genelab.core.run_files import REPORT_FILE
from genelab.experiment.report.page import report_page
from genelab.experiment.run.reading import load_entries


def write_report(directories: Sequence[Path], out: Path | None = None) -> Path:
    """Write the report on some run directories and return where it is, in the first of them unless said otherwise."""
    path = out if out is not None else directories[0] / REPORT_FILE
    entries = load_entries(directories)
    if path.is_dir():
        raise UserError(f"'{path}' is a directory: give --out the name of a file")
    try:
        write_text(path, report_page(entries))
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from error
    return path
