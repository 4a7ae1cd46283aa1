"""Model values that a world can have for itself, by the name every engine uses, and where MuJoCo models hold them."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

Parts = tuple[tuple[str, Any, float], ...]


@dataclass(frozen=True)
class Field:
    """A model field."""

    meaning: str
    arrays: Parts
    """Arrays of a MuJoCo model that hold it, with the column and the sign of the value in each."""
    derives_constants: bool = False
    """Whether MuJoCo has to compute other model values anew when this one changes."""


def _all_of(array: str) -> Parts:
    return ((array, ..., 1.0),)


_KP: Parts = (("actuator_gainprm", np.s_[..., 0], 1.0), ("actuator_biasprm", np.s_[..., 1], -1.0))
_KD: Parts = (("actuator_biasprm", np.s_[..., 2], -1.0),)

MODEL_FIELDS = {
    "body_mass": Field("mass of each body, kg (N, nbody)", _all_of("body_mass"), True),
    "body_com": Field("centre of mass in the body frame, m (N, nbody, 3)", _all_of("body_ipos"), True),
    "body_inertia": Field("principal moments of inertia, kg m² (N, nbody, 3)", _all_of("body_inertia"), True),
    "geom_friction": Field("sliding, torsional and rolling friction (N, ngeom, 3)", _all_of("geom_friction")),
    "geom_solref": Field("time constant, s, and damping ratio of contacts (N, ngeom, 2)", _all_of("geom_solref")),
    "geom_solimp": Field("impedance of contacts: at touch, when deep, … (N, ngeom, 5)", _all_of("geom_solimp")),
    "joint_damping": Field("damping of each degree of freedom (N, nv)", _all_of("dof_damping")),
    "joint_armature": Field("rotor inertia of each degree of freedom (N, nv)", _all_of("dof_armature"), True),
    "joint_friction": Field("dry friction of each degree of freedom (N, nv)", _all_of("dof_frictionloss")),
    "actuator_kp": Field("stiffness of each position servo (N, nu)", _KP),
    "actuator_kd": Field("damping of each servo (N, nu)", _KD),
    "gravity": Field("gravity vector, m/s² (N, 3)", _all_of("opt.gravity")),
    "cone": Field("friction cones: 0 pyramidal, 1 elliptic (N,)", _all_of("opt.cone")),
    "impratio": Field("how much harder contacts are along the ground than across it (N,)", _all_of("opt.impratio")),
}


def arrays_of(fields: Iterable[str]) -> list[str]:
    """The arrays of a MuJoCo model that hold these fields."""
    return sorted({array for name in fields for array, _, _ in MODEL_FIELDS[name].arrays})


def compiled(model: mujoco.MjModel, name: str) -> np.ndarray:
    array, column, sign = MODEL_FIELDS[name].arrays[0]
    return np.asarray(attrgetter(array)(model))[column] * sign


def nominal(model: mujoco.MjModel, name: str) -> Tensor:
    """The value of a model field in the compiled scene, before any world has its own."""
    return torch.tensor(compiled(model, name), dtype=torch.float32, device="cpu")
