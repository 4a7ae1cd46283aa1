"""Tasks as environments for programs of other libraries: gymnasium, stable-baselines3, skrl."""

import importlib
from typing import Any

from genelab.rl.backends import BACKENDS

_LIBRARY = {"Sb3VecEnv": "sb3", "SkrlEnv": "skrl"}
"""Public names by the library that they need, and the module they live in. They are imported on first use."""

__all__ = sorted(_LIBRARY)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _LIBRARY:
        raise AttributeError(f"module 'genelab.clients' has no attribute '{name}'")
    library = BACKENDS[_LIBRARY[name]]
    if not library.installed:
        raise ImportError(f"{name} needs {library.requires}: {library.install}")
    return getattr(importlib.import_module(f"{__name__}.{library.name}"), name)
