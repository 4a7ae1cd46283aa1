"""The bundled tasks. Every package in here is a domain: its ``TASKS`` say by name what it offers.

Listing tasks imports these packages, so they hold strings only. Configs are in their modules, imported on use.
"""

import importlib
import pkgutil

from genelab.core.registry import TaskSpec


def bundled() -> list[TaskSpec]:
    """Every task that comes with the package."""
    domains = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__) if m.ispkg]
    return [spec for domain in domains for spec in domain.TASKS]
