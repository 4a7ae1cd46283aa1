"""Tasks, and components with optional packages (engines and backends), by name before they are imported.

A task is registered by strings, so that listing tasks imports neither physics nor learning code. Packages offer tasks
through the entry point group ``genelab.tasks``: each entry point names a function that returns `TaskSpec`s. The bundled
tasks come in through the same door.
"""

import importlib
import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from genelab.core.errors import UserError, lookup


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task, by the names of the functions that make its configs."""

    id: str
    """The name users type, e.g. ``GeneLab-Inverted-Pendulum-v0``."""
    summary: str
    """One line for ``genelab list``."""
    env: str
    """``"module:function"``; called with ``play=True`` or ``play=False``, returns the environment config."""
    agents: dict[str, str] = field(default_factory=dict)
    """Backend name to ``"module:function"`` that returns the agent config. The first one is the default."""
    presets: str | None = None
    """``"module:NAME"`` of a dict from preset name to ``{dotted path: value}`` changes of the configs above.

    A name is that of a preset for the task's first agent; ``cpu:sb3`` is the preset ``cpu`` for the agent of sb3.
    """
    demonstrator: str | None = None
    """``"module:Class"`` of a scripted policy, made with the environment, that shows how the task is done."""
    tags: tuple[str, ...] = ()
    published: str = ""
    """The published result this task is compared with, in words."""
    packages: tuple[str, ...] = ()
    """Other packages that this task's stored configs may name things of, beside those of the references above."""

    def env_cfg(self, play: bool = False) -> Any:
        return load(self.env)(play=play)

    def agent_cfg(self, backend: str | None = None) -> Any:
        """The agent config for `backend`, by default the task's first."""
        if not self.agents:
            raise UserError(f"task '{self.id}' has no agent config: it can be played, not trained")
        return load(lookup(f"backend of task '{self.id}'", backend or next(iter(self.agents)), self.agents))()

    def preset_names(self, backend: str | None = None) -> list[str]:
        """The presets there are for an agent, by default the task's first."""
        return list(self._presets(backend))

    def preset(self, name: str, backend: str | None = None) -> dict[str, Any]:
        """The changes that preset `name` makes to the task's configs, with the agent of `backend`."""
        return lookup(f"preset of task '{self.id}'", name, self._presets(backend))

    def _presets(self, backend: str | None) -> dict[str, dict[str, Any]]:
        given = load(self.presets) if self.presets else {}
        suffix = "" if backend is None or backend == next(iter(self.agents), None) else f":{backend}"
        ours = {name.removesuffix(suffix): changes for name, changes in given.items() if name.endswith(suffix)}
        return {"reference": {}, **{name: changes for name, changes in ours.items() if ":" not in name}}


_registered: dict[str, TaskSpec] = {}
_offering: set[str] = set()
"""Modules of the entry points that offered tasks."""
_plugins_loaded = False


def register(spec: TaskSpec) -> None:
    """Add a task to this process."""
    if spec.id in _registered and _registered[spec.id] != spec:
        raise UserError(f"task '{spec.id}' is registered twice, by {_registered[spec.id].env} and {spec.env}")
    _registered[spec.id] = spec


def unregister(task_id: str) -> None:
    """Take a task out of this process, so that a notebook or a test can register it anew."""
    _registered.pop(task_id, None)


def tasks() -> dict[str, TaskSpec]:
    """Every known task by id, sorted."""
    _load_plugins()
    return dict(sorted(_registered.items()))


def find(task_id: str) -> TaskSpec:
    """The task called `task_id`; an unknown name is an error that gives the nearest one."""
    return lookup("task", task_id, tasks())


def packages() -> set[str]:
    """Top-level packages that have tasks here, by an entry point or by `register`."""
    named = set(_offering)
    for spec in tasks().values():
        named.update((spec.env, *spec.agents.values(), spec.presets or "", spec.demonstrator or "", *spec.packages))
    return {module.partition(":")[0].partition(".")[0] for module in named} - {""}


def load(reference: str) -> Any:
    """The object that ``"module:name"`` refers to, in code. Strings in files: `genelab.core.stored_config`."""
    module, _, name = reference.partition(":")
    try:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot load '{reference}': {error}") from error
    return target


@dataclass(frozen=True, kw_only=True)
class Component:
    """An engine or backend that can be asked for, installed or not."""

    name: str
    target: str
    """``"module:Class"``."""
    requires: str
    install: str
    summary: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None


class NotInstalledError(UserError):
    """A component that exists, but not on this machine."""


def find_installed(kind: str, name: str, table: Mapping[str, Component]) -> Component:
    """The component of this name; an error that names the nearest one, or says how to install it."""
    component = lookup(kind, name, table)
    if not component.installed:
        raise NotInstalledError(f"{kind} '{name}' is not installed: {component.install}")
    return component


def _load_plugins() -> None:
    global _plugins_loaded
    if _plugins_loaded:
        return
    _plugins_loaded = True
    for entry_point in importlib.metadata.entry_points(group="genelab.tasks"):
        try:
            offer: Callable[[], Iterable[TaskSpec]] = entry_point.load()
            for spec in offer():
                register(spec)
            _offering.add(entry_point.module)
        except Exception as error:  # another package's fault must not take the whole command down
            warnings.warn(f"tasks of '{entry_point.value}' are not available: {error}", stacklevel=2)
