"""A robot's (or object's) own slice of the engine's arrays."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genelab.core.math import quat_apply_inverse
from genelab.engines.base import Engine
from genelab.scene.scene import Entity


class Robot:
    """Reads and writes one entity in all worlds. Joint and body order is that of the compiled scene."""

    def __init__(self, engine: Engine, entity: Entity):
        self._engine = engine
        self.entity = entity
        self.name = entity.name
        self.joint_names = entity.joint_names
        self.body_names = entity.body_names
        self._qpos, self._qvel = index_of(entity.qpos_ids), index_of(entity.qvel_ids)
        self._bodies = index_of(entity.body_ids)
        self.default_joint_pos = engine.default_qpos[self._qpos]
        """(J,) the pose that actions and observations are relative to."""
        limits = engine.model.jnt_range[entity.joint_ids]
        limited = engine.model.jnt_limited[entity.joint_ids].astype(bool)[:, None]
        self.joint_limits = torch.tensor(np.where(limited, limits, [-np.inf, np.inf]), dtype=torch.float32)
        """(J, 2) lower and upper limit; infinite where there is none."""

    @property
    def joint_pos(self) -> Tensor:
        """(N, J) rad or m."""
        return self._engine.qpos[:, self._qpos]

    @property
    def joint_vel(self) -> Tensor:
        """(N, J) rad/s or m/s."""
        return self._engine.qvel[:, self._qvel]

    @property
    def body_pos(self) -> Tensor:
        """(N, B, 3) world frame."""
        return self._engine.body_pos[:, self._bodies]

    @property
    def body_quat(self) -> Tensor:
        """(N, B, 4) wxyz."""
        return self._engine.body_quat[:, self._bodies]

    @property
    def body_lin_vel(self) -> Tensor:
        """(N, B, 3) world frame."""
        return self._engine.body_lin_vel[:, self._bodies]

    @property
    def body_ang_vel(self) -> Tensor:
        """(N, B, 3) world frame."""
        return self._engine.body_ang_vel[:, self._bodies]

    @property
    def projected_gravity(self) -> Tensor:
        """(N, 3) direction of gravity in the frame of the root body: (0, 0, -1) when upright."""
        down = torch.tensor([0.0, 0.0, -1.0], device=self._engine.device)
        quat = self.body_quat[:, 0]
        return quat_apply_inverse(quat, down.expand(quat.shape[0], 3))

    def write_joints(self, env_ids: Tensor, pos: Tensor | None = None, vel: Tensor | None = None) -> None:
        """Set joint positions and/or velocities, (len(env_ids), J), leaving everything else in place."""
        qpos, qvel = self._engine.qpos[env_ids], self._engine.qvel[env_ids]
        if pos is not None:
            qpos[:, self._qpos] = pos
        if vel is not None:
            qvel[:, self._qvel] = vel
        self._engine.set_state(env_ids, qpos, qvel)


def index_of(ids: Sequence[int] | np.ndarray) -> slice | Tensor:
    """An index for these columns: a slice where they are consecutive, because slicing copies nothing."""
    if len(ids) and list(ids) == list(range(ids[0], ids[0] + len(ids))):
        return slice(int(ids[0]), int(ids[0]) + len(ids))
    return torch.tensor(np.asarray(ids, dtype=np.int64))
