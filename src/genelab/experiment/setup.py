"""From a task's name and what the user typed to complete configs."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from genelab.core.config import CLASS_KEY, field_types, is_config, to_dict
from genelab.core.errors import UserError
from genelab.core.overrides import Change, check_read, configs, leaves, show, validate
from genelab.core.overrides import apply as apply_overrides
from genelab.core.registry import TaskSpec, find
from genelab.core.stored_config import from_dict
from genelab.envs import RampCfg, SimulationCfg

Overrides = Sequence[tuple[str, str]]
"""Dotted paths and values, as a user types them."""
Say = Callable[[str], None]
"""Tells the user a line."""
_NOT_OF_THE_POLICY = ("env.num_envs", "env.simulation.")
"""Env paths that say where a policy was trained, not what it was trained for."""
_OF_THE_TASK = ("env.actions.", "env.commands.", "env.metrics.", "env.observations.", "env.scene.")
"""Where a config object that a preset sets is part of the task. Elsewhere (rewards, terminations, events, curricula)
it helps to train, and evaluation is without it: by the task's own rewards and ends."""

_HOW_OFTEN = (".standing_share", ".forward_share")
"""How often a command asks for what. A preset may let training ask otherwise than evaluation does."""


def of_the_policy(path: str) -> bool:
    """Whether an env path says what a policy was trained for."""
    return path == "env.simulation.dt" or not path.startswith(_NOT_OF_THE_POLICY)


@dataclass
class Setup:
    """Resolved configs and how they came about."""

    spec: TaskSpec
    env_cfg: Any
    agent_cfg: Any
    play: bool = False
    """Whether the environment is the one of play and evaluation, rather than of training."""
    preset: str = "reference"
    preset_changes: list[Change] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def roots(self) -> dict[str, Any]:
        roots = {"env": self.env_cfg}
        return roots if self.agent_cfg is None else {**roots, "agent": self.agent_cfg}

    def env_changes(self) -> dict[str, Any]:
        """What preset and user changed about the task itself: a policy trained so must be evaluated so."""
        changes = (*(c for c in self.preset_changes if not c.path.endswith(_HOW_OFTEN)), *self.changes)
        changed = {c.path: c.new for c in changes if c.path.startswith("env.") and of_the_policy(c.path)}
        return {path: to_dict(value) if is_config(value) else value for path, value in changed.items()}


def resolve(
    task_id: str,
    *,
    play: bool = False,
    preset: str = "auto",
    backend: str | None = None,
    overrides: Overrides = (),
    unused: dict[str, str] | None = None,
    say: Say = lambda line: None,
) -> Setup:
    """Configs of a task with preset and overrides, told to `say`. What `unused` names (path: reason) must stay."""
    spec = find(task_id)
    setup = Setup(spec, spec.env_cfg(play=play), spec.agent_cfg(backend) if spec.agents or backend else None, play)
    setup.preset = choose_preset(spec, preset, backend, overrides)
    preset_changes = list(spec.preset(setup.preset, backend).items())
    if play:
        preset_changes = [c for c in _for_play(preset_changes) if not c[0].endswith(("env.num_envs", *_HOW_OFTEN))]
    setup.preset_changes = [c for c in apply_overrides(setup.roots, preset_changes) if c.old != c.new]
    setup.changes = apply_typed(setup.roots, overrides)
    check_read(setup.roots, setup.changes, unused)
    validate(setup.roots)
    for change in setup.changes:
        say(str(change))
    return setup


def apply_run_changes(setup: Setup, env_changes: dict[str, Any]) -> list[Change]:
    """Make an environment the one a policy was trained in. What only training has (pushes, …) is left out of play."""
    plain = env_changes.items()
    stored = [(path, from_dict(Any, v) if isinstance(v, dict) and CLASS_KEY in v else v) for path, v in plain]
    changes = []
    for path, value in _for_play(stored) if setup.play else stored:
        if is_config(value) or any(leaf.path == path for leaf in leaves(setup.roots)):
            changes += apply_overrides(setup.roots, [(path, value)])
    validate(setup.roots)
    return changes


def _for_play(changes: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Those of a preset's changes that are not aids to training: no ramps, and objects only where they are the task."""
    for path, value in changes:
        if isinstance(value, RampCfg) or (is_config(value) and not path.startswith(_OF_THE_TASK)):
            continue
        whole = copy.deepcopy(value)
        for _, config in configs(whole):
            for name in field_types(type(config)):
                if isinstance(getattr(config, name), RampCfg):
                    setattr(config, name, None)
        yield path, whole


def evaluation_cfg(task: str, env_changes: dict[str, Any], simulation: SimulationCfg) -> Any:
    """Where a run is evaluated: the task's play environment with what the run changed, in the engine it trains in."""
    setup = resolve(task, play=True, preset="reference")
    apply_run_changes(setup, env_changes)
    setup.env_cfg.simulation = replace(simulation, vis=False)
    return setup.env_cfg


def apply_typed(roots: dict[str, Any], overrides: Overrides) -> list[Change]:
    """Apply what the user typed. One path with two values, by a flag and an override for instance, is an error."""
    changes: dict[str, Change] = {}
    for change in apply_overrides(roots, overrides):
        earlier = changes.setdefault(change.path, change)
        new, other = show(earlier.new), show(change.new)
        if new != other:
            raise UserError(f"{change.path} is given twice, as '{new}' and as '{other}'")
    return list(changes.values())


def choose_preset(spec: TaskSpec, preset: str, backend: str | None, overrides: Overrides) -> str:
    """The preset itself; for ``auto``, ``cpu`` on a CPU if the task has it, else ``reference``."""
    if preset != "auto":
        return preset
    gpu = any(path.replace("-", "_") == "env.simulation.gpu" and value in ("true", "1") for path, value in overrides)
    return "cpu" if "cpu" in spec.preset_names(backend) and not gpu else "reference"
