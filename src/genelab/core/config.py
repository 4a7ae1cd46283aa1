"""Configs are trees of dataclasses; this module turns them into JSON. `genelab.core.stored_config` reads them back.

Rules that make the round trip exact: sequences are tuples, functions are module-level (stored as ``"module:name"``),
and a node whose class is a subclass of the declared one carries its class under the key ``"class"``.
"""

import dataclasses
import functools
import hashlib
import json
import types
import typing
from typing import Any, Union

from genelab.core.errors import UserError

CLASS_KEY = "class"


class HasParams:
    """Base of configs with `params` for a function, which is their first field."""

    params: dict[str, Any]

    def param_types(self) -> dict[str, Any]:
        """Declared type of each parameter, from the function's annotations."""
        func = next(iter(vars(self).values()))
        hints = typing.get_type_hints(func.__init__ if isinstance(func, type) else func, include_extras=True)
        return {name: hints.get(name, Any) for name in self.params}


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Field name to declared type, with names resolved and rules about values (`genelab.core.ranges`) kept."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def is_config(value: Any) -> bool:
    """Whether a value is a config object, rather than a plain value or a class."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def split(declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """A declared type without rules about its values, and the rules."""
    annotated = typing.get_origin(declared) is typing.Annotated
    return (declared.__origin__, declared.__metadata__) if annotated else (declared, ())


def alternatives(declared: Any) -> tuple[Any, ...]:
    """The alternatives of a union type; a plain type is its own only alternative."""
    return typing.get_args(declared) if typing.get_origin(declared) in (Union, types.UnionType) else (declared,)


def members(declared: Any) -> tuple[Any, ...]:
    """The alternatives of a type, without rules about their values."""
    return tuple(split(option)[0] for option in alternatives(split(declared)[0]))


def dict_value_type(declared: Any) -> Any:
    """The declared type of a dict's values; Any where nothing is declared."""
    return next((typing.get_args(member)[1] for member in members(declared) if typing.get_origin(member) is dict), Any)


def per_item(declared: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The types of so many items, declared one by one, or once for all (``tuple[float, ...]``, ``list[float]``)."""
    return (declared[0],) * count if len(declared) == 1 or declared[-1] is Ellipsis else declared


def reference(obj: Any) -> str:
    """``"module:name"`` of a function or class."""
    name = obj.__qualname__
    if "<" in name:
        raise UserError(f"{obj.__module__}:{name} cannot be stored in a config: use a function at module level")
    return f"{obj.__module__}:{name}"


def to_dict(value: Any, declared: Any = None) -> Any:
    """`value` as plain JSON data. `declared` is the type a reader expects here, if it is known."""
    if is_config(value):
        declared_types = field_types(type(value))
        data = {name: to_dict(getattr(value, name), declared_types[name]) for name in declared_types}
        return data if type(value) in members(declared) else {CLASS_KEY: reference(type(value)), **data}
    if isinstance(value, dict):
        value_type = dict_value_type(declared)
        return {key: to_dict(item, value_type) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_dict(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return reference(value)
    raise UserError(f"a config cannot hold a {type(value).__name__}: {value!r}")


def digest(value: Any) -> str:
    """A short hash of a config, equal for equal configs."""
    return hashlib.sha256(json.dumps(to_dict(value), sort_keys=True).encode()).hexdigest()[:16]


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """A tree of dicts as dotted path to leaf. Lists and empty dicts are leaves."""
    if not isinstance(tree, dict) or not tree:
        return {prefix: tree}
    parts = (flatten(value, f"{prefix}.{key}" if prefix else str(key)) for key, value in tree.items())
    return {path: leaf for part in parts for path, leaf in part.items()}
