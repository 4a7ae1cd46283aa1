"""Text for terminals that do not know every character: what they have no sign for is written with plain ones."""

import codecs
import io
import sys
import unicodedata

SIGNS = {"±": "+/-", "·": "-", "×": "x", "→": "->", "\N{EN DASH}": "-", "³": "^3", "²": "^2"}
LINES = {"─━═╌┄": "-", "│┃║": "|"}
CORNERS = range(0x2500, 0x2580)
"""Where the characters are that tables are drawn with."""


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
