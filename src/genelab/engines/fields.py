"""Where the model fields of the engine contract live in a MuJoCo model."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Field:
    """The arrays of a MuJoCo model that hold a model field, with the column and the sign of the value in each."""

    arrays: tuple[tuple[str, Any, float], ...]
    derives_constants: bool = False
    """Whether MuJoCo has to compute other model values anew when this one changes."""


FIELDS = {
    "body_mass": Field((("body_mass", ..., 1.0),), derives_constants=True),
    "body_com": Field((("body_ipos", ..., 1.0),), derives_constants=True),
    "body_inertia": Field((("body_inertia", ..., 1.0),), derives_constants=True),
    "geom_friction": Field((("geom_friction", ..., 1.0),)),
    "geom_solref": Field((("geom_solref", ..., 1.0),)),
    "geom_solimp": Field((("geom_solimp", ..., 1.0),)),
    "joint_damping": Field((("dof_damping", ..., 1.0),)),
    "joint_armature": Field((("dof_armature", ..., 1.0),), derives_constants=True),
    "joint_friction": Field((("dof_frictionloss", ..., 1.0),)),
    "actuator_kp": Field((("actuator_gainprm", np.s_[..., 0], 1.0), ("actuator_biasprm", np.s_[..., 1], -1.0))),
    "actuator_kd": Field((("actuator_biasprm", np.s_[..., 2], -1.0),)),
    "gravity": Field((("opt.gravity", ..., 1.0),)),
    "cone": Field((("opt.cone", ..., 1.0),)),
    "impratio": Field((("opt.impratio", ..., 1.0),)),
}
FIELD_ARRAYS = frozenset(array for field in FIELDS.values() for array, _, _ in field.arrays)


def nominal(model: mujoco.MjModel, name: str) -> Tensor:
    """The value of a model field in the compiled scene, before any world has its own."""
    array, column, sign = FIELDS[name].arrays[0]
    values = np.asarray(attrgetter(array)(model))[column] * sign
    return torch.tensor(values, dtype=torch.float32, device="cpu")
