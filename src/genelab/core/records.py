"""Records from files, checked against the types and ranges that are declared for their fields."""

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from genelab.core.errors import UserError, hint
from genelab.core.ranges import check
from genelab.core.stored_config import from_dict


def stored(record: Any, name: str, declared: Any, label: str = "") -> Any:
    """A field of a record, as the type that is declared for it. A `UserError` that begins with the label if it is not.

    JSON has types: unlike on a command line, "3" is no number in it.
    """
    path = f"{label}: '{name}'" if label else f"'{name}'"
    _require_record(record, label)
    if name not in record:
        raise UserError(f"{path} is missing")
    if declared is Any:
        return record[name]
    value = from_dict(declared, record[name], path)
    check(path, value, declared)
    return value


def check_record(label: str, record: Any, fields: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """The declared fields that a record has, as their types. A `UserError` that begins with the label if one is not.

    Fields that are not declared are not looked at.
    """
    _require_record(record, label)
    for name in required:
        stored(record, name, Any, label)
    return {name: stored(record, name, declared, label) for name, declared in fields.items() if name in record}


def refuse_unknown(label: str, record: Any, fields: Iterable[str]) -> None:
    """Raise for an entry of a record that is none of the fields, with the nearest of them."""
    _require_record(record, label)
    for name in record:
        if name not in fields:
            raise UserError(f"{label}: unknown field '{name}'{hint(str(name), fields)}")


def _require_record(data: Any, label: str) -> None:
    if not isinstance(data, Mapping):
        raise UserError(f"{label}: expected a record, got {reprlib.repr(data)}".removeprefix(": "))
