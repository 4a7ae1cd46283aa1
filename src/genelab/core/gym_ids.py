"""Ids of the tasks in gymnasium's registry: ``gymnasium.make("genelab/<task>")`` and ``make_vec``.

gymnasium has no plugin mechanism, so ids must be registered after it is imported. Importing genelab does that: at
once if gymnasium is already there, and otherwise at the moment it is first imported, so that programs which never use
it do not pay for it.
"""

import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from genelab.core.registry import tasks


def register_all() -> None:
    """Register every learning task under ``genelab/<task>``."""
    import gymnasium

    for task in tasks().values():
        task_id = f"genelab/{task.id}"
        if task.agents and task_id not in gymnasium.registry:
            gymnasium.register(
                task_id,
                entry_point="genelab.clients.gym:make",
                vector_entry_point="genelab.clients.gym:make_vector",
                kwargs={"task": task.id},
                # gymnasium's wrappers would hide compute_reward of goal tasks; tests run the checker instead
                order_enforce=False,
                disable_env_checker=True,
            )


def register_when_imported() -> None:
    """Register now, or when gymnasium is imported."""
    if "gymnasium" in sys.modules:
        register_all()
    elif not any(isinstance(finder, _GymnasiumFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _GymnasiumFinder())


class _GymnasiumFinder(importlib.abc.MetaPathFinder):
    """Steps aside at the first import of gymnasium and adds the registration behind it."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register_all()

            spec.loader.exec_module = execute_and_register
        return spec
