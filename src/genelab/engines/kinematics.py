"""Body poses and velocities from the generalised state, in torch, the same for every engine.

Engines hand over `qpos` and `qvel` in MuJoCo layout; body arrays follow from them and the compiled model alone. So body
frames mean the same thing on every engine, are never a substep behind the state, and cost nothing until they are read.
MuJoCo's own stepper would need an extra forward stage per control step (a third of a pendulum's time) for the same.

Bodies of equal depth in the tree are handled together, so the number of torch calls grows with the depth of the tree
and not with the number of bodies.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from genelab.core.math import cross, quat_apply, quat_from_axis_angle, quat_mul

_FREE, _BALL, _SLIDE, _HINGE = (
    mujoco.mjtJoint.mjJNT_FREE.value,
    mujoco.mjtJoint.mjJNT_BALL.value,
    mujoco.mjtJoint.mjJNT_SLIDE.value,
    mujoco.mjtJoint.mjJNT_HINGE.value,
)


@dataclass(frozen=True)
class Bodies:
    """Body frames in the world frame: (N, nbody, 3) and (N, nbody, 4) tensors."""

    pos: Tensor
    quat: Tensor
    lin_vel: Tensor
    """Velocity of the body origin."""
    ang_vel: Tensor


@dataclass(frozen=True)
class _Joints:
    """Joints of one type that are the k-th joint of bodies at one depth."""

    type: int
    slots: Tensor
    """Position of each joint's body within its level."""
    qpos: Tensor
    qvel: Tensor
    pos: Tensor
    axis: Tensor
    zero: Tensor


@dataclass(frozen=True)
class _Level:
    """Bodies at one depth of the tree."""

    bodies: Tensor
    parents: Tensor
    pos: Tensor
    quat: Tensor
    joints: tuple[_Joints, ...]


