"""Body poses and velocities from the generalised state, in torch, the same for every engine.

Engines hand over `qpos` and `qvel` in MuJoCo layout; body arrays follow from them and the compiled model alone. So body
frames mean the same thing on every engine, are never a substep behind the state, and cost nothing until they are read.
MuJoCo's own stepper would need an extra forward stage per control step (a third of a pendulum's time) for the same.

Bodies of equal depth in the tree are handled together, so the number of torch calls grows with the depth of the tree
and not with the number of bodies. Arrays are stored component by component, and a level of legs is a slice of them:
torch is several times faster on long rows than on rows of three.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from genelab.core.math import cross, quat_apply, quat_from_axis_angle, quat_mul

_FREE, _BALL, _SLIDE = (getattr(mujoco.mjtJoint, f"mjJNT_{kind}").value for kind in ("FREE", "BALL", "SLIDE"))
_SIZES = (3, 4, 3, 3)
"""Of the arrays in `Bodies`."""


@dataclass(frozen=True)
class Bodies:
    """Body frames in the world frame: (N, nbody, 3) and (N, nbody, 4) tensors."""

    pos: Tensor
    quat: Tensor
    lin_vel: Tensor
    """Velocity of the body origin."""
    ang_vel: Tensor

    def __getitem__(self, ids: slice | Tensor) -> "Bodies":
        return Bodies(self.pos[:, ids], self.quat[:, ids], self.lin_vel[:, ids], self.ang_vel[:, ids])

    def __setitem__(self, ids: slice | Tensor, values: "Bodies") -> None:
        self.pos[:, ids], self.quat[:, ids] = values.pos, values.quat
        self.lin_vel[:, ids], self.ang_vel[:, ids] = values.lin_vel, values.ang_vel


class _Joints:
    """Joints of one type that are the k-th joint of bodies at one depth."""

    def __init__(self, model: mujoco.MjModel, joints: np.ndarray, device: str):
        self.type = int(model.jnt_type[joints[0]])
        self.bodies = _index(model.jnt_bodyid[joints], device)
        nq, nv = {_FREE: (7, 6), _BALL: (4, 3)}.get(self.type, (1, 1))
        qpos, qvel = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self.qpos = tuple(_index(qpos + i, device) for i in range(nq))
        """Columns of the joints' first, second, … coordinate."""
        self.qvel = tuple(_index(qvel + i, device) for i in range(nv))
        self.pos = _tensor(model.jnt_pos[joints], device) if model.jnt_pos[joints].any() else None
        """Offsets of the joints from their bodies' origins; None if all are zero, as in most robots."""
        self.axis = _tensor(model.jnt_axis[joints], device)
        self.zero = _tensor(model.qpos0[qpos], device)


class _Level:
    """Bodies at one depth of the tree."""

    def __init__(self, model: mujoco.MjModel, bodies: np.ndarray, device: str):
        quat = model.body_quat[bodies]
        self.bodies = _index(bodies, device)
        self.parents = _index(model.body_parentid[bodies], device)
        """One column if all have the same parent."""
        self.pos = _tensor(model.body_pos[bodies], device)
        self.quat = _tensor(quat, device) if quat[:, 1:].any() else None
        """None if no body is turned against its parent."""
        self.joints = [_Joints(model, joints, device) for joints in _alike_joints(model, bodies)]
        self.alike = len(self.joints) == 1 and bool((model.body_jntnum[bodies] == 1).all())
        """Every body has one joint, all of one type: as in legs, which need not be stored before they are moved."""


