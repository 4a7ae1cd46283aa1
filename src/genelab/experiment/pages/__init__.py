"""Pages: HTML files that stand alone, made from plain data by the templates beside this module.

A page is a header and sections. Its template, ``<page>.html``, has one macro for the header and one for each kind of
section; everything that is put into a page is escaped.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from genelab import __version__
from genelab.core.ranges import finite
from genelab.experiment.pages import numbers
from genelab.experiment.provenance import now

COLOURS = 8
"""Different colours of entries; with more entries they come round again, dashed."""


@dataclass(frozen=True)
class Section:
    """A part of a page that the contents line links to."""

    kind: str
    """The macro that shows it."""
    title: str
    data: Any = None
    anchor: str = ""
    """What links to it say, if not its kind."""


@dataclass(frozen=True)
class Cell:
    """Text in a table or a legend, and how it is shown."""

    text: object
    index: int | None = None
    """Place of an entry: its colour stands before the text."""
    badge: str = ""
    """Shown with a mark in the colour of a status."""
    bold: bool = False
    code: bool = False


@dataclass(frozen=True)
class Table:
    """Columns with their heads; all but the first `text_columns` are numbers. Cells are text, numbers or `Cell`."""

    head: Sequence[object]
    rows: Sequence[Sequence[object]]
    text_columns: int = 1
    style: str = ""
    caption: object = None


def render(page: str, title: str, header: Any, sections: Sequence[Section | None]) -> str:
    """The whole HTML file of a page. Sections that are None are left out."""
    shown = [section for section in sections if section is not None]
    written = f"genelab {__version__} · written {numbers.utc(now())}"
    template = _environment().get_template("base.html")
    return template.render(page=f"{page}.html", title=title, header=header, sections=shown, written=written)


def colour(index: int) -> str:
    """The class that carries the colour of an entry."""
    return f"c{index % COLOURS}" if index < COLOURS else f"c{index % COLOURS} dashed"


@functools.cache
def _environment() -> Environment:
    environment = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=True, undefined=StrictUndefined)
    environment.loader = PackageLoader(__name__)
    shown = (numbers.number, numbers.signed, numbers.plus_minus, numbers.percent, numbers.mean_with_interval)
    environment.filters |= {function.__name__: function for function in (colour, finite, *shown)}
    return environment
