"""Dotted overrides of config trees: ``env.rewards.alive.weight = 2``.

A path walks dataclass fields and dict keys; hyphens and underscores are the same. A value is coerced to the declared
type of its field. A path that does not exist, a value of the wrong type, or a path this run would never read is an
error that names the nearest valid path.

A config class with ``variants``, a dict of names and classes, is exchanged by name: ``agent.algorithm = spo``. Fields
that both have keep their values.

Code, such as a preset, may also give whole config objects: in place of another one, or under a new name in a dict of
configs, which adds a term behind those that are there.

A config class says which of its fields are not read under its present settings with a method
``unused_fields() -> dict[str, str]``, from field name to the reason. Which values a field may have is declared in its
type (`genelab.core.ranges`). Which values make no sense together says a method ``validate()`` that raises `UserError`.
"""

import copy
import dataclasses
import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from genelab.core import ranges
from genelab.core.config import dict_value_type, field_types, is_config, members, per_item, split
from genelab.core.errors import UserError, hint
from genelab.core.registry import load

_TRIED: dict[Any, int] = {types.NoneType: 0, bool: 1, int: 2, float: 3, str: 5}
"""Order in which the alternatives of a union are tried: ``none`` first, free text last, the others before it."""


@dataclass(frozen=True)
class Leaf:
    """One value that can be overridden."""

    path: str
    type: Any
    value: Any


@dataclass(frozen=True)
class Change:
    """What an override did."""

    path: str
    old: Any
    """None where there was nothing."""
    new: Any

    def __str__(self) -> str:
        return f"{self.path}: {show(self.old)} -> {show(self.new)}"


def leaves(tree: Any, path: str = "", declared: Any = Any) -> Iterator[Leaf]:
    """Every overridable value below `tree`, depth first. Functions are structure, not values."""
    for name, child in _children(tree).items():
        yield from leaves(child, _join(path, name), _child_type(tree, name, declared))
    if not (is_config(tree) or isinstance(tree, dict) or callable(tree)):
        yield Leaf(path, declared, tree)


