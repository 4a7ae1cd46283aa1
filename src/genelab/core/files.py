"""Files that appear whole or not at all."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genelab.core.checksums import sealed
from genelab.core.errors import RunStopped, UserError

TEMPORARY = ".tmp"
"""How the names of files end that are not whole yet. They begin with a dot."""
PROBE_BYTES = 65536
"""As much as a file of results may have."""


def write_atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to disk, then rename it over `path`.

    A reader sees the old file or the new one, never half of it; a failed write leaves the old file untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes private files; these are for everyone the directory is for
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def require_plain_name(path: Path) -> None:
    """Raise for a name that some libraries would spell otherwise: they take UTF-8, whatever the locale says."""
    if sys.getfilesystemencoding() != "utf-8" and not str(path).isascii():
        raise UserError(f"the name '{path}' needs UTF-8, which this locale is not: choose another, or set PYTHONUTF8=1")


def prepare_output(path: Path) -> None:
    """Make the directory of a file that is to be written later, and try to write there.

    A bad path, a read-only or full disk is an error now, and not after the work.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_orphans(path.parent, f".{path.name}.*{TEMPORARY}")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from error
    if path.is_dir():
        raise UserError(f"cannot write '{path}': it is a directory")


def remove_orphans(directory: Path, pattern: str = f".*{TEMPORARY}") -> None:
    """Remove what killed writers left. Only for files that no other process writes."""
    for path in directory.glob(pattern):
        path.unlink(missing_ok=True)


def write_result(path: Path, write: Callable[[Path], object]) -> None:
    """Write what took long to make with `write` to `path`; if that fails, elsewhere, and say so in an error."""
    try:
        write(path)
    except OSError as error:
        try:
            elsewhere = Path(tempfile.mkdtemp(prefix="genelab-")) / path.name
            write(elsewhere)
            kept = f"; the result is in '{elsewhere}'"
        except OSError:
            kept = ""
        raise RunStopped(f"cannot write '{path}': {error.strerror}{kept}") from error


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically. File names in it that are not valid text keep their bytes."""
    write_atomic(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="surrogateescape"))


def write_json(path: Path, data: Any) -> None:
    """Write `data` as indented JSON to `path` atomically, a record with its checksum."""
    write_text(path, json.dumps(sealed(data) if isinstance(data, dict) else data, indent=2) + "\n")
