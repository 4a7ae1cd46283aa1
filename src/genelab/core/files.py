"""Files that appear whole or not at all, JSON among them, with checksums, so that damage is noticed in reading.

A JSON record ends with the entry ``"checksum"``. Archives of torch and numpy have one of every part.
"""

import difflib
import hashlib
import json
import math
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from genelab.core.errors import RunStopped, UserError

TEMPORARY = ".tmp"
"""How the names of files end that are not whole yet. They begin with a dot."""
PROBE_BYTES = 65536
"""As much as a file of results may have."""
KEY = "checksum"


def write_atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, flush it, then rename it over `path`: a reader never sees half of a file."""
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


@contextmanager
def writing(path: Path, what: str = "cannot write") -> Iterator[None]:
    """Say in one line why a file or directory cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what} '{path}': {error.strerror or error}") from error


def require_plain_name(path: Path) -> None:
    """Raise for a name that some libraries would spell otherwise: they take UTF-8, whatever the locale says."""
    if sys.getfilesystemencoding() != "utf-8" and not str(path).isascii():
        raise UserError(f"the name '{path}' needs UTF-8, which this locale is not: choose another, or set PYTHONUTF8=1")


def prepare_output(path: Path | None) -> None:
    """Try to write where a file, if any, is to be written later: what is wrong is an error now, not after the work."""
    if path is None:
        return
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_orphans(path.parent, f".{path.name}.*{TEMPORARY}")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
    if path.is_dir():
        raise UserError(f"cannot write '{path}': it is a directory")


def remove_orphans(directory: Path, pattern: str = f".*{TEMPORARY}") -> None:
    """Remove what killed writers left. Only for files that no other process writes."""
    for path in directory.glob(pattern):
        path.unlink(missing_ok=True)


def write_result(path: Path | None, write: Callable[[Path], object]) -> None:
    """Write what took long to make with `write` to `path`, if any; if that fails, elsewhere, and say so in an error."""
    if path is None:
        return
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


def checksum(record: dict[str, Any]) -> str:
    """The first 16 digits of the sha256 of a record as Python's ``json.dumps`` writes it."""
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()[:16]


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, KEY: checksum(record)}


def unsealed(record: dict[str, Any], where: str) -> dict[str, Any]:
    """What was given to `sealed`, or a `UserError` if it is another. A record without a checksum is taken as it is."""
    content = {name: value for name, value in record.items() if name != KEY}
    fits = checksum(content) == record[KEY] if KEY in record else not _ends_like_a_checksum(record)
    if not fits:
        remedy = f'if you changed it on purpose, remove the entry "{KEY}"'
        raise UserError(f"{where} is damaged or was changed: its checksum does not fit ({remedy})")
    return content


def _ends_like_a_checksum(record: dict[str, Any]) -> bool:
    """Whether the last entry is a checksum whose name or value is damaged."""
    name, value = next(reversed(record.items()), ("", None))
    return bool(difflib.get_close_matches(name, [KEY], cutoff=0.8) or re.fullmatch("[0-9a-f]{16}", str(value)))


def check_archive(path: Path) -> None:
    """Raise an error if any part of a zip archive is not what was written, or if it is no archive at all."""
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"it is damaged, the checksum of '{damaged}' does not fit")


def file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_json(path: Path) -> Any:
    """The data of a JSON file, or a `UserError` that says why there is none."""
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"'{path}' is not JSON: {error}") from error
    return unsealed(data, f"'{path}'") if isinstance(data, dict) else data


def json_line(record: dict[str, Any]) -> str:
    """A record as a line of a file with one record per line."""
    return json.dumps(sealed(record)) + "\n"


def parse_json_line(line: str, where: str) -> dict[str, Any]:
    """The record that `json_line` wrote, or a `UserError`."""
    try:
        record = parse_json(line)
    except ValueError as error:
        raise UserError(f"{where} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise UserError(f"{where} holds no record")
    return unsealed(record, where)


def parse_json(text: str) -> Any:
    """The data of a JSON text, or a `ValueError`: also if it is too deep to be read, or has halves of characters."""
    try:
        data = json.loads(text)
        if "\\ud" in text.lower():  # half of a character cannot be written anywhere, unless it is a byte of a file name
            json.dumps(data, ensure_ascii=False).encode(errors="surrogateescape")
    except RecursionError as error:
        raise ValueError("it is too deep") from error
    return data


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file with one per line, none without a file. A last line that was cut off is left out."""
    if not path.exists():
        return []
    try:
        *lines, _cut_off = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise UserError(f"'{path}' is not readable: {error}") from error
    return [parse_json_line(line, f"'{path}' line {number}") for number, line in enumerate(lines, 1)]


def without_infinities(data: Any) -> Any:
    """`data` with null for NaN and infinities, which JSON does not have."""
    if isinstance(data, dict):
        return {key: without_infinities(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [without_infinities(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
