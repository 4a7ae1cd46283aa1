"""How managers turn term configs into calls: names become indices, classes become objects, shapes are checked.

A parameter annotated `JointRef`, `JointRefs`, `BodyRef`, `BodyRefs` or `SiteRefs` is given as a name (or regular
expressions) in the config and arrives at the function as an index into the arrays of an entity. One annotated
`SensorRef` or `ContactRef` is given as the name of a sensor and arrives as the sensor. So a name that is not there is
an error when the environment is built, not when the term first matters.

Which entity: the one that the parameter `entity: EntityRef` names, or the one before a slash (``joint="arm/elbow"``),
or else the first robot of the scene.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NewType

import torch
from torch import Tensor

from genelab.core.config import members
from genelab.core.errors import UserError, about, hint, lookup
from genelab.core.tensors import restore
from genelab.envs.cfg import TermCfg
from genelab.envs.entity import Entity, index_of
from genelab.sensors import ContactSensor, Sensor

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv as Env
else:
    Env = Any
"""The environment of a term, a `ManagerBasedRlEnv`. It is made of terms, so its module cannot be imported here."""

EntityRef = NewType("EntityRef", Entity)
"""A robot or object of the scene, given by name. A term's `entity` is the first robot where the config has none."""
OwnerRef = EntityRef | None
"""What the parameter `entity` of most terms is."""
JointRef = NewType("JointRef", int)
"""One joint of an entity, given by name."""
JointRefs = NewType("JointRefs", Tensor)
"""Joints of an entity, given by one or more regular expressions; indexes the last dimension."""
BodyRef = NewType("BodyRef", int)
"""One body of an entity, given by name."""
BodyRefs = NewType("BodyRefs", Tensor)
"""Bodies of an entity, given by one or more regular expressions."""
SiteRefs = NewType("SiteRefs", Tensor)
"""Sites of an entity, given by one or more regular expressions."""
SensorRef = NewType("SensorRef", Sensor)
"""A sensor of the scene, given by name."""
ContactRef = NewType("ContactRef", ContactSensor)
"""A contact sensor of the scene, given by name."""


class Stateful:
    """Base of what remembers something in tensor attributes named in `state`, so that a resumed run continues."""

    state: Sequence[str] = ()

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).clone() for name in self.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in self.state:
            restore(getattr(self, name), state, name)


class StatefulTerm(Stateful):
    """Base of terms that remember something. Made once per environment as ``Term(env, **params)``.

    Keep what is remembered in tensor attributes (worlds first) named in `state`, so that a resumed run continues
    exactly.
    """

    def __call__(self, env: Env) -> Any:
        raise NotImplementedError

    def reset(self, env_ids: Tensor) -> None:
        """Forget what belongs to the episodes that ended in these worlds."""


class Term:
    """A term ready to call, with its name and config."""

    def __init__(self, kind: str, name: str, cfg: TermCfg, env: Env):
        self.name, self.cfg, self._env = name, cfg, env
        self.label = f"{kind} term '{name}'"
        self.params = resolve_params(cfg, env, self.label)
        self.instance: StatefulTerm | None = None
        self._func: Callable[..., Any] = cfg.func
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


def resolve_params(cfg: TermCfg, env: Env, label: str) -> dict[str, Any]:
    """The parameters with names replaced by entities and indices."""
    declared = cfg.param_types()
    types = {name: next(filter(_is_reference, members(declared[name])), None) for name in cfg.params}
    parts = [cfg.params[name] for name, kind in types.items() if kind in _PARTS]
    with about(label):
        entity = owner_of(env, parts, cfg.params.get("entity") if types.get("entity") is EntityRef else None)
        if entity is not env.robot and types.get("entity") is not EntityRef:
            raise UserError(f"{cfg.func.__qualname__} has no parameter 'entity', so it cannot be about '{entity.name}'")
        resolved = {name: _resolve(cfg.params[name], kind, entity, env) for name, kind in types.items()}
        return {**resolved, "entity": entity} if types.get("entity") is EntityRef else resolved


def owner_of(env: Env, references: Iterable[str | Sequence[str]], name: str | None) -> Entity:
    """The entity that references to parts are about: given by name, or before their slashes, or the first robot.

    What stands before a slash and is no entity belongs to the part's own name.
    """
    patterns = [pattern for reference in references for pattern in _patterns(reference)]
    named = {pattern.partition("/")[0] for pattern in patterns if "/" in pattern} & set(env.entities)
    if name is not None:
        named.add(find_entity(env, name).name)
    if len(named) > 1:
        raise UserError(f"its parameters name parts of several entities: {', '.join(sorted(named))}")
    return env.entities[named.pop()] if named else env.robot


