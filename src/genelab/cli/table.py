"""Tables on the terminal."""

from collections.abc import Sequence

import typer


def echo_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows with aligned columns; the first row is the header."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
