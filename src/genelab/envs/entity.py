"""A robot or object in all worlds: its own part of the engine's arrays."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genelab.core import math
from genelab.core.errors import UserError, require_known
from genelab.core.math import cross, quat_apply, quat_apply_inverse, quat_conjugate, quat_mul, rotation_vector
from genelab.engines.base import Engine
from genelab.scene.layout import EntityLayout


class Entity:
    """Reads and writes one entity in all worlds. Joint and body order is that of the compiled scene."""

    def __init__(self, engine: Engine, layout: EntityLayout):
        self._engine, self.layout, self.name = engine, layout, layout.name
        self.joint_names, self.body_names, self.site_names = layout.joint_names, layout.body_names, layout.site_names
        joints = (layout.qpos_ids, layout.qvel_ids, layout.ball_qpos, layout.ball_qvel)
        self._qpos, self._qvel, self._ball_qpos, self._ball_qvel, self._bodies, self._actuators = (
            index_of(ids, engine.device) for ids in (*joints, layout.body_ids, layout.actuator_ids)
        )
        self._site_bodies = torch.tensor(layout.site_bodies, device=engine.device)
        self._site_turning = math.turning(engine.floats(layout.site_pos))
        model = engine.model
        inertial = (model.body_mass[:, None], model.body_ipos, model.body_iquat, model.body_inertia)
        self._inertial = tuple(engine.floats(values[layout.body_ids]) for values in inertial)
        """Mass (B, 1), centre of mass (B, 3), and frame (B, 4) and moments (B, 3) of inertia, in the body frames."""
        self.encoder_bias: Tensor | None = None
        """(N, J) what the encoders show beyond the true joint positions, where that is randomised."""
        self.default_joint_pos = engine.default_qpos[self._qpos]
        """(J,) the pose that actions and observations are relative to."""
        limits = np.where(model.jnt_limited[:, None], model.jnt_range, [-np.inf, np.inf])
        self.joint_limits = engine.floats(limits[layout.joint_ids])
        """(J, 2) lower and upper limit; infinite where there is none."""

    @property
    def joint_pos(self) -> Tensor:
        """(N, J) rad or m."""
        return self._engine.qpos[:, self._qpos]

    @property
    def measured_joint_pos(self) -> Tensor:
        """(N, J) joint positions as the encoders show them."""
        return self.joint_pos if self.encoder_bias is None else self.joint_pos + self.encoder_bias

    @property
    def joint_vel(self) -> Tensor:
        """(N, J) rad/s or m/s."""
        return self._engine.qvel[:, self._qvel]

    @property
    def ball_rotation(self) -> Tensor:
        """(N, 3 B) turn of each ball joint from its default pose, as a rotation vector in the joint's frame, rad."""
        default, present = (
            qpos[..., self._ball_qpos].unflatten(-1, (-1, 4)) for qpos in (self._engine.default_qpos, self._engine.qpos)
        )
        return rotation_vector(quat_mul(quat_conjugate(default), present)).flatten(1)

    @property
    def ball_vel(self) -> Tensor:
        """(N, 3 B) angular velocity of each ball joint in the frame of its body, rad/s."""
        return self._engine.qvel[:, self._ball_qvel]

    @property
    def actuator_force(self) -> Tensor:
        """(N, A) force or torque of each actuator in the last physics step."""
        return self._engine.actuator_force[:, self._actuators]

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
    def root_pos(self) -> Tensor:
        """(N, 3) world frame."""
        first = self.layout.free_qpos
        return self.body_pos[:, 0] if first is None else self._engine.qpos[:, first : first + 3]

    @property
    def root_quat(self) -> Tensor:
        """(N, 4) wxyz."""
        first = self.layout.free_qpos
        return self.body_quat[:, 0] if first is None else self._engine.qpos[:, first + 3 : first + 7]

    @property
    def root_lin_vel(self) -> Tensor:
        """(N, 3) velocity of the root body in its own frame."""
        return self._engine.derived(f"{self.name}/root_lin_vel", self._root_lin_vel)

    def _root_lin_vel(self) -> Tensor:
        first = self.layout.free_qvel
        in_world = self.body_lin_vel[:, 0] if first is None else self._engine.qvel[:, first : first + 3]
        return (self._root_axes * in_world.T).sum(dim=1).T

    @property
    def root_ang_vel(self) -> Tensor:
        """(N, 3) angular velocity of the root body in its own frame."""
        first = self.layout.free_qvel
        if first is None:
            return quat_apply_inverse(self.root_quat, self.body_ang_vel[:, 0])
        return self._engine.qvel[:, first + 3 : first + 6]

    @property
    def projected_gravity(self) -> Tensor:
        """(N, 3) direction of gravity in the frame of the root body: (0, 0, -1) when upright."""
        return self._engine.derived(f"{self.name}/projected_gravity", lambda: -self._root_axes[:, 2].T)

    @property
    def _root_axes(self) -> Tensor:
        """(3, 3, N) the axes of the root's frame in the world frame."""
        return self._engine.derived(f"{self.name}/root_axes", lambda: math.frame_axes(self.root_quat.T))

    @property
    def body_com_pos(self) -> Tensor:
        """(N, B, 3) centres of mass of the bodies of the compiled model, world frame."""
        return self.body_pos + quat_apply(self.body_quat, self._inertial[1])

    @property
    def com_lin_vel(self) -> Tensor:
        """(N, 3) velocity of the entity's centre of mass, world frame; with the masses of the compiled model."""
        mass, com, _, _ = self._inertial
        momentum = mass * (self.body_lin_vel + cross(self.body_ang_vel, quat_apply(self.body_quat, com)))
        return momentum.sum(dim=1) / mass.sum()

    @property
    def angular_momentum(self) -> Tensor:
        """(N, 3) about the entity's centre of mass, world frame, kg m²/s; with the masses of the compiled model."""
        mass, com, frame, inertia = self._inertial
        quat, spin = self.body_quat, self.body_ang_vel
        arm = quat_apply(quat, com)
        # Relative to the root, so that nothing is lost where a robot is far from the origin.
        pos = self.body_pos - self.body_pos[:, :1] + arm
        momentum = mass * (self.body_lin_vel - self.body_lin_vel[:, :1] + cross(spin, arm))
        principal = quat_mul(quat, frame)
        own = quat_apply(principal, inertia * quat_apply_inverse(principal, spin))
        centre = (mass * pos).sum(dim=1) / mass.sum()
        return (own + cross(pos, momentum)).sum(dim=1) - cross(centre, momentum.sum(dim=1))

    def site_pos(self, sites: slice | Tensor) -> Tensor:
        """(N, S, 3) positions of sites in the world frame."""
        engine = self._engine
        found = engine.derived(f"{self.name}/site_pos", lambda: self._at_sites(engine.body_pos) + self._site_offset)
        return found.permute(2, 0, 1)[:, sites]

    def site_lin_vel(self, sites: slice | Tensor) -> Tensor:
        """(N, S, 3) velocities of sites in the world frame."""
        return self._engine.derived(f"{self.name}/site_lin_vel", self._site_lin_vel)[:, sites]

    def _site_lin_vel(self) -> Tensor:
        spun = math.products(self._at_sites(self._engine.body_ang_vel), self._site_offset)
        turn = math.CROSS.to(spun.device).expand(len(spun), -1, -1)
        return torch.baddbmm(self._at_sites(self._engine.body_lin_vel), turn, spun).permute(2, 0, 1)

    @property
    def _site_offset(self) -> Tensor:
        """(S, 3, N) from the origin of each site's body to the site, world frame."""
        return self._engine.derived(f"{self.name}/site_offset", self._turned_sites)

    def _turned_sites(self) -> Tensor:
        quat = self._at_sites(self._engine.body_quat)
        return torch.bmm(self._site_turning, math.products(quat, quat))

    def _at_sites(self, of_bodies: Tensor) -> Tensor:
        """(S, d, N) what the bodies of all sites have of (N, nbody, d)."""
        return of_bodies.permute(1, 2, 0).index_select(0, self._site_bodies)

    @property
    def default_root_pose(self) -> Tensor:
        """(7,) position and orientation of a free root in the default pose: xyz + wxyz."""
        first, _ = self._free_root()
        return self._engine.default_qpos[first : first + 7]

    @property
    def root_vel(self) -> Tensor:
        """(N, 6) velocity of a free root, as `write_root` takes it: linear, world frame; angular, body frame."""
        _, first = self._free_root()
        return self._engine.qvel[:, first : first + 6]

    def model_sensor(self, name: str) -> Tensor:
        """(N, d) a sensor of the entity's model, such as an IMU's gyro; see `Engine.model_sensor`."""
        require_known(f"sensor of '{self.name}'", name, self.layout.sensor_names)
        return self._engine.model_sensor(f"{self.name}/{name}")

    def write_root(
        self, env_ids: Tensor, pos: Tensor | None = None, quat: Tensor | None = None, vel: Tensor | None = None
    ) -> None:
        """Set pose and/or velocity of a free root. `vel` (len(env_ids), 6) is as in `root_vel`."""
        first_q, first_v = self._free_root()
        qpos, qvel = self._engine.qpos[env_ids], self._engine.qvel[env_ids]
        if pos is not None:
            qpos[:, first_q : first_q + 3] = pos
        if quat is not None:
            qpos[:, first_q + 3 : first_q + 7] = quat
        if vel is not None:
            qvel[:, first_v : first_v + 6] = vel
        self._engine.set_state(env_ids, qpos, qvel)

    def write_joints(self, env_ids: Tensor, pos: Tensor | None = None, vel: Tensor | None = None) -> None:
        """Set joint positions and/or velocities, (len(env_ids), J), leaving everything else in place."""
        qpos, qvel = self._engine.qpos[env_ids], self._engine.qvel[env_ids]
        if pos is not None:
            qpos[:, self._qpos] = pos
        if vel is not None:
            qvel[:, self._qvel] = vel
        self._engine.set_state(env_ids, qpos, qvel)

    def refuse_ball_joints(self, asked_by: str) -> None:
        """Raise if there are ball joints, for functions of all joints that are about joints of one position."""
        if self.layout.ball_names:
            raise UserError(f"{asked_by} knows hinges and slides, not the ball joint '{self.layout.ball_names[0]}'")

    def _free_root(self) -> tuple[int, int]:
        """First position and first velocity of the free root."""
        if self.layout.free_qpos is None or self.layout.free_qvel is None:
            raise UserError(f"'{self.name}' has a fixed base: its root cannot be moved")
        return self.layout.free_qpos, self.layout.free_qvel


def index_of(ids: Sequence[int] | np.ndarray, device: str) -> slice | Tensor:
    """An index for these columns: a slice where they are consecutive, because slicing copies nothing."""
    if len(ids) and list(ids) == list(range(ids[0], ids[0] + len(ids))):
        return slice(int(ids[0]), int(ids[0]) + len(ids))
    return torch.tensor(np.asarray(ids, dtype=np.int64), device=device)
