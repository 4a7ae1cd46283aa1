"""Tables: the one way to print them on a terminal, and as markdown in the documents."""

import io
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

UNBOUNDED = 100_000
"""Characters: wider than any table."""
GAP = 3
"""Characters between two columns."""
NAMES_SHARE = 0.6
"""The largest part of a terminal that the first column takes without wrapping."""


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
        """For so many columns, where cells wrap if they must, or as wide as it is (None). Leaves out empty columns."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = [n for n in range(len(self.columns)) if not self.rows or any(cell(row[n]) for row in self.rows)]
        names = [self.columns[n] for n in shown]
        cells = [[cell(row[n]) for n in shown] for row in self.rows]
        widths = _widths(list(zip(names, *cells, strict=True)), width or UNBOUNDED)
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number, (name, wide) in enumerate(zip(names, widths, strict=True)):
            numeric = bool(cells) and all(_is_number(row[number]) for row in cells)
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold", width=wide)
        for row in cells:
            table.add_row(*map(Text, row))
        out = io.StringIO()
        Console(file=out, width=width or UNBOUNDED, color_system=None).print(table)
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        return "\n".join([self.title, *lines] if self.title else lines)

    def with_column(self, after: str, name: str, values: Sequence[Any]) -> "Table":
        """The same table with one more column behind another one."""
        at = list(self.columns).index(after) + 1
        rows = [(*row[:at], value, *row[at:]) for row, value in zip(self.rows, values, strict=True)]
        return Table((*self.columns[:at], name, *self.columns[at:]), rows, self.title)

    def records(self) -> list[dict[str, Any]]:
        """The rows as data for JSON: numbers, texts and what is made of them; anything else as its cell shows it."""
        return [{name: _plain(value) for name, value in zip(self.columns, row, strict=True)} for row in self.rows]

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


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else cell(value)


def terminal_width() -> int | None:
    """Columns of the terminal that standard output goes to, or None where it does not go to one."""
    return shutil.get_terminal_size((0, 0)).columns or None


def _widths(columns: list[tuple[str, ...]], room: int) -> list[int]:
    """Widths of columns that fit into a terminal: the widest give way first, and words break last.

    Names, in the first column, stay whole so that they can be copied, unless that leaves no room for the rest.
    """
    widths, room = [max(map(len, column)) for column in columns], room - GAP * (len(columns) - 1)
    words = [max((len(word) for text in column for word in text.split()), default=0) for column in columns]
    giving = range(1 if len(columns) > 1 and widths[0] <= NAMES_SHARE * room else 0, len(columns))
    for least in (words, [1] * len(columns)):
        while sum(widths) > room and (wide := [n for n in giving if widths[n] > least[n]]):
            widths[max(wide, key=lambda n: widths[n])] -= 1
    return widths


def _is_number(text: str) -> bool:
    """Whether a cell can stand right-aligned among numbers. An empty one or a dash can."""
    return re.fullmatch(r"-?|(± )?[+\-±]?\d[\d.,]*(e[+-]?\d+)?( ?(%|s))?(/\d+)?", text) is not None
