"""What an engine really simulates, in one form for all engines, so that two of them can be compared by name."""

from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np

from genelab.engines.fields import MODEL_FIELDS, compiled

OPTIONS = (
    *("integrator", "solver", "iterations", "ls_iterations", "tolerance", "ls_tolerance"),
    *("noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance", "cone", "impratio", "jacobian"),
    *("density", "viscosity", "wind_x", "wind_y", "wind_z", "disableflags", "enableflags"),
)
"""Settings of the physics that are compared between engines, beside the time step and gravity."""
FINEST_TOLERANCE = 1e-5
"""The solver's tolerance that 32 bits can reach. Smaller ones are described as this, since no engine gets further."""


@dataclass(frozen=True)
class Description:
    """The physical parameters of one world, in the order of the compiled scene.

    Values are read back from the engine after it was built, never from the scene it was given: what an engine dropped
    or changed on the way in shows here. SI units; NaN where an engine has no such parameter. Arrays have one row per
    body, geom, actuator or option; those of joints one per degree of freedom, ranges one per joint.
    """

    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    geom_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    option_names: tuple[str, ...]
    """Settings of the physics, as in MJCF's ``<option>``; see `OPTIONS`."""
    dt: float
    gravity: np.ndarray
    option_value: np.ndarray
    """Enumerations and flags as MuJoCo numbers them."""
    body_mass: np.ndarray
    body_com: np.ndarray
    """In the body frame."""
    body_inertia: np.ndarray
    """Principal moments, ascending."""
    geom_friction: np.ndarray
    """Sliding friction."""
    joint_range: np.ndarray
    """(njnt, 2); infinite where there is no limit."""
    joint_damping: np.ndarray
    joint_armature: np.ndarray
    joint_friction: np.ndarray
    """Dry friction."""
    actuator_kp: np.ndarray
    actuator_kd: np.ndarray
    actuator_force_range: np.ndarray
    """(nu, 2); infinite where there is no limit."""

    @classmethod
    def numbers(cls) -> list[str]:
        return [f.name for f in fields(cls) if not f.name.endswith("_names")]


def part_names(model: mujoco.MjModel) -> dict[str, tuple[str, ...]]:
    """The fields of a description that name the parts of a compiled model."""
    counts = {"joint": model.njnt, "body": model.nbody, "geom": model.ngeom, "actuator": model.nu}
    return {f"{kind}_names": tuple(getattr(model, kind)(i).name for i in range(n)) for kind, n in counts.items()}


def describe_model(model: mujoco.MjModel) -> Description:
    endless, opt = np.array([-np.inf, np.inf]), model.opt
    options = {f"wind_{axis}": value for axis, value in zip("xyz", opt.wind, strict=True)}
    options["tolerance"] = max(opt.tolerance, FINEST_TOLERANCE)
    options = {name: options[name] if name in options else getattr(opt, name) for name in OPTIONS}
    values: dict[str, Any] = {name: compiled(model, name) for name in MODEL_FIELDS if name in Description.numbers()}
    values["body_inertia"].sort(axis=1)
    values["geom_friction"] = values["geom_friction"][:, 0]
    return Description(
        **part_names(model),
        **values,
        option_names=OPTIONS,
        dt=float(opt.timestep),
        option_value=np.array(list(options.values()), dtype=np.float64),
        joint_range=np.where(model.jnt_limited[:, None], model.jnt_range, endless),
        actuator_force_range=np.where(model.actuator_forcelimited[:, None], model.actuator_forcerange, endless),
    )


def differences(expected: Description, found: Description, rtol: float = 1e-5) -> list[str]:
    """Names of the fields in which two descriptions differ. NaN in `found` stands for "has no such parameter"."""
    names = [f.name for f in fields(Description) if f.name.endswith("_names")]
    differing = [name for name in names if getattr(expected, name) != getattr(found, name)]
    for name in Description.numbers():
        wanted, got = np.asarray(getattr(expected, name)), np.asarray(getattr(found, name))
        if wanted.shape != got.shape or not (np.isclose(got, wanted, rtol=rtol, atol=1e-9) | np.isnan(got)).all():
            differing.append(name)
    return differing