class Kinematics:
    """Forward kinematics of one compiled model."""

    def __init__(self, model: mujoco.MjModel, device: str = "cpu"):
        self._device = device
        self._nbody = model.nbody
        depth = np.zeros(model.nbody, dtype=int)
        for body in range(1, model.nbody):
            depth[body] = depth[model.body_parentid[body]] + 1
        self._levels = [_Level(model, np.flatnonzero(depth == d), device) for d in range(1, depth.max(initial=0) + 1)]
        self._angular_map = self._constant_angular_map(model)

    def __call__(self, qpos: Tensor, qvel: Tensor) -> Bodies:
        """Poses and velocities of all bodies for states (N, nq), (N, nv)."""
        bodies = Bodies(*(torch.zeros(d, self._nbody, len(qpos), device=self._device).permute(2, 1, 0) for d in _SIZES))
        bodies.quat[:, 0, 0] = 1.0
        for level in self._levels:
            if level.alike:
                [joints] = level.joints
                before = None if joints.type == _FREE else self._carried(level, bodies[level.parents])
                bodies[level.bodies] = self._moved(joints, qpos, qvel, before)
                continue
            bodies[level.bodies] = self._carried(level, bodies[level.parents])
            for joints in level.joints:
                bodies[joints.bodies] = self._moved(joints, qpos, qvel, bodies[joints.bodies])
        return bodies

    def angular_velocity(self, qvel: Tensor) -> Tensor | None:
        """Angular velocities alone (N, nbody, 3), where they need no poses: if no joint axis ever turns. Else None."""
        if self._angular_map is None:
            return None
        # Transposed twice: states are stored by column, and columns are what the result is read by.
        return (self._angular_map.T @ qvel.T).view(self._nbody, 3, -1).permute(2, 0, 1)

    @staticmethod
    def _carried(level: _Level, parent: Bodies) -> Bodies:
        """The bodies of one depth, at rest on their parents."""
        pos = parent.pos + quat_apply(parent.quat, level.pos)
        quat = parent.quat if level.quat is None else quat_mul(parent.quat, level.quat)
        return Bodies(pos, quat, parent.lin_vel + cross(parent.ang_vel, pos - parent.pos), parent.ang_vel)

    @staticmethod
    def _moved(joints: _Joints, qpos: Tensor, qvel: Tensor, before: Bodies | None) -> Bodies:
        """The bodies of one group of joints, moved by them. Where they were before does not matter to free ones."""
        position, velocity = _columns(qpos, joints.qpos), _columns(qvel, joints.qvel)
        if before is None or joints.type == _FREE:
            quat = normalize(position[..., 3:], dim=-1)
            return Bodies(position[..., :3], quat, velocity[..., :3], quat_apply(quat, velocity[..., 3:]))
        if joints.type == _BALL:
            quat = quat_mul(before.quat, normalize(position, dim=-1))
            spin = quat_apply(quat, velocity)
        else:
            axis = quat_apply(before.quat, joints.axis)
            travel = position[..., 0] - joints.zero
            if joints.type == _SLIDE:
                shift = axis * travel.unsqueeze(-1)
                lin_vel = before.lin_vel + cross(before.ang_vel, shift) + axis * velocity
                return Bodies(before.pos + shift, before.quat, lin_vel, before.ang_vel)
            quat = quat_mul(before.quat, quat_from_axis_angle(joints.axis, travel))
            spin = axis * velocity
        if joints.pos is None:
            return Bodies(before.pos, quat, before.lin_vel, before.ang_vel + spin)
        anchor = before.pos + quat_apply(before.quat, joints.pos)
        pos = anchor - quat_apply(quat, joints.pos)
        lin_vel = before.lin_vel + cross(before.ang_vel, pos - before.pos) + cross(spin, pos - anchor)
        return Bodies(pos, quat, lin_vel, before.ang_vel + spin)

    def _constant_angular_map(self, model: mujoco.MjModel) -> Tensor | None:
        """The matrix from qvel to all angular velocities if every hinge axis is constant in the world, else None.

        An axis stays where it is when everything that turns it turns about a parallel axis: the case of planar
        mechanisms such as pendulums, where one matrix product replaces the whole tree.
        """
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        matrix = np.zeros((model.nv, model.nbody, 3))
        for body in range(1, model.nbody):
            parent = model.body_parentid[body]
            matrix[:, body] = matrix[:, parent]
            for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
                if model.jnt_type[joint] in (_FREE, _BALL):
                    return None
                if model.jnt_type[joint] == _SLIDE:
                    continue
                axis = data.xaxis[joint]
                if np.abs(np.cross(matrix[:, body], axis)).max(initial=0.0) > 1e-9:
                    return None
                matrix[model.jnt_dofadr[joint], body] = axis
        return _tensor(matrix.reshape(model.nv, -1), self._device)


def _alike_joints(model: mujoco.MjModel, bodies: np.ndarray) -> Iterator[np.ndarray]:
    """Ids of the first joints of bodies, of their second ones, …, each kind of joint by itself."""
    for k in range(int(model.body_jntnum[bodies].max(initial=0))):
        ids = model.body_jntadr[bodies[model.body_jntnum[bodies] > k]] + k
        for kind in np.unique(model.jnt_type[ids]):
            yield ids[model.jnt_type[ids] == kind]


def _tensor(values: np.ndarray, device: str) -> Tensor:
    return torch.as_tensor(np.array(values), dtype=torch.float32, device=device)


def _index(ids: np.ndarray, device: str) -> slice | Tensor:
    """These columns: a slice if they are equally spaced, because slicing copies nothing; one if all are equal."""
    first, steps = int(ids[0]), np.diff(ids)
    if not steps.any():
        return slice(first, first + 1)
    if steps[0] > 0 and (steps == steps[0]).all():
        return slice(first, int(ids[-1]) + 1, int(steps[0]))
    return torch.as_tensor(np.array(ids), device=device)


def _columns(state: Tensor, columns: tuple[slice | Tensor, ...]) -> Tensor:
    """(N, joints, coordinates)"""
    return torch.stack([state[:, column] for column in columns]).movedim(0, -1)
