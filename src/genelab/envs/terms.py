"""How managers turn term configs into calls: names become indices, classes become objects, shapes are checked.

A parameter annotated `JointRef`, `JointRefs`, `BodyRef`, `BodyRefs`, `SiteRefs` or `SensorRefs` is given as a name (or
regular expressions) in the config and arrives at the function as an index into the arrays of the robot or of the
contact manager. So a name that is not there is an error when the environment is built, not when the term first matters.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NewType

import torch
from torch import Tensor

from genelab.core.errors import UserError, hint
from genelab.envs.cfg import TermCfg
from genelab.envs.entity import index_of

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv

JointRef = NewType("JointRef", int)
"""One joint of the robot, given by name."""
JointRefs = NewType("JointRefs", Tensor)
"""Joints of the robot, given by one or more regular expressions; indexes the last dimension."""
BodyRef = NewType("BodyRef", int)
"""One body of the robot, given by name."""
BodyRefs = NewType("BodyRefs", Tensor)
"""Bodies of the robot, given by one or more regular expressions."""
SiteRefs = NewType("SiteRefs", Tensor)
"""Sites of the robot, given by one or more regular expressions."""
SensorRefs = NewType("SensorRefs", Tensor)
"""Contact sensors of the scene, given by one or more regular expressions."""


class StatefulTerm:
    """Base of terms that remember something. Made once per environment as ``Term(env, **params)``.

    Keep what is remembered in tensor attributes (worlds first) named in `state`, so that a resumed run continues
    exactly.
    """

    state: Sequence[str] = ()

    def __call__(self, env: "ManagerBasedRlEnv") -> Any:
        raise NotImplementedError

    def reset(self, env_ids: Tensor) -> None:
        """Forget what belongs to the episodes that ended in these worlds."""

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).clone() for name in self.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in self.state:
            getattr(self, name).copy_(state[name])


class Term:
    """A term ready to call, with its name and config."""

    def __init__(self, kind: str, name: str, cfg: TermCfg, env: "ManagerBasedRlEnv"):
        self.label = f"{kind} term '{name}'"
        self.name = name
        self.cfg = cfg
        self.params = resolve_params(cfg, env, self.label)
        self.instance: StatefulTerm | None = None
        self._func: Callable[..., Any] = cfg.func
        self._env = env
        if isinstance(cfg.func, type):
            instance = self._named_errors(cfg.func, env, **self.params)
            self.instance, self._func, self.params = instance, instance, {}

    def __call__(self, *args: Any) -> Any:
        return self._func(self._env, *args, **self.params)

    def checked(self, *args: Any) -> Any:
        """Call the term at build time, with errors that say which term it was."""
        return self._named_errors(self, *args)

    def _named_errors(self, func: Callable[..., Any], *args: Any, **params: Any) -> Any:
        try:
            return func(*args, **params)
        except UserError as error:
            raise UserError(f"{self.label}: {error}") from error
        except Exception as error:
            raise UserError(f"{self.label} fails: {type(error).__name__}: {error}") from error


def resolve_params(cfg: TermCfg, env: "ManagerBasedRlEnv", label: str) -> dict[str, Any]:
    """The parameters with names replaced by indices."""
    robot = env.robot
    tables = {
        JointRef: ("joint", robot.joint_names, True),
        JointRefs: ("joint", robot.joint_names, False),
        BodyRef: ("body", robot.body_names, True),
        BodyRefs: ("body", robot.body_names, False),
        SiteRefs: ("site", robot.site_names, False),
        SensorRefs: ("contact sensor", tuple(env.scene.contact_slices), False),
    }
    types = cfg.param_types()
    resolved = {}
    for name, value in cfg.params.items():
        if types[name] not in tables:
            resolved[name] = value
            continue
        kind, names, single = tables[types[name]]
        ids = match_names(value, names, f"{label}: {kind}", robot.name)
        if single and len(ids) != 1:
            raise UserError(f"{label}: '{value}' names {len(ids)} {kind} names, expected one")
        if single:
            resolved[name] = ids[0]
        elif types[name] is SiteRefs:  # sites index other indices, which a slice cannot
            resolved[name] = torch.tensor(ids, device=env.device)
        else:
            resolved[name] = index_of(ids, env.device)
    return resolved


def match_names(patterns: str | Sequence[str], names: Sequence[str], what: str, owner: str) -> list[int]:
    """Indices of the names that fully match any of the regular expressions, in the order of `names`."""
    found: set[int] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = {i for i, name in enumerate(names) if re.fullmatch(pattern, name)}
        if not matches:
            raise UserError(f"{what} '{pattern}' is not in '{owner}'{hint(pattern, names)}")
        found |= matches
    return sorted(found)


def check_shape(term: Term, value: Any, shape: tuple[int, ...], dtype: torch.dtype | None = None) -> None:
    """Raise unless a term returned a tensor of this shape and, if given, type. -1 stands for any size."""
    if not isinstance(value, Tensor):
        raise UserError(f"{term.label} returned {type(value).__name__}, expected a tensor")
    if len(value.shape) != len(shape) or any(w not in (-1, s) for w, s in zip(shape, value.shape, strict=True)):
        expected = f"({', '.join('d' if size == -1 else str(size) for size in shape)}{',' if len(shape) == 1 else ''})"
        raise UserError(f"{term.label} returned shape {tuple(value.shape)}, expected {expected}")
    if dtype is not None and value.dtype != dtype:
        raise UserError(f"{term.label} returned {value.dtype}, expected {dtype}")
