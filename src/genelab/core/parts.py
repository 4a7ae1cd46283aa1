"""Parts of the lab that come with optional packages: engines and backends, known by name before they are imported."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from genelab.core.errors import UserError, unknown
from genelab.core.registry import load


@dataclass(frozen=True, kw_only=True)
class Part:
    """An engine or backend that can be asked for, installed or not."""

    name: str
    target: str
    """``"module:Class"``."""
    requires: str
    """The module that must be importable."""
    install: str
    """The command that installs it."""
    summary: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None


AnyPart = TypeVar("AnyPart", bound=Part)


def part_class(kind: str, name: str, parts: Mapping[str, AnyPart]) -> Any:
    """The class behind a name; an error that names the nearest one, or says how to install it."""
    return load(installed(kind, name, parts).target)


def installed(kind: str, name: str, parts: Mapping[str, AnyPart]) -> AnyPart:
    """The part of this name if it can be used here."""
    if name not in parts:
        raise unknown(kind, name, parts)
    if not parts[name].installed:
        raise UserError(f"{kind} '{name}' is not installed: {parts[name].install}")
    return parts[name]
