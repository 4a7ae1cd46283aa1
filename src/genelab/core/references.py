"""References that a file may make: ``"module:name"`` of a config class, a term or a builder, and of nothing else.

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
from collections.abc import Callable
from typing import Any

from genelab.core.errors import UserError
from genelab.core.registry import packages

OPEN_LAYERS = ("envs", "mdp", "rl", "scene", "sensors", "tasks")
"""The packages of genelab that define configs, terms and builders. The others do things."""

_TAKES = "takes"
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_REFERENCE = re.compile(rf"({_NAME}):({_NAME})")


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
    """The function, or class of a term, that a file names for a config field with this metadata (`takes`).

    If the field's type says what is returned, the function must say it too.
    """
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
    refused = UserError(
        f"'{reference}' is refused: a file may name only config classes, terms and builders "
        "of genelab and of packages with registered tasks"
    )
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
