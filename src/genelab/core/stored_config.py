"""Configs from plain data, as files hold it: the way back from `genelab.core.config.to_dict`.

The data may be anything, by accident or on purpose. It is checked against the declared types of the config classes.
Records are plain dicts whose fields are checked in the same way.

Strings in code are resolved by `genelab.core.registry.load`, whatever they name. A string in a file is a stranger's: it
may name only what genelab and the packages with registered tasks define, of the kind that its place in the file asks
for. All of that is decided before a module is imported, as far as its name tells, and before anything is called.
"""

import dataclasses
import importlib
import inspect
import re
import reprlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from genelab.core.config import CLASS_KEY, dict_value_type, field_types, members
from genelab.core.errors import UserError, about, hint
from genelab.core.overrides import fit, type_name
from genelab.core.ranges import check
from genelab.core.registry import packages

OPEN_LAYERS = ("envs", "mdp", "rl", "scene", "sensors", "tasks")
"""The packages of genelab that define configs, terms and builders. The others do things."""
_TAKES = "takes"
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_REFERENCE = re.compile(rf"({_NAME}):({_NAME})")


def from_dict(declared: Any, data: Any, path: str = "") -> Any:
    """The config that `to_dict` turned into `data`, checked against the declared types. Errors begin with the path."""
    try:
        if isinstance(data, dict):
            return _dict_from(declared, data, path)
    except UserError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:  # of a config class with odd values
        raise _misfit(path, str(error)) from error
    value = tuple(from_dict(Any, item, path) for item in data) if isinstance(data, list | tuple) else data
    try:
        return fit(value, declared)
    except ValueError:
        expected, found = type_name(declared), reprlib.repr(data)
    raise UserError(f"{path} must be {expected}, not {found}" if path else f"expected {expected}, got {found}")


def _dict_from(declared: Any, data: dict[Any, Any], path: str) -> Any:
    """The config, or the dict of configs and values, that a dict of a file stands for."""
    for key in data:
        if not isinstance(key, str):
            raise _misfit(path, f"{reprlib.repr(key)} is not a name")
    below = f"{path}." if path else ""
    options = members(declared)
    expected = tuple(m for m in options if isinstance(m, type) and dataclasses.is_dataclass(m))
    if not expected and not (Any in options and CLASS_KEY in data):
        if not any(option is Any or typing.get_origin(option) is dict for option in options):
            raise _misfit(path, f"expected {type_name(declared)}, got a dict")
        value_type = dict_value_type(declared)
        return {key: from_dict(value_type, item, f"{below}{key}") for key, item in data.items()}
    with about(path):
        cls: Any = config_class(data[CLASS_KEY], expected) if CLASS_KEY in data else expected[0]
    declared_types = field_types(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for name, item in data.items():
        if name == CLASS_KEY:
            continue
        if name not in fields:
            raise _misfit(path, f"{cls.__name__} has no field '{name}': the config is from another version")
        kind = next((m for m in members(declared_types[name]) if Callable in (m, typing.get_origin(m))), None)
        if kind is not None and item is not None:
            returns = (*typing.get_args(kind), Any)[1] if typing.get_args(kind) else Any
            with about(f"{below}{name}"):
                values[name] = function(item, fields[name].metadata, returns)
        else:
            values[name] = from_dict(declared_types[name], item, f"{below}{name}")
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise _misfit(path, f"the {name} of {cls.__name__} is missing")
    for name, value in values.items():
        check(f"{below}{name}", value, declared_types[name])
    return cls(**values)


def _misfit(path: str, reason: str) -> UserError:
    return UserError(f"{path}: {reason}" if path else reason)


def stored(record: Any, name: str, declared: Any, label: str = "") -> Any:
    """A field of a record as its declared type, or a `UserError` that begins with the label: "3" is no number here."""
    path = f"{label}: '{name}'" if label else f"'{name}'"
    _require_record(record, label)
    if name not in record:
        raise UserError(f"{path} is missing")
    if declared is Any:
        return record[name]
    value = from_dict(declared, record[name], path)
    check(path, value, declared)
    return value


def check_record(
    label: str, record: Any, fields: Mapping[str, Any], required: Iterable[str] = (), complete: bool = False
) -> dict[str, Any]:
    """The declared fields that a record has, as their types, or a `UserError`; other fields are one if `complete`."""
    _require_record(record, label)
    for name in record if complete else ():
        if name not in fields:
            raise UserError(f"{label}: unknown field '{name}'{hint(str(name), fields)}")
    for name in required:
        stored(record, name, Any, label)
    return {name: stored(record, name, declared, label) for name, declared in fields.items() if name in record}


def _require_record(data: Any, label: str) -> None:
    if not isinstance(data, Mapping):
        raise UserError(f"{label}: expected a record, got {reprlib.repr(data)}".removeprefix(": "))


def takes(*names: str) -> dict[str, Any]:
    """Metadata of a config field whose function's first parameters must have these names, also if a file names it."""
    return {_TAKES: names}


def config_class(reference: Any, expected: tuple[type, ...] = ()) -> type:
    """The config class that a file names; one derived from one of `expected`, if given."""
    cls = _definition(reference)
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        raise UserError(f"'{reference}' is not a config class")
    if expected and not issubclass(cls, expected):
        raise UserError(f"'{reference}' is not a {' or '.join(base.__name__ for base in expected)}")
    return cls


def function(reference: Any, metadata: Any, returns: Any = Any) -> Callable[..., Any]:
    """The function or term class that a file names for a config field with this metadata (`takes`) and return type."""
    target = _definition(reference)
    names = metadata.get(_TAKES, ())
    found = [name.strip("_") for name in inspect.signature(target).parameters][: len(names)]
    if found != list(names):
        raise UserError(f"'{reference}' does not fit here: it does not take ({', '.join(names)}, …)")
    if returns is not Any and not _returns(target, returns):
        raise UserError(f"'{reference}' does not fit here: it is not declared to return {returns.__name__}")
    return target


def _may_be_named(module: str) -> bool:
    """Whether files may name things of this module. `__main__` of a package is a program, not a library."""
    root, *below = module.split(".")
    if root == "genelab":
        return bool(below) and below[0] in OPEN_LAYERS
    return root in packages() and "__main__" not in below


def _definition(reference: Any) -> Any:
    match = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        raise UserError(f"{reprlib.repr(reference)} is not a reference such as 'module:name'")
    module, name = match.groups()
    allowed = "config classes, terms and builders of genelab and of packages with registered tasks"
    refused = UserError(f"'{reference}' is refused: a file may name only {allowed}")
    if not _may_be_named(module):
        raise refused
    try:
        target: Any = importlib.import_module(module)
        for depth, part in enumerate(name.split(".")):
            if part.startswith("__") or not (depth == 0 or isinstance(target, type)):
                raise refused
            target = getattr(target, part)
    except UserError:
        raise
    except Exception as error:  # of another package's module, whatever it does when it is imported
        raise UserError(f"cannot load '{reference}': {error}") from error
    if not isinstance(target, type | types.FunctionType) or not _may_be_named(target.__module__):
        raise refused
    return target


def _returns(target: Any, expected: type) -> bool:
    declared = getattr(target, "__annotations__", {}).get("return")
    if isinstance(declared, str):  # under `from __future__ import annotations`
        return declared.rpartition(".")[2] == expected.__name__
    return isinstance(declared, type) and issubclass(declared, expected)
