"""Errors that are the user's to fix: one line, the nearest valid name, exit code 2."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")


class UserError(Exception):
    """A mistake in what the user asked for. The command line prints it as one line and exits with 2."""


class RunStopped(Exception):  # noqa: N818
    """A run that could not go on through no mistake in the request (disk full, diverged policy). Exit code 1."""


class Diverged(RunStopped):
    """A training in which a number was not finite."""


@contextmanager
def about(what: Path | str) -> Iterator[None]:
    """Say at the beginning of errors which file, or what in words, led to them; nothing if that is empty."""
    try:
        yield
    except UserError as error:
        label = f"'{what}'" if isinstance(what, Path) else what
        raise UserError(f"{label}: {error}" if label else str(error)) from error


def reason(error: Exception) -> str:
    """Why something failed, in one line: an exception's first one, or its type if it says nothing."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def hint(name: str, valid: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"`` for the valid name closest to `name`, else the shortest with `name` in it, or ""."""
    folded = {n.lower(): n for n in valid}
    close = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.5)
    close = close or sorted((n for n in folded if name and name.lower() in n), key=len)
    return f" (did you mean '{folded[close[0]]}'?)" if close else ""


def unknown(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """The error for a name that does not exist, with the nearest one that does, or all of them when they are few."""
    names = sorted(valid)
    some = f"there is {', '.join(names)}" if len(names) <= 8 else f"there are {len(names)}: {', '.join(names[:5])}, …"
    return UserError(f"unknown {kind} '{name}'{hint(name, names) or (f' ({some})' if names else '')}")


def require_known(kind: str, name: str, valid: Collection[str]) -> None:
    """Raise that error unless the name is among the valid ones."""
    if name not in valid:
        raise unknown(kind, name, valid)


def lookup(kind: str, name: str, table: Mapping[str, Value]) -> Value:
    """What a name stands for in a table, or that error."""
    require_known(kind, name, table)
    return table[name]
