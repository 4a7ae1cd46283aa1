"""Body poses and velocities from the generalised state, in torch, the same for every engine.

Engines hand over `qpos` and `qvel` in MuJoCo layout; body arrays follow from them and the compiled model alone. So body
frames mean the same thing on every engine, are never a substep behind the state, and cost nothing until they are read.
MuJoCo's own stepper would need an extra forward stage per control step (a third of a pendulum's time) for the same.

With some hundred worlds a torch call costs more than its arithmetic, so there are few calls, on many numbers each. The
tree is taken apart into links with one joint at most. Orientations go from parents to children, all links of one depth
together. The rest needs no order: the offset of a link from its parent and the axis of its joint are constant vectors,
turned by the parent's orientation, and positions and velocities are sums over all that a link hangs on, which is a
matrix product. Inside, arrays are (links, components, worlds).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from genelab.core.math import CROSS, frame_axes, products, quat_mul, turning

_FREE, _BALL, _SLIDE, _HINGE = (
    getattr(mujoco.mjtJoint, f"mjJNT_{kind}").value for kind in ("FREE", "BALL", "SLIDE", "HINGE")
)
_STILL = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Bodies:
    """Body frames in the world frame: (N, nbody, 3) and (N, nbody, 4) tensors, worlds side by side in memory."""

    pos: Tensor
    quat: Tensor
    lin_vel: Tensor
    """Velocity of the body origin."""
    ang_vel: Tensor


@dataclass(frozen=True, eq=False)
class _Link:
    """A frame that hangs on another one, by one joint or by none."""

    parent: "_Link | None"
    pos: np.ndarray
    """Where it is in the parent's frame while the joint is at zero."""
    quat: np.ndarray
    axis: np.ndarray
    """Of the joint, in the parent's frame."""
    kind: int = -1
    qpos: int = 0
    """First coordinate of the joint."""
    qvel: int = 0
    zero: float = 0.0
    depth: int = 0


@dataclass(frozen=True)
class _Level:
    """Links of one depth."""

    rows: slice
    parents: Tensor
    """Which of the links one depth above."""
    maps: Tensor
    """(links, 8, 4) what the parent's quaternion becomes: without the joint, and with half a turn of it."""
    quat_joints: list[tuple[int, _Link]]
    """Links with joints whose coordinates are quaternions, and which of these links they are."""


