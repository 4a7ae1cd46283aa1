"""Checksums in the files that are written here, so that damage is noticed where a file is read.

A JSON record ends with the entry ``"checksum"``. Archives of torch and numpy have one of every part.
"""

import difflib
import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError

KEY = "checksum"


def checksum(record: dict[str, Any]) -> str:
    """The first 16 digits of the sha256 of a record as Python's ``json.dumps`` writes it."""
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()[:16]


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    """`record` with its checksum."""
    return {**record, KEY: checksum(record)}


def unsealed(record: dict[str, Any], where: str) -> dict[str, Any]:
    """What was given to `sealed`, or a `UserError` if it is another. A record without a checksum is taken as it is."""
    content = {name: value for name, value in record.items() if name != KEY}
    fits = checksum(content) == record[KEY] if KEY in record else not _ends_like_a_checksum(record)
    if not fits:
        raise UserError(
            f"{where} is damaged or was changed: its checksum does not fit "
            f'(if you changed it on purpose, remove the entry "{KEY}")'
        )
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
    """sha256 of a whole file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