class Kinematics:
    """Forward kinematics of one compiled model."""

    def __init__(self, model: mujoco.MjModel, device: str = "cpu"):
        self._device = device
        self._nbody = model.nbody
        self._levels = self._build_levels(model)
        self._angular_map = self._constant_angular_map(model)

    def __call__(self, qpos: Tensor, qvel: Tensor) -> Bodies:
        """Poses and velocities of all bodies for states (N, nq), (N, nv)."""
        n = qpos.shape[0]
        pos, lin, ang = (torch.zeros(n, self._nbody, 3, device=self._device) for _ in range(3))
        quat = torch.zeros(n, self._nbody, 4, device=self._device)
        quat[:, 0, 0] = 1.0
        for level in self._levels:
            parent_pos, parent_quat = pos[:, level.parents], quat[:, level.parents]
            level_ang = ang[:, level.parents]
            level_pos = parent_pos + quat_apply(parent_quat, level.pos.expand(n, -1, -1))
            level_quat = quat_mul(parent_quat, level.quat.expand(n, -1, -1))
            level_lin = lin[:, level.parents] + cross(level_ang, level_pos - parent_pos)
            for joints in level.joints:
                self._move(joints, qpos, qvel, level_pos, level_quat, level_lin, level_ang)
            pos[:, level.bodies], quat[:, level.bodies] = level_pos, level_quat
            lin[:, level.bodies], ang[:, level.bodies] = level_lin, level_ang
        return Bodies(pos, quat, lin, ang)

    def angular_velocity(self, qvel: Tensor) -> Tensor | None:
        """Angular velocities alone (N, nbody, 3), where they need no poses: if no joint axis ever turns. Else None."""
        if self._angular_map is None:
            return None
        return (qvel @ self._angular_map).view(-1, self._nbody, 3)

    @staticmethod
    def _move(joints: _Joints, qpos: Tensor, qvel: Tensor, pos: Tensor, quat: Tensor, lin: Tensor, ang: Tensor) -> None:
        """Apply one group of joints to their bodies' frames, in place."""
        s = joints.slots
        if joints.type == _FREE:
            pos[:, s] = qpos[:, joints.qpos[:, :3]]
            quat[:, s] = normalize(qpos[:, joints.qpos[:, 3:]], dim=-1)
            lin[:, s] = qvel[:, joints.qvel[:, :3]]
            ang[:, s] = quat_apply(quat[:, s], qvel[:, joints.qvel[:, 3:]])
            return
        before_pos, before_quat, before_lin, before_ang = pos[:, s], quat[:, s], lin[:, s], ang[:, s]
        offset = joints.pos.expand(pos.shape[0], -1, -1)
        if joints.type == _BALL:
            after_quat = quat_mul(before_quat, normalize(qpos[:, joints.qpos], dim=-1))
            spin = quat_apply(after_quat, qvel[:, joints.qvel])
        else:
            axis = quat_apply(before_quat, joints.axis.expand(pos.shape[0], -1, -1))
            angle, rate = qpos[:, joints.qpos[:, 0]] - joints.zero, qvel[:, joints.qvel[:, 0]].unsqueeze(-1)
            if joints.type == _SLIDE:
                shift = axis * angle.unsqueeze(-1)
                pos[:, s] = before_pos + shift
                lin[:, s] = before_lin + cross(before_ang, shift) + axis * rate
                return
            after_quat = quat_mul(quat_from_axis_angle(axis, angle), before_quat)
            spin = axis * rate
        anchor = before_pos + quat_apply(before_quat, offset)
        after_pos = anchor - quat_apply(after_quat, offset)
        pos[:, s], quat[:, s] = after_pos, after_quat
        lin[:, s] = before_lin + cross(before_ang, after_pos - before_pos) + cross(spin, after_pos - anchor)
        ang[:, s] = before_ang + spin

    def _build_levels(self, model: mujoco.MjModel) -> list[_Level]:
        depth = np.zeros(model.nbody, dtype=int)
        for body in range(1, model.nbody):
            depth[body] = depth[model.body_parentid[body]] + 1
        levels = []
        for d in range(1, depth.max(initial=0) + 1):
            bodies = np.flatnonzero(depth == d)
            levels.append(
                _Level(
                    bodies=self._tensor(bodies),
                    parents=self._tensor(model.body_parentid[bodies]),
                    pos=self._tensor(model.body_pos[bodies]),
                    quat=self._tensor(model.body_quat[bodies]),
                    joints=tuple(self._group_joints(model, bodies)),
                )
            )
        return levels

    def _group_joints(self, model: mujoco.MjModel, bodies: np.ndarray) -> list[_Joints]:
        groups = []
        for k in range(int(model.body_jntnum[bodies].max(initial=0))):
            slots = np.flatnonzero(model.body_jntnum[bodies] > k)
            ids = model.body_jntadr[bodies[slots]] + k
            for joint_type in np.unique(model.jnt_type[ids]):
                chosen = model.jnt_type[ids] == joint_type
                nq, nv = {_FREE: (7, 6), _BALL: (4, 3)}.get(int(joint_type), (1, 1))
                joints = ids[chosen]
                qpos = model.jnt_qposadr[joints][:, None] + np.arange(nq)
                groups.append(
                    _Joints(
                        type=int(joint_type),
                        slots=self._tensor(slots[chosen]),
                        qpos=self._tensor(qpos),
                        qvel=self._tensor(model.jnt_dofadr[joints][:, None] + np.arange(nv)),
                        pos=self._tensor(model.jnt_pos[joints]),
                        axis=self._tensor(model.jnt_axis[joints]),
                        zero=self._tensor(model.qpos0[qpos[:, 0]]),
                    )
                )
        return groups

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
        return self._tensor(matrix.reshape(model.nv, -1))

    def _tensor(self, values: np.ndarray) -> Tensor:
        dtype = torch.float32 if np.issubdtype(values.dtype, np.floating) else torch.int64
        return torch.as_tensor(np.array(values), dtype=dtype, device=self._device)
