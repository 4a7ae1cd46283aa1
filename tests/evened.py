"""Robots with two equal sides, for tests of symmetry: real ones are a little lopsided."""

import mujoco
import numpy as np

from genelab.scene.mirror import MirrorTable

FLIP_Y = np.diag([1.0, -1.0, 1.0])


def evened(spec: mujoco.MjSpec, table: MirrorTable) -> mujoco.MjSpec:
    """The robot with the mean of its two sides' inertias on both, and right bodies where the left ones are."""
    model = spec.compile()

    def inertial(name: str) -> tuple[np.ndarray, np.ndarray]:
        body, turn = model.body(name), np.zeros(9)
        mujoco.mju_quat2Mat(turn, body.iquat)
        axes = turn.reshape(3, 3)
        return body.ipos, axes @ np.diag(body.inertia) @ axes.T

    for body in spec.bodies:
        if body.name == "world":
            continue
        (pos, inertia), (other_pos, other_inertia) = inertial(body.name), inertial(table.partner(body.name))
        moments, axes = np.linalg.eigh((inertia + FLIP_Y @ other_inertia @ FLIP_Y) / 2)
        axes[:, 2] *= np.linalg.det(axes)
        body.ipos, body.inertia = (pos + FLIP_Y @ other_pos) / 2, moments
        mujoco.mju_mat2Quat(body.iquat, axes.flatten())
        if any(body.name.startswith(right) for right, _ in table.swap):
            left = model.body(table.partner(body.name))
            body.pos, body.quat = FLIP_Y @ left.pos, left.quat * [1.0, -1.0, 1.0, -1.0]
    return spec