def find_entity(env: Env, name: str) -> Entity:
    return lookup("entity", name, env.entities)


def match_joints(patterns: str | Sequence[str], entity: Entity) -> list[int]:
    """Indices of the hinges and slides that match. A pattern that also matches a ball joint is an error."""
    for ball in entity.layout.ball_names:
        for pattern in _patterns(patterns):
            if re.fullmatch(pattern.removeprefix(f"{entity.name}/"), ball):
                raise UserError(f"joint '{pattern}' includes the ball joint '{ball}', whose position is not one number")
    return match_names(patterns, entity.joint_names, "joint", entity.name)


def match_names(patterns: str | Sequence[str], names: Sequence[str], what: str, owner: str) -> list[int]:
    """Indices, in order, of names that fully match any of the patterns, which may begin with the owner and a slash."""
    found: set[int] = set()
    for pattern in _patterns(patterns):
        own = pattern.removeprefix(f"{owner}/")
        matches = {i for i, name in enumerate(names) if re.fullmatch(own, name)}
        if not matches:
            raise UserError(f"{what} '{own}' is not in '{owner}'{hint(own, names)}")
        found |= matches
    return sorted(found)


def values_by_name(values: Mapping[str, float], names: Sequence[str], what: str) -> list[float]:
    """The value of each name: that of the one key that is part of it (``hip_roll`` of ``left_hip_roll_joint``)."""
    chosen = []
    for name in names:
        keys = [key for key in values if key in name]
        if len(keys) != 1:
            found = f"{len(keys)}: {', '.join(keys) or 'none'}"
            raise UserError(f"{what} needs exactly one entry for '{name}', not {found}")
        chosen.append(values[keys[0]])
    for key in values:
        if not any(key in name for name in names):
            raise UserError(f"{what} has an entry '{key}' that is part of no name{hint(key, names)}")
    return chosen


_PARTS = {JointRef: "joint", JointRefs: "joint", BodyRef: "body", BodyRefs: "body", SiteRefs: "site"}
"""What each kind of reference to a part of an entity is called."""


def _resolve(value: Any, kind: Any, entity: Entity, env: Env) -> Any:
    """One parameter as the function gets it. `kind` is None for those that are no references."""
    if kind is None or value is None:
        return value
    if kind is EntityRef:
        return find_entity(env, value)
    if (expected := _sensor_class(kind)) is not None:
        sensor = env.sensors[value]
        if not isinstance(sensor, expected):
            raise UserError(f"sensor '{value}' is a {type(sensor).__name__}, expected a {expected.__name__}")
        return sensor
    part, names = _PARTS[kind], entity.site_names if kind is SiteRefs else entity.body_names
    ids = match_joints(value, entity) if part == "joint" else match_names(value, names, part, entity.name)
    if kind in (JointRef, BodyRef):
        if len(ids) != 1:
            raise UserError(f"'{value}' names {len(ids)} {part} names, expected one")
        return ids[0]
    # Sites index other indices, which a slice cannot.
    return torch.tensor(ids, device=env.device) if kind is SiteRefs else index_of(ids, env.device)


def _is_reference(declared: Any) -> bool:
    return declared in _PARTS or declared is EntityRef or _sensor_class(declared) is not None


def _sensor_class(declared: Any) -> type[Sensor] | None:
    """The class of the sensors that a parameter may name, if it names sensors."""
    target = getattr(declared, "__supertype__", None)
    return target if isinstance(target, type) and issubclass(target, Sensor) else None


def _patterns(reference: str | Sequence[str]) -> Sequence[str]:
    return [reference] if isinstance(reference, str) else reference


def check_shape(term: Term, value: Any, shape: tuple[int, ...], dtype: torch.dtype | None = None) -> None:
    """Raise unless a term returned a tensor of this shape and, if given, type. -1 stands for any size."""
    if not isinstance(value, Tensor):
        raise UserError(f"{term.label} returned {type(value).__name__}, expected a tensor")
    if len(value.shape) != len(shape) or any(w not in (-1, s) for w, s in zip(shape, value.shape, strict=True)):
        expected = f"({', '.join('d' if size == -1 else str(size) for size in shape)}{',' if len(shape) == 1 else ''})"
        raise UserError(f"{term.label} returned shape {tuple(value.shape)}, expected {expected}")
    if dtype is not None and value.dtype != dtype:
        raise UserError(f"{term.label} returned {value.dtype}, expected {dtype}")
