"""Tables: the one way to print them on a terminal, and as markdown in the documents."""

import re
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

UNBOUNDED = 100_000
"""Characters: wider than any table."""
GAP = 3
"""Characters between two columns."""
NAMES_SHARE = 0.6
"""The largest part of a terminal that the first column takes without wrapping."""
_NUMBER = re.compile(r"-?|(± )?[+\-±]?\d[\d.,]*(e[+-]?\d+)?( ?(%|s))?(/\d+)?")
"""What can stand right-aligned among numbers. An empty cell or a dash can."""


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
        shown = [n for n in range(len(self.columns)) if not self.rows or any(cell(row[n]) for row in self.rows)]
        columns = [(self.columns[n], *(cell(row[n]) for row in self.rows)) for n in shown]
        widths = _widths(columns, width or UNBOUNDED)
        folded = [[_folded(text, wide) for text in texts] for texts, wide in zip(columns, widths, strict=True)]
        numeric = [len(texts) > 1 and all(map(_NUMBER.fullmatch, texts[1:])) for texts in columns]
        lines = [self.title] if self.title else []
        for number, row in enumerate(zip(*folded, strict=True)):
            for parts in zip_longest(*row, fillvalue=""):
                cells = zip(parts, widths, numeric, strict=True)
                aligned = [text.rjust(wide) if right else text.ljust(wide) for text, wide, right in cells]
                lines.append((" " * GAP).join(aligned).rstrip())
            if number == 0:
                lines.append("─" * (sum(widths) + GAP * (len(widths) - 1)))
        return "\n".join(lines)

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
    named = isinstance(value, type) or (callable(value) and hasattr(value, "__name__"))
    return value.__name__ if named else str(value)


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
    """Widths of columns that fit into a terminal: the widest give way first, names in the first one and words last."""
    widths, room = [max(map(len, column)) for column in columns], room - GAP * (len(columns) - 1)
    words = [max((len(word) for text in column for word in text.split()), default=0) for column in columns]
    giving = range(1 if len(columns) > 1 and widths[0] <= NAMES_SHARE * room else 0, len(columns))
    for least in (words, [1] * len(columns)):
        while sum(widths) > room and (wide := [n for n in giving if widths[n] > least[n]]):
            widths[max(wide, key=lambda n: widths[n])] -= 1
    return widths


def _folded(text: str, width: int) -> list[str]:
    """A cell as lines of at most so many characters: broken between words, and within a word that is longer."""
    if len(text) <= width and "\n" not in text:
        return [text]
    return [line for part in text.splitlines() for line in textwrap.wrap(part, width, break_on_hyphens=False) or [""]]
