"""Configs from plain data, as files hold it: the way back from `genelab.core.config.to_dict`.

The data may be anything, by accident or on purpose. It is checked against the declared types of the config classes, and
what it names is resolved by `genelab.core.references`.
"""

import dataclasses
import reprlib
import types
import typing
from collections.abc import Callable
from typing import Any

from genelab.core.config import CLASS_KEY, dict_value_type, field_types, members, per_item
from genelab.core.errors import UserError
from genelab.core.overrides import type_name
from genelab.core.ranges import check
from genelab.core.references import config_class, function


def from_dict(declared: Any, data: Any, path: str = "") -> Any:
    """The config that `to_dict` turned into `data`, which may be anything: it is checked against the declared types.

    `path` says where in a larger whole this is; errors begin with it.
    """
    try:
        if isinstance(data, dict):
            return _dict_from(declared, data, path)
    except UserError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:  # of a config class with odd values
        raise _misfit(path, str(error)) from error
    value = tuple(from_dict(Any, item, path) for item in data) if isinstance(data, list | tuple) else data
    fits, found = _fit(value, declared)
    if fits:
        return found
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
    cls: Any = _named(path, config_class, data[CLASS_KEY], expected) if CLASS_KEY in data else expected[0]
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
            values[name] = _named(f"{below}{name}", function, item, fields[name].metadata, returns)
        else:
            values[name] = from_dict(declared_types[name], item, f"{below}{name}")
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise _misfit(path, f"the {name} of {cls.__name__} is missing")
    for name, value in values.items():
        check(f"{below}{name}", value, declared_types[name])
    return cls(**values)


def _named(path: str, find: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return find(*arguments)
    except UserError as error:
        raise _misfit(path, str(error)) from error


def _fit(value: Any, declared: Any) -> tuple[bool, Any]:
    """Whether a plain value is of a type or of one of its alternatives, and the value as that one has it."""
    for member in sorted(members(declared), key=lambda member: member is float):  # whole numbers can become floats
        fits, found = _plain(value, member)
        if fits:
            return True, found
    return False, value


def _plain(value: Any, declared: Any) -> tuple[bool, Any]:
    origin = typing.get_origin(declared)
    if declared is Any:
        return True, value
    if declared is types.NoneType:
        return value is None, None
    if origin is typing.Literal:
        return value in typing.get_args(declared), value
    if isinstance(declared, typing.NewType):  # a name of a joint, a body, …
        return isinstance(value, str | tuple), value
    if declared is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return fits, float(value) if fits else value
    if isinstance(declared, type) and dataclasses.is_dataclass(declared):
        return isinstance(value, declared), value
    if origin in (tuple, list) or declared is tuple:
        return _plain_items(value, typing.get_args(declared) or (Any, ...))
    plain = declared in (bool, int, str)
    return plain and isinstance(value, declared) and not (declared is int and isinstance(value, bool)), value


def _plain_items(value: Any, item_types: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, tuple):
        return False, value
    item_types = per_item(item_types, len(value))
    if len(item_types) != len(value):
        return False, value
    found = [_fit(item, item_type) for item, item_type in zip(value, item_types, strict=True)]
    return all(fits for fits, _ in found), tuple(item for _, item in found)


def _misfit(path: str, reason: str) -> UserError:
    return UserError(f"{path}: {reason}" if path else reason)
