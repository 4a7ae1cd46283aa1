"""HTML that cannot be injected into: every string is escaped unless it was made here."""

from collections.abc import Iterable, Sequence
from html import escape

_VOID = {"meta", "input", "br"}


class Html(str):
    """Markup. A plain string is text and is escaped when it is put into a tag."""


def html(*parts: object) -> Html:
    """Parts one after the other: markup as it is, text escaped, None left out."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in parts if part is not None))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element. ``class_`` is class, ``data_x`` is data-x; None and False are left out, True has no value."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{escape(str(value))}"')
    head = Html(f"<{' '.join(words)}>")
    return head if name in _VOID else html(head, *children, Html(f"</{name}>"))


def table(
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: object = None,
    text_columns: int = 1,
    class_: str | None = None,
) -> Html:
    """A table that scrolls sideways when it is too wide. All but the first `text_columns` columns are numbers."""

    def cells(row: Sequence[object], kind: str) -> list[Html]:
        return [
            tag("th" if kind == "th" or index == 0 else "td", cell, class_="n" if index >= text_columns else None)
            for index, cell in enumerate(row)
        ]

    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption) if caption is not None else None,
            tag("thead", tag("tr", *cells(head, "th"))),
            tag("tbody", *(tag("tr", *cells(row, "td")) for row in rows)),
            class_=class_,
        ),
        class_="scroll",
    )


class Section(Html):
    """A part of the page that the contents line links to."""

    anchor: str
    title_text: str

    def __new__(cls, anchor: str, title: str, *children: object) -> "Section":
        """A heading and what stands under it."""
        made = super().__new__(cls, tag("section", tag("h2", title), *children, id=anchor))
        made.anchor, made.title_text = anchor, title
        return made


def note(*children: object) -> Html:
    """A line of small print."""
    return tag("p", *children, class_="note")


def swatch(index: int) -> Html:
    """The colour of an entry."""
    return tag("span", class_=f"swatch {colour(index)}", aria_hidden="true")


def colour(index: int) -> str:
    """The class that carries the colour of an entry; dashed where colours come round again."""
    return f"c{index % 8}" if index < 8 else f"c{index % 8} dashed"


def named(index: int, label: str, several: bool) -> Html:
    """The name of an entry, with its colour if there are several."""
    return html(swatch(index), label) if several else html(label)
