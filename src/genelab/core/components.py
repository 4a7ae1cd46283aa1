"""Components of the lab that come with optional packages: engines and backends, by name before they are imported."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genelab.core.errors import UserError, unknown
from genelab.core.registry import load


@dataclass(frozen=True, kw_only=True)
class Component:
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


class NotInstalledError(UserError):
    """A component that exists, but not on this machine."""


def load_component(kind: str, name: str, table: Mapping[str, Component]) -> Any:
    """The class behind a name; an error that names the nearest one, or says how to install it."""
    return load(find_installed(kind, name, table).target)


def find_installed(kind: str, name: str, table: Mapping[str, Component]) -> Component:
    """The component of this name, if it can be used here."""
    if name not in table:
        raise unknown(kind, name, table)
    if not table[name].installed:
        raise NotInstalledError(f"{kind} '{name}' is not installed: {table[name].install}")
    return table[name]
