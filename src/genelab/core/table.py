"""Tables: the one way to print them on a terminal, and as markdown in the documents."""

import io
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

UNBOUNDED = 100_000
"""Characters: wider than any table."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of anything that can be shown in a cell."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]] = field(default_factory=list)
    title: str = ""
    """A line above the table. Not part of the markdown, where headings belong to the page."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells for {len(self.columns)} columns: {list(row)}")

    def __str__(self) -> str:
        return self.text(terminal_width())

    def text(self, width: int | None = None) -> str:
        """For a terminal of this many columns; cells wrap where they must. None: as wide as the table is."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        cells = [[cell(value) for value in row] for row in self.rows]
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number, name in enumerate(self.columns):
            numeric = bool(cells) and all(_is_number(row[number]) for row in cells)
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
        for row in cells:
            table.add_row(*map(Text, row))
        out = io.StringIO()
        Console(file=out, width=width or UNBOUNDED, color_system=None).print(table)
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        return "\n".join([self.title, *lines] if self.title else lines)

    def markdown(self) -> str:
        """A pipe table."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(cell(value).replace("|", "\\|") for value in row) + " |" for row in lines)


def cell(value: Any) -> str:
    """One value as a short text: numbers in few digits, yes and no, nothing for None and for empty items."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}={cell(item)}" for name, item in value.items() if item not in (None, ""))
    if isinstance(value, tuple | list):
        return f"({', '.join(map(cell, value))})"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
        return value.__name__
    return str(value)


def terminal_width() -> int | None:
    """Columns of the terminal that standard output goes to, or None where it does not go to one."""
    return shutil.get_terminal_size((0, 0)).columns or None


def _is_number(text: str) -> bool:
    """Whether a cell can stand right-aligned among numbers. An empty one or a dash can."""
    return re.fullmatch(r"-?|(± )?[+\-±]?\d[\d.,]*(e[+-]?\d+)?( ?(%|s))?(/\d+)?", text) is not None