def configs(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every dataclass below `tree`, with its path."""
    if is_config(tree):
        yield path, tree
    for name, child in _children(tree).items():
        yield from configs(child, _join(path, name))


def apply(roots: dict[str, Any], overrides: Iterable[tuple[str, Any]]) -> list[Change]:
    """Set dotted paths in `roots` (``{"env": …}``) to typed texts or ready values. Returns changes, also to equals."""
    return [_set(roots, path, value) for path, value in overrides]


def validate(tree: Any) -> None:
    """Check all values below `tree` by their rules, then call ``validate()`` of configs; its errors get their path."""
    for leaf in leaves(tree):
        ranges.check(leaf.path, leaf.value, leaf.type)
    for path, config in configs(tree):
        if (check := getattr(config, "validate", None)) is not None:
            try:
                check()
            except UserError as error:
                raise UserError(_join(path, str(error))) from error


def check_read(roots: dict[str, Any], changes: Iterable[Change], unused: dict[str, str] | None = None) -> None:
    """Raise if one of `changes` has no effect. `unused` adds paths that the command itself does not read, and why."""
    declared = [(path, config.unused_fields()) for path, config in configs(roots) if hasattr(config, "unused_fields")]
    unread = {_join(path, name): reason for path, fields in declared for name, reason in fields.items()}
    for change in changes:
        for path, reason in {**unread, **(unused or {})}.items() if change.old != change.new else ():
            if f"{change.path}.".startswith(f"{path}."):
                raise UserError(f"{change.path} would have no effect: {reason}")


def coerce(value: Any, declared: Any, path: str) -> Any:
    """`value` (a user's string, or a ready value) as `declared`, or a `UserError` that names the path."""
    if isinstance(value, str) and str in members(declared) and "," not in value and value.lower() != "none":
        return value  # of text or list of texts, one word is text
    try:
        return fit(value, declared, typed=True)
    except ValueError:
        raise UserError(f"{path} expects {type_name(declared)}, got '{value}'") from None


def fit(value: Any, declared: Any, typed: bool = False) -> Any:
    """`value` as the first alternative of a type that it fits, or a `ValueError`. A `typed` text is what it spells."""
    for option in sorted(members(declared), key=lambda member: _TRIED.get(member, 4)):
        try:
            return _fit_one(value, option, typed)
        except ValueError:
            continue
    raise ValueError


def type_name(declared: Any) -> str:
    """A type as users read it: ``float``, ``int or none``, ``lstm|gru``, ``list of float``."""
    declared, _ = split(declared)
    if declared is types.NoneType:
        return "none"
    if len(members(declared)) > 1:
        return " or ".join(type_name(member) for member in members(declared))
    if typing.get_origin(declared) is Literal:
        return "|".join(str(choice) for choice in typing.get_args(declared))
    if typing.get_origin(declared) in (tuple, list):
        items = typing.get_args(declared)
        if items[-1] is Ellipsis or len(items) == 1:
            return f"list of {type_name(items[0])}"
        return f"{len(items)} values ({', '.join(type_name(item) for item in items)})"
    return getattr(declared, "__name__", str(declared))


def show(value: Any) -> str:
    """A value as a user would type it."""
    if isinstance(value, tuple):
        return ",".join(show(item) for item in value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if is_config(value):
        return f"{type(value).__name__}({', '.join(_shown_fields(value))})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {show(item)}" for key, item in value.items()) + "}"
    return value.__name__ if callable(value) else str(value)


def _shown_fields(config: Any) -> Iterator[str]:
    """The fields of a config that are not at their defaults."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if value != default:
            yield f"{field.name}={show(value)}"


def _set(roots: dict[str, Any], path: str, value: Any) -> Change:
    node: Any = roots
    declared: Any = Any
    names: list[str] = []
    *parents, last = path.split(".")
    for part in parents:
        name = _child_name(node, part)
        if name is None:
            raise _unknown_path(roots, path)
        declared = _child_type(node, name, declared)
        names.append(name)
        node = _children(node)[name]
    name = _child_name(node, last)
    holds_configs = isinstance(node, dict) and dataclasses.is_dataclass(dict_value_type(declared))
    if name is None and not (is_config(value) and holds_configs):
        raise _unknown_path(roots, path)
    old = None if name is None else _children(node)[name]
    if isinstance(value, str) and variants(old) and not _unsets(value, _child_type(node, name or last, declared)):
        value = _variant(old, value, path)
    child_type = dict_value_type(declared) if name is None else _child_type(node, name, declared)
    whole = is_config(value) or _unsets(value, child_type)
    if (is_config(old) or isinstance(old, dict) or callable(old)) and not whole:
        raise _unknown_path(roots, path)
    names.append(name or last)
    full_path = ".".join(names)
    new = coerce(copy.deepcopy(value), child_type, full_path)  # what is set later must not change a preset's object
    if isinstance(node, dict):
        node[names[-1]] = new
    else:
        setattr(node, names[-1], new)
    return Change(full_path, old, copy.deepcopy(new))  # without what later changes set within it


def variants(config: Any) -> dict[str, str]:
    """Names of the config classes that can take this config's place, with their ``"module:Class"``."""
    return getattr(config, "variants", {}) if is_config(config) else {}


def _variant(config: Any, name: str, path: str) -> Any:
    """The variant of a config called `name`, with the values of the fields that both have."""
    known = variants(config)
    if name not in known:
        raise UserError(f"{path} expects {'|'.join(known)}, got '{name}'{hint(name, known)}")
    cls = load(known[name])
    return cls(**{field: getattr(config, field) for field in field_types(cls) if hasattr(config, field)})


def _unsets(value: Any, declared: Any) -> bool:
    """Whether a value says that an optional config is to be left out."""
    return types.NoneType in members(declared) and (value is None or str(value).lower() == "none")


def _unknown_path(roots: dict[str, Any], path: str) -> UserError:
    valid = [leaf.path for leaf in leaves(roots)]
    below = [p for p in valid if p.startswith(path.replace("-", "_") + ".")]
    tail = f" (a value below it: '{below[0]}')" if below else hint(path, valid)
    return UserError(f"unknown config path '{path}'{tail}")


def _child_name(node: Any, part: str) -> str | None:
    wanted = part.replace("-", "_")
    return next((name for name in _children(node) if name.replace("-", "_") == wanted), None)


def _children(node: Any) -> dict[str, Any]:
    """What a config or a dict holds, by name."""
    if is_config(node):
        return {name: getattr(node, name) for name in field_types(type(node))}
    return node if isinstance(node, dict) else {}


def _child_type(node: Any, name: str, declared: Any = Any) -> Any:
    """The declared type of a child, of parameters by their function's signature, else the type of its present value."""
    if dataclasses.is_dataclass(node):
        if name == "params" and hasattr(node, "param_types"):
            return node.param_types()  # type: ignore[attr-defined]
        return field_types(type(node))[name]  # type: ignore[arg-type]
    found = declared.get(name, Any) if isinstance(declared, dict) else dict_value_type(declared)
    return found if found is not Any else _type_of(node[name])


def _type_of(value: Any) -> Any:
    if isinstance(value, tuple) and value:
        return tuple[_type_of(value[0]), ...]  # type: ignore[misc]
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _fit_one(value: Any, declared: Any, typed: bool) -> Any:
    word, origin = value.lower() if typed and isinstance(value, str) else None, typing.get_origin(declared)
    if declared is Any:
        return value
    if declared is types.NoneType and (value is None or word == "none"):
        return None
    if origin is Literal:
        for choice in typing.get_args(declared):
            if value == choice or (typed and value == str(choice)):
                return choice
    if origin in (tuple, list) or declared is tuple:
        return _fit_items(value, typing.get_args(declared) or (float if typed else Any, ...), typed)
    if declared is bool and word in ("true", "1", "false", "0"):
        return word in ("true", "1")
    if declared in (int, float) and isinstance(value, int | float | str) and not isinstance(value, bool):
        if (isinstance(value, str) and not typed) or (declared is int and isinstance(value, float)):
            raise ValueError
        return declared(value)
    if (declared in (bool, str) or dataclasses.is_dataclass(declared)) and isinstance(value, declared):
        return value  # a config object is a preset's
    if isinstance(declared, typing.NewType) and isinstance(value, str | tuple | list):
        # a reference to joints or bodies: a name or several, checked when the environment is built
        several = typed and not (isinstance(value, str) and "," not in value)
        return _fit_items(value, (str, ...), typed) if several else value
    raise ValueError


def _fit_items(value: Any, item_types: tuple[Any, ...], typed: bool) -> tuple[Any, ...]:
    if typed and isinstance(value, str):
        value = _in_rows([item.strip() for item in value.strip("()[] ").split(",") if item.strip()], item_types[0])
    if not isinstance(value, tuple | list):
        raise ValueError
    item_types = per_item(item_types, len(value))
    if len(item_types) != len(value):
        raise ValueError
    return tuple(fit(item, item_type, typed) for item, item_type in zip(value, item_types, strict=True))


def _in_rows(items: list[str], item_type: Any) -> list[Any]:
    """Typed items of a list whose own items are rows of a fixed length, row by row."""
    row, _ = split(item_type)
    length = len(typing.get_args(row)) if typing.get_origin(row) is tuple and ... not in typing.get_args(row) else 1
    if length <= 1:
        return items
    if len(items) % length:
        raise ValueError
    return [tuple(items[i : i + length]) for i in range(0, len(items), length)]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
