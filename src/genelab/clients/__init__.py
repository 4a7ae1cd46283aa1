"""Tasks as environments for programs of other libraries: gymnasium, stable-baselines3, skrl."""

import importlib
from typing import Any

_HOME = {"Sb3VecEnv": "genelab.clients.sb3", "SkrlEnv": "genelab.clients.skrl"}
"""Public names by their module, imported on first use: each needs its own library."""

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'genelab.clients' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)
