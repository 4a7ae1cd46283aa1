"""From a task's name and what the user typed to complete configs."""

from dataclasses import dataclass, field, replace
from typing import Any

from genelab.core import overrides
from genelab.core.errors import UserError
from genelab.core.overrides import Change
from genelab.core.registry import TaskSpec, find
from genelab.envs import ManagerBasedRlEnvCfg, SimulationCfg

PRESETS = ("auto", "cpu", "reference")

_NOT_OF_THE_POLICY = ("env.num_envs", "env.simulation.")
"""Env paths that say where a policy was trained, not what it was trained for."""


@dataclass
class Setup:
    """Resolved configs and how they came about."""

    spec: TaskSpec
    env_cfg: Any
    agent_cfg: Any
    preset: str = "reference"
    preset_changes: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def roots(self) -> dict[str, Any]:
        roots = {"env": self.env_cfg}
        return roots if self.agent_cfg is None else {**roots, "agent": self.agent_cfg}

    @property
    def trains(self) -> bool:
        """Whether the task is a learning task, rather than a scene to play back."""
        return isinstance(self.env_cfg, ManagerBasedRlEnvCfg)

    def env_changes(self) -> dict[str, Any]:
        """What preset and user changed about the task itself: a policy trained so must be evaluated so."""
        changed = {c.path: c.new for c in (*self.preset_changes, *self.changes) if c.path.startswith("env.")}
        return {p: v for p, v in changed.items() if p == "env.simulation.dt" or not p.startswith(_NOT_OF_THE_POLICY)}


def resolve(
    task_id: str,
    *,
    play: bool = False,
    preset: str = "auto",
    backend: str | None = None,
    user: list[tuple[str, str]] | None = None,
    unused: dict[str, str] | None = None,
) -> Setup:
    """Configs of a task with a preset and the user's overrides applied.

    `unused` names paths this command does not read, with the reason; changing them is an error.
    """
    spec = find(task_id)
    setup = Setup(spec, spec.env_cfg(play=play), spec.agent_cfg(backend) if spec.agents or backend else None)
    user = user or []
    setup.preset = _choose_preset(spec, preset, backend, user)
    presets = [(p, v) for p, v in spec.preset(setup.preset, backend).items() if not (play and p == "env.num_envs")]
    setup.preset_changes = [c for c in overrides.apply(setup.roots, presets) if c.old != c.new]
    setup.changes = apply_user(setup.roots, user)
    overrides.check_read(setup.roots, setup.changes, unused)
    overrides.validate(setup.roots)
    return setup


def apply_run_changes(setup: Setup, env_changes: dict[str, Any]) -> list[Change]:
    """Make an environment the one a policy was trained in. What only training has (pushes, …) is left out."""
    known = {leaf.path for leaf in overrides.leaves(setup.roots)}
    return overrides.apply(setup.roots, [(path, value) for path, value in env_changes.items() if path in known])


def evaluation_cfg(task: str, env_changes: dict[str, Any], simulation: SimulationCfg) -> Any:
    """Where a run is evaluated: the task's play environment with what the run changed, in the engine it trains in."""
    setup = resolve(task, play=True, preset="reference")
    apply_run_changes(setup, env_changes)
    setup.env_cfg.simulation = replace(simulation, vis=False)
    return setup.env_cfg


def apply_user(roots: dict[str, Any], user: list[tuple[str, str]]) -> list[Change]:
    """Apply what the user typed.

    One path with two different values, by a flag and an override for instance, is an error.
    """
    changes: dict[str, Change] = {}
    for change in overrides.apply(roots, user):
        earlier = changes.setdefault(change.path, change)
        if earlier.new != change.new:
            new, other = overrides.show(earlier.new), overrides.show(change.new)
            raise UserError(f"{change.path} is given twice, as '{new}' and as '{other}'")
    return list(changes.values())


def _choose_preset(spec: TaskSpec, preset: str, backend: str | None, user: list[tuple[str, str]]) -> str:
    if preset != "auto":
        return preset
    gpu = any(path.replace("-", "_") == "env.simulation.gpu" and value in ("true", "1") for path, value in user)
    return "cpu" if "cpu" in spec.preset_names(backend) and not gpu else "reference"
