"""The bundled tasks: functions that return configs, one package per domain, registered by strings in ``TASKS``.

Listing tasks imports these packages, so they hold strings only. Configs are in their modules, imported on use.
"""

import importlib
import pkgutil

from genelab.core.registry import TaskSpec


def bundled() -> list[TaskSpec]:
    """Every task that comes with the package."""
    domains = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__) if m.ispkg]
    return [spec for domain in domains for spec in domain.TASKS]
