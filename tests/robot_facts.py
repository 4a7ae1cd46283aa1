"""Comparison of a robot's compiled model with the facts of its description (tests/data)."""

from typing import Any

import mujoco
import numpy as np


def check_body(model: mujoco.MjModel, name: str, facts: dict[str, Any]) -> None:
    """Parent, frame, mass and inertia of a body. What the compiler normalises is equal up to rounding."""
    body = model.body(name)
    assert model.body(body.parentid[0]).name == facts["parent"]
    np.testing.assert_array_equal(body.pos, facts["pos"])
    np.testing.assert_allclose(body.quat, facts["quat"], atol=1e-8)
    assert body.mass[0] == facts["mass"]
    np.testing.assert_array_equal(body.ipos, facts["inertia_pos"])
    np.testing.assert_allclose(body.inertia, facts["inertia_diag"], rtol=1e-9)
    np.testing.assert_allclose(body.iquat, facts["inertia_quat"], atol=1e-7)


def check_joint(model: mujoco.MjModel, name: str, facts: dict[str, Any]) -> None:
    """Axis, place, range, damping and dry friction of a joint."""
    joint = model.joint(name)
    np.testing.assert_array_equal(joint.axis, facts["axis"])
    np.testing.assert_array_equal(joint.pos, facts["pos"])
    np.testing.assert_array_equal(joint.range, facts["range"])
    assert joint.damping[0] == facts["damping"]
    assert joint.frictionloss[0] == facts["frictionloss"]
