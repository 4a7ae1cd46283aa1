"""Records from files, checked against the types and ranges that are declared for their fields."""

from collections.abc import Iterable, Mapping
from typing import Any

from genelab.core.config import members
from genelab.core.errors import UserError
from genelab.core.overrides import type_name
from genelab.core.ranges import check


def check_record(label: str, record: Mapping[str, Any], fields: Mapping[str, Any], required: Iterable[str]) -> None:
    """Raise a `UserError` that begins with the label unless a record has the required fields, and each is as declared.

    Fields that are not declared are not looked at.
    """
    for name in required:
        if name not in record:
            raise UserError(f"{label}: '{name}' is missing")
    for name, declared in fields.items():
        if name in record:
            _check_type(f"{label}: '{name}'", record[name], declared)
            check(f"{label}: '{name}'", record[name], declared)


def _check_type(path: str, value: Any, declared: Any) -> None:
    """JSON has types: unlike on a command line, "3" is no number in it."""
    kinds = members(declared)
    if type(value) not in kinds and not (float in kinds and type(value) is int):
        raise UserError(f"{path} must be {type_name(declared)}, not {value!r}")
