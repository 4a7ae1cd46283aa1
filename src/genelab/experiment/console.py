"""What a running command shows: a live line for each piece of work on a terminal, plain lines in a pipe, any text."""

import codecs
import io
import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

PLAIN_INTERVAL_S = 5.0
"""Time between two plain lines about the same work."""
BAR_WIDTH = 24
REDRAW_S = 3.0
"""Time between two drawings of a live text, which reads files that may be long."""
SIGNS = {"±": "+/-", "·": "-", "×": "x", "→": "->", "\N{EN DASH}": "-", "³": "^3", "²": "^2"}
LINES = {"─━═╌┄": "-", "│┃║": "|"}
CORNERS = range(0x2500, 0x2580)
"""Where the characters are that tables are drawn with."""


def say(line: object = "", stream: TextIO | None = None) -> None:
    """Print a line at once, above the live lines if there are any.

    If whoever read the stream is gone, that is no reason to stop: the rest goes nowhere.
    Not by `typer.echo`: it looks for the file behind standard output, and so writes into the middle of a live line.
    """
    out: TextIO = stream or sys.stdout
    try:
        print(line, file=out, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def allow_all_text() -> None:
    """Let standard output and standard error take any text, whatever their encoding: `LC_ALL=C` knows only ASCII."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_substitute, error.object[error.start : error.end])), error.end


def _substitute(character: str) -> str:
    if character in SIGNS:
        return SIGNS[character]
    if ord(character) in CORNERS:
        return next((sign for drawn, sign in LINES.items() if character in drawn), "+")
    return unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode() or "?"


def duration(seconds: float) -> str:
    """A time in one or two units: ``45 s``, ``8 min``, ``2 h 10 min``, ``3 d 4 h``."""
    if seconds < 90.0:
        return f"{max(0.0, seconds):.0f} s"
    minutes = round(seconds / 60.0)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


class Row:
    """One piece of work: how far it is, and when it will be done."""

    def __init__(self, display: "Display", label: str, total: int, unit: str, start: int):
        self.label, self.total, self.unit = label, total, unit
        self._display, self._start, self.done, self.status = display, start, start, ""
        self.shown = self._begin = self._updated = time.monotonic()

    def update(self, done: int, status: str = "") -> None:
        """So much of it is done; `status` says how it stands in a few words."""
        self.done, self.status, self._updated = done, status, time.monotonic()
        self._display.show(self)

    def begin(self, done: int, status: str) -> None:
        """So much was done before; the time until now does not count."""
        self.done = self._start = done
        self.status, self._begin = status, time.monotonic()

    @property
    def eta(self) -> str:
        """When it will be done, as far as that is known."""
        gone, advanced = self._updated - self._begin, self.done - self._start
        if advanced <= 0 or self.done >= self.total:
            return ""
        left = gone / advanced * (self.total - self.done) - (time.monotonic() - self._updated)
        return f"ETA {duration(left)}"


class Display:
    """Shows rows as they are updated: here in plain lines, without control codes."""

    def __init__(self, interval_s: float, keep: bool):
        self._interval_s, self._keep = interval_s, keep
        self._rows: list[Row] = []

    def row(self, label: str, total: int, unit: str, start: int = 0) -> Row:
        """Add a piece of work of `total` units, of which `start` were done before."""
        self._rows.append(Row(self, label, total, unit, start))
        return self._rows[-1]

    def show(self, row: Row) -> None:
        now = time.monotonic()
        if now - row.shown >= self._interval_s or (self._keep and row.done >= row.total):
            row.shown = now
            parts = (f"{row.label}: {row.unit} {row.done}/{row.total}", row.status, row.eta)
            say(", ".join(part for part in parts if part), sys.stdout if self._keep else sys.stderr)

    def close(self) -> None:
        """Give the terminal back."""


def open_display(interval_s: float = PLAIN_INTERVAL_S, keep: bool = True) -> Display:
    """Live lines, or plain ones every few seconds; those not to `keep`, before a result, go to standard error."""
    return (_Live if on_terminal() else Display)(interval_s, keep)


def on_terminal() -> bool:
    """Whether standard output is a terminal that can show live lines."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def live_text(draw: Callable[[], str]) -> Iterator[None]:
    """Keep a text at the bottom of the terminal, drawn anew every few seconds; nothing where there is no terminal."""
    if not on_terminal():
        yield
        return
    from rich.live import Live
    from rich.text import Text

    with Live(get_renderable=lambda: Text(draw(), no_wrap=True), refresh_per_second=1.0 / REDRAW_S):
        yield


@contextmanager
def progress(label: str, total: int, unit: str) -> Iterator[Row]:
    """Show one piece of work for as long as the context lasts; its result is what comes after."""
    with closing(open_display(keep=False)) as display:
        yield display.row(label, total, unit)


def describe(metrics: dict[str, float]) -> str:
    """Rate, return and episode length of a training in a few words."""
    parts = [f"{metrics['steps_per_s'] / 1000:.1f}k steps/s"]
    if "return_mean" in metrics:
        parts += [f"return {metrics['return_mean']:.2f}", f"length {metrics['length_mean']:.0f}"]
    return ", ".join(parts)


class _Live(Display):
    """One line per row at the bottom of the terminal, drawn anew a few times a second."""

    def __init__(self, interval_s: float, keep: bool):
        from rich.live import Live

        super().__init__(interval_s, keep)
        self._live: Any = Live(self, refresh_per_second=4, transient=not keep)
        self._live.start()

    def show(self, row: Row) -> None:
        """The line is drawn by the clock, not by every update."""

    def close(self) -> None:
        self._live.stop()

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        label = max((len(row.label) for row in self._rows), default=0)
        full, rest = ("#", "-") if options.ascii_only else ("━", "━")
        for row in self._rows:
            filled = min(BAR_WIDTH, BAR_WIDTH * row.done // max(1, row.total))
            line = Text.assemble(
                f"{row.label:<{label}} ",
                (full * filled, "green" if row.done >= row.total else "cyan"),
                (rest * (BAR_WIDTH - filled), "bright_black"),
                f" {row.done}/{row.total} {row.unit}s",
                (f" {row.eta}" if row.eta else "", "cyan"),
                f"  {row.status}" if row.status else "",
                no_wrap=True,
            )
            line.truncate(options.max_width, overflow="ellipsis")
            yield line
