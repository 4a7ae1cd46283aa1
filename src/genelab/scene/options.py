"""Settings of the physics, from an entity's own ``<option>`` or from the simulation's config.

Entities are attached to one world, which has one set of options. What an entity's MJCF sets is taken over into the
world; two entities that set one option to different values are an error, unless the config decides.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import mujoco
import numpy as np

from genelab.core.errors import UserError, require_known
from genelab.core.overrides import show
from genelab.core.ranges import NonNegative, Positive, Range

Iterations = Annotated[int, Range(1, 100_000)]
IterationsOrZero = Annotated[int, Range(0, 100_000)]


@dataclass(kw_only=True)
class PhysicsOptionsCfg:
    """Names and units are those of MJCF's ``<option>``. None leaves what the scene's models set, or else the default.

    The time step is not among them: it is ``dt`` of the simulation, whatever a model says.
    """

    gravity: tuple[float, float, float] | None = None
    """m/s², world frame. MuJoCo's default: 0, 0, -9.81."""
    integrator: Literal["Euler", "RK4", "implicit", "implicitfast", "discrete"] | None = None
    """MuJoCo's default: Euler, with damping implicit."""
    solver: Literal["PGS", "CG", "Newton"] | None = None
    """Algorithm of the constraint solver. MuJoCo's default: Newton."""
    iterations: Iterations | None = None
    """Bound on the iterations of the constraint solver. MuJoCo's default: 100."""
    ls_iterations: Iterations | None = None
    """Bound on the iterations of its line search. MuJoCo's default: 50."""
    tolerance: Positive | None = None
    """When the constraint solver stops early. MuJoCo's default: 1e-8; engines with 32 bits do not go below 1e-5."""
    ls_tolerance: Positive | None = None
    """When its line search stops early. MuJoCo's default: 0.01."""
    noslip_iterations: IterationsOrZero | None = None
    """Iterations of a second solver against slipping contacts. MuJoCo's default: 0, off."""
    noslip_tolerance: Positive | None = None
    """When that solver stops early. MuJoCo's default: 1e-6."""
    ccd_iterations: IterationsOrZero | None = None
    """Bound on the iterations of convex collision detection. MuJoCo's default: 35."""
    ccd_tolerance: Positive | None = None
    """When convex collision detection stops early. MuJoCo's default: 1e-6."""
    cone: Literal["pyramidal", "elliptic"] | None = None
    """Shape of friction cones. MuJoCo's default: pyramidal."""
    impratio: Positive | None = None
    """How much stiffer friction is than normal contact, with elliptic cones. MuJoCo's default: 1."""
    jacobian: Literal["dense", "sparse", "auto"] | None = None
    """How the constraint Jacobian is stored: speed, not physics. MuJoCo's default: auto."""
    density: NonNegative | None = None
    """Of the medium, kg/m³: drag and lift. MuJoCo's default: 0."""
    viscosity: NonNegative | None = None
    """Of the medium, Pa s. MuJoCo's default: 0."""
    wind: tuple[float, float, float] | None = None
    """Velocity of the medium, m/s, world frame. MuJoCo's default: 0, 0, 0."""
    disable: tuple[str, ...] = ()
    """Flags to switch off, by their MJCF names: ``contact``, ``gravity``, ``eulerdamp``, …"""
    enable: tuple[str, ...] = ()
    """Flags to switch on, by their MJCF names, also those that a model switches off: ``energy``, ``contact``, …"""

    def validate(self) -> None:
        for flag in (*self.disable, *self.enable):
            require_known("flag", flag, FLAGS)
        if both := set(self.disable) & set(self.enable):
            raise UserError(f"disable and enable both name {', '.join(sorted(both))}")


def _bits(prefix: str, enum: Any) -> dict[str, int]:
    members = enum.__members__.items()
    return {name.removeprefix(prefix).lower(): int(bit) for name, bit in members if name.startswith(prefix)}


_DISABLING = _bits("mjDSBL_", mujoco.mjtDisableBit)
_ENABLING = _bits("mjENBL_", mujoco.mjtEnableBit)
FLAGS = (*_DISABLING, *_ENABLING)
"""MJCF's names of all flags."""
_ENUMS: dict[str, Any] = {
    "integrator": ("mjINT_", mujoco.mjtIntegrator),
    "solver": ("mjSOL_", mujoco.mjtSolver),
    "cone": ("mjCONE_", mujoco.mjtCone),
    "jacobian": ("mjJAC_", mujoco.mjtJacobian),
}
_SET_OTHERWISE = ("timestep", "disableflags", "enableflags")
_CONFIGURABLE = [f.name for f in fields(PhysicsOptionsCfg) if f.name not in ("disable", "enable")]


class OptionCollector:
    """Takes the options out of entities' models and gives them to the world."""

    def __init__(self, cfg: PhysicsOptionsCfg):
        self._cfg = cfg
        self._default: Any = mujoco.MjSpec().option
        self._found: dict[str, tuple[Any, str]] = {}
        """By option: the value that an entity sets, and the entity."""
        self._disabled = self._enabled = 0

    def take(self, option: Any, entity: str) -> None:
        """Remember the options that an entity's model sets, and put its own back to the defaults."""
        for name in (n for n in dir(option) if not n.startswith("_") and n not in _SET_OTHERWISE):
            value, default = getattr(option, name), getattr(self._default, name)
            if np.array_equal(value, default):
                continue
            value = np.array(value).tolist()
            known, owner = self._found.setdefault(name, (value, entity))
            if known != value and getattr(self._cfg, name, None) is None:
                setting = f": set env.simulation.{name}" if name in _CONFIGURABLE else ""
                values = f"{_show(name, known)} and {_show(name, value)}"
                raise UserError(f"'{owner}' and '{entity}' disagree on the option {name} ({values}){setting}")
            setattr(option, name, default)
        self._disabled |= option.disableflags
        self._enabled |= option.enableflags
        option.disableflags, option.enableflags = self._default.disableflags, self._default.enableflags
        option.timestep = self._default.timestep

    def give(self, option: Any) -> None:
        """Set the options of the world: the config's where it has any, else the entities'."""
        for name, (value, _) in self._found.items():
            setattr(option, name, value)
        for name in _CONFIGURABLE:
            if (value := getattr(self._cfg, name)) is not None:
                if name in _ENUMS:
                    prefix, enum = _ENUMS[name]
                    value = int(enum.__members__[f"{prefix}{value.upper()}"])
                setattr(option, name, value)
        option.disableflags, option.enableflags = option.disableflags | self._disabled, self._enabled
        for flag in (*self._cfg.disable, *self._cfg.enable):
            disabling = flag in _DISABLING
            bits, bit = ("disableflags", _DISABLING[flag]) if disabling else ("enableflags", _ENABLING[flag])
            before, wanted = getattr(option, bits), (flag in self._cfg.disable) == disabling
            setattr(option, bits, before | bit if wanted else before & ~bit)


def flags_of(option: Any) -> list[str]:
    """The flags that differ from MuJoCo's defaults: disabled ones and enabled ones, by name."""
    disabled = [name for name, bit in _DISABLING.items() if option.disableflags & bit]
    return disabled + [name for name, bit in _ENABLING.items() if option.enableflags & bit]


def _show(name: str, value: Any) -> str:
    if name not in _ENUMS:
        return show(tuple(value) if isinstance(value, list) else value)
    prefix, enum = _ENUMS[name]
    return enum(int(value)).name.removeprefix(prefix).lower()
