"""Plain data in JSON: reading it, and what JSON has no word for."""

import json
import math
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import sealed, unsealed
from genelab.core.ranges import LARGEST


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
    """The records of a file with one per line; none if there is no such file.

    A last line without an end is left out: a process was killed while it wrote it.
    """
    if not path.exists():
        return []
    try:
        *lines, _cut_off = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise UserError(f"'{path}' is not readable: {error}") from error
    return [parse_json_line(line, f"'{path}' line {number}") for number, line in enumerate(lines, 1)]


def finite(value: Any) -> float | None:
    """`value` if it is a finite number, within what 32 bits can hold, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return None
    return float(value)


def without_infinities(data: Any) -> Any:
    """`data` with null for NaN and infinities, which JSON does not have."""
    if isinstance(data, dict):
        return {key: without_infinities(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [without_infinities(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """A tree of dicts as dotted path to leaf. Lists and empty dicts are leaves."""
    if not isinstance(tree, dict) or not tree:
        return {prefix: tree}
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flatten(value, f"{prefix}.{key}" if prefix else str(key))
    return flat


def text_of(value: Any) -> str:
    """A value in a line of text."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text_of, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else "nothing" if value is None else str(value)