class Kinematics:
    """Forward kinematics of one compiled model."""

    def __init__(self, model: mujoco.MjModel, device: str = "cpu"):
        self._device = device
        tree, frames = _links(model)
        links = sorted(tree, key=lambda link: link.depth)
        row_of = {link: row for row, link in enumerate(links)}
        parents = torch.tensor([row_of[link.parent or link] for link in links], device=device)
        bodies = torch.tensor([row_of[link] for link in frames], device=device)
        hangs_on = torch.eye(len(links), device=device)
        for row in range(1, len(links)):
            hangs_on[row] += hangs_on[parents[row]]
        self._parents, self._bodies, self._sum, self._body_sum = parents, bodies, hangs_on, hangs_on[bodies]
        pos, quat, axis = (self._tensor([getattr(link, name) for link in links]) for name in ("pos", "quat", "axis"))
        turned = quat_mul(pad(axis, (1, 0)), quat)
        units = self._tensor(np.eye(4))
        maps = torch.cat([torch.stack([quat_mul(unit, q) for unit in units], -1) for q in (quat, turned)], 1)
        self._quat_joints = [(row, link) for row, link in enumerate(links) if link.kind in (_FREE, _BALL)]
        self._levels: list[_Level] = []
        first = 0
        for depth in range(1, links[-1].depth + 1):
            rows = [row for row, link in enumerate(links) if link.depth == depth]
            here = [(row - rows[0], link) for row, link in self._quat_joints if row in rows]
            level = slice(rows[0], rows[-1] + 1)
            self._levels.append(_Level(level, parents[level] - first, maps[level], here))
            first = rows[0]
        self._half_angle = self._positions(links, _HINGE, model.nq, 0.5)
        self._travel = self._positions(links, _SLIDE, model.nq)
        self._turn_rate, self._slide_rate = (
            self._tensor([np.eye(model.nv)[link.qvel] * (link.kind == kind) for link in links])
            for kind in (_HINGE, _SLIDE)
        )
        self._slides = any(link.kind == _SLIDE for link in links)
        self._vectors = torch.cat((turning(pos), turning(axis)), dim=1)
        """(links, 6, 16) offset and axis in the world, from the products of the parent's quaternion with itself."""
        self._cross = CROSS.to(device).expand(len(links), -1, -1)
        self._still = self._tensor(_STILL).view(1, 4, 1)
        self._angular_map = self._constant_angular_map(model)
        state = torch.zeros(1, model.nq, device=device), torch.zeros(1, model.nv, device=device)
        # The same operations in the same order, called by torch itself and not by Python: a third of the time less.
        self._traced: Any = torch.jit.trace(self._compute, state, check_trace=False)

    def __call__(self, qpos: Tensor, qvel: Tensor) -> Bodies:
        """Poses and velocities of all bodies for states (N, nq), (N, nv)."""
        return Bodies(*self._traced(qpos, qvel))

    def _compute(self, qpos: Tensor, qvel: Tensor) -> tuple[Tensor, ...]:
        qpos, qvel = qpos.T, qvel.T
        quat = self._orientations(qpos)
        parents = quat.index_select(0, self._parents)
        offset, axis = torch.bmm(self._vectors, products(parents, parents)).split(3, dim=1)
        spin = axis * (self._turn_rate @ qvel).unsqueeze(1)
        if self._slides:
            offset = offset + axis * torch.addmm(*self._travel, qpos).unsqueeze(1)
        for row, link in self._quat_joints:
            first = link.qvel
            if link.kind == _FREE:
                offset[row] = qpos[link.qpos : link.qpos + 3]
                first += 3
            spin[row] = (frame_axes(quat[row]) * qvel[first : first + 3].unsqueeze(1)).sum(dim=0)
        ang_vel = (self._sum @ spin.flatten(1)).view_as(spin)
        drift = torch.bmm(self._cross, products(ang_vel.index_select(0, self._parents), offset))
        if self._slides:
            drift += axis * (self._slide_rate @ qvel).unsqueeze(1)
        for row, link in self._quat_joints:
            if link.kind == _FREE:
                drift[row] = qvel[link.qvel : link.qvel + 3]
        pos, lin_vel = ((self._body_sum @ part.flatten(1)).unflatten(1, (3, -1)) for part in (offset, drift))
        found = (pos, quat.index_select(0, self._bodies), lin_vel, ang_vel.index_select(0, self._bodies))
        return tuple(values.permute(2, 0, 1) for values in found)

    def angular_velocity(self, qvel: Tensor) -> Tensor | None:
        """Angular velocities alone (N, nbody, 3), where they need no poses: if no joint axis ever turns. Else None."""
        if self._angular_map is None:
            return None
        # Transposed twice: states are stored by column, and columns are what the result is read by.
        return (self._angular_map @ qvel.T).unflatten(0, (-1, 3)).permute(2, 0, 1)

    def _orientations(self, qpos: Tensor) -> Tensor:
        """Quaternions of all links, for the transposed state."""
        half = torch.addmm(*self._half_angle, qpos).unsqueeze(1)
        cos, sin = half.cos(), half.sin()
        quats = [self._still.expand(-1, -1, qpos.shape[1])]
        for level in self._levels:
            ahead, turned = torch.bmm(level.maps, quats[-1].index_select(0, level.parents)).split(4, dim=1)
            quat = torch.addcmul(ahead * cos[level.rows], turned, sin[level.rows])
            for i, link in level.quat_joints:
                free = link.kind == _FREE
                own = qpos[link.qpos + 3 * free :][:4]
                own = own * own.square().sum(dim=0).clamp(min=1e-24).rsqrt()  # several times as fast as `normalize`
                quat[i] = own if free else quat_mul(quat[i].T, own.T).T
            quats.append(quat)
        return torch.cat(quats)

    def _positions(self, links: Sequence[_Link], kind: int, size: int, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """Scaled positions of one kind of joints, for every link, from a state: what is added, and a matrix."""
        matrix, start = np.zeros((len(links), size)), np.zeros((len(links), 1))
        for row, link in enumerate(links):
            if link.kind == kind:
                matrix[row, link.qpos], start[row] = scale, -scale * link.zero
        return self._tensor(start), self._tensor(matrix)

    def _constant_angular_map(self, model: mujoco.MjModel) -> Tensor | None:
        """The matrix from qvel to angular velocities if no hinge axis ever turns (planar mechanisms), else None."""
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
        return self._tensor(matrix.reshape(model.nv, -1).T)

    def _tensor(self, values: object) -> Tensor:
        return torch.as_tensor(np.array(values), dtype=torch.float32, device=self._device)


def _links(model: mujoco.MjModel) -> tuple[list[_Link], list[_Link]]:
    """All links, the world first, and each body's frame: a joint beside its origin needs a link that leads back."""
    nothing, still = np.zeros(3), np.array(_STILL)
    links = [_Link(None, nothing, still, nothing)]
    frames = [links[0]]
    for body in range(1, model.nbody):
        at, pos, quat = frames[model.body_parentid[body]], model.body_pos[body], model.body_quat[body]
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        for joint in joints:
            kind, places = int(model.jnt_type[joint]), (model.jnt_qposadr[joint], model.jnt_dofadr[joint])
            if kind == _FREE:
                pos, quat = nothing, still
            anchor = nothing if kind in (_FREE, _SLIDE) else model.jnt_pos[joint]
            axis = _rotated(quat, model.jnt_axis[joint]) if kind in (_SLIDE, _HINGE) else nothing
            zero = model.qpos0[places[0]]
            at = _Link(at, pos + _rotated(quat, anchor), quat, axis, kind, *places, zero, at.depth + 1)
            pos, quat = -anchor, still
            links.append(at)
        if not len(joints) or pos.any():
            at = _Link(at, pos, quat, nothing, depth=at.depth + 1)
            links.append(at)
        frames.append(at)
    return links, frames


def _rotated(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    mujoco.mju_rotVecQuat(rotated := np.zeros(3), vector, quat)
    return rotated
