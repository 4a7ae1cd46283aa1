"""The engine contract: `num_envs` copies of one compiled scene, advanced together.

All arrays are float32 torch tensors with worlds first, in the order of the compiled `MjModel`.

What is live and what is a copy
-------------------------------
- `qpos`, `qvel`: live buffers of the engine. They are current after `step`, `reset` and `set_state`, and are
  overwritten in place by the next of these. Read them; write through `set_state`. Clone what must survive a step.
- `ctrl`: a live buffer to write to. `step` applies what it holds at the call, for all its physics steps.
- `body_pos`, `body_quat`, `body_lin_vel`, `body_ang_vel`: computed from the state when first read after it changed, new
  tensors each time, never behind the state.
- `derived(…)`: the same for what readers compute from the state, such as an entity's velocity in its own frame.
- `actuator_force`, `contact(…)`: copies, as of the last physics step. `set_state` and `reset` do not change them.
- `model_sensor(…)`: a copy, as of the last physics step; of the present state in worlds where it was set since.
- `failed`: which worlds broke down in the last `step`. The engine has put them back to the default state.
- `jacobian(…)`: computed from the present state at each call, a new tensor.
- `model_field(…)`: a copy; write through `set_model_field`.
- `markers`: not physics. Whoever puts a tensor in keeps it and may change it in place; renderers read it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

import mujoco
import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError, lookup, require_known
from genelab.engines.capabilities import Capabilities
from genelab.engines.description import Description
from genelab.engines.fields import MODEL_FIELDS
from genelab.engines.kinematics import Bodies, Kinematics
from genelab.engines.pictures import Mark, Painter
from genelab.scene.scene import Scene

Value = TypeVar("Value")


class Engine(ABC):
    """See the module docstring for what each array means and when it is current."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    qpos: Tensor
    """(N, nq) MuJoCo layout; free joint: xyz + wxyz."""
    qvel: Tensor
    """(N, nv) free joint: linear velocity in the world frame, angular velocity in the body frame."""
    ctrl: Tensor
    """(N, nu) in actuator order."""
    failed: Tensor
    """(N,) bool."""

    def __init__(self, scene: Scene, num_envs: int, device: str):
        if device.split(":")[0] not in self.capabilities.devices:
            raise UserError(f"engine '{self.name}' runs on {', '.join(self.capabilities.devices)}, not on {device}")
        if scene.model.nq == 0:
            raise UserError("nothing in the scene can move: it has no joints")
        self.scene, self.model = scene, scene.model
        self.num_envs, self.device = num_envs, device
        self.dt = float(scene.model.opt.timestep)
        self.default_qpos = self.floats(scene.default_qpos)
        self.markers: dict[int, Tensor] = {}
        """Site id to (N, 3) positions, world frame, for sites that pictures show elsewhere than the model has them."""
        self._state_set = torch.ones(num_envs, dtype=torch.bool, device=device)
        """(N,) worlds whose state was set since the last step, so that sensors have not seen it."""
        self._kinematics = Kinematics(scene.model, device)
        self._derived: dict[str, Any] = {}
        self._painters: dict[tuple[int, int], Painter] = {}

    @abstractmethod
    def step(self, n: int = 1) -> None:
        """Hold `ctrl` and advance every world by `n` physics steps of `dt`."""

    @abstractmethod
    def reset(self, env_ids: Tensor) -> None:
        """Put these worlds into the scene's default pose, at rest, with nothing remembered."""

    @abstractmethod
    def set_state(self, env_ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        """Overwrite the state of these worlds, and of no others."""

    def model_field(self, name: str) -> Tensor:
        """The values of a model field in every world."""
        self._check_field(name)
        return self._read_model_field(name)

    @abstractmethod
    def _read_model_field(self, name: str) -> Tensor:
        """`model_field` of one that this engine has."""

    def set_model_field(self, name: str, env_ids: Tensor, values: Tensor) -> None:
        """Give these worlds, each named once, their own values of a model field: one row per world."""
        self._check_field(name)
        worlds = len(torch.unique(env_ids))
        if not values.shape[0] == len(env_ids) == worlds:
            raise UserError(f"model field '{name}': {values.shape[0]} rows for {worlds} different worlds")
        self._write_model_field(name, env_ids, values)

    @abstractmethod
    def _write_model_field(self, name: str, env_ids: Tensor, values: Tensor) -> None:
        """`set_model_field` with arguments that have been checked."""

    @property
    @abstractmethod
    def actuator_force(self) -> Tensor:
        """(N, nu) force or torque of each actuator."""

    def contact(self, sensor: str) -> Tensor:
        """(N, S, 3) net contact force on each side of a contact sensor, world frame, newtons."""
        require_known("contact sensor", sensor, self.scene.contact_columns)
        return self._contact(sensor)

    def _contact(self, sensor: str) -> Tensor:
        # MuJoCo reports the force that the sensor's side exerts; the contract asks for the force on it.
        return -self._sensordata()[:, self.scene.contact_columns[sensor]].float().unflatten(1, (-1, 3))

    def model_sensor(self, name: str) -> Tensor:
        """(N, d) a sensor of a model, such as an IMU's gyro, by its name in the compiled scene: ``robot/gyro``."""
        self.require("model_sensors", f"sensor '{name}'")
        columns = lookup("sensor", name, self.scene.model_sensors)
        return self.derived("engine/sensors", self._all_sensors)[:, columns].clone()

    def _all_sensors(self) -> Tensor:
        values = self._sensordata().to(torch.float32, copy=True)
        worlds = self._state_set.nonzero().flatten()
        if len(worlds):
            values[worlds] = self._sense(worlds)
        return values

    def _sensordata(self) -> Tensor:
        """(N, nsensordata) all sensors as of the last physics step, in the engine's own array."""
        raise NotImplementedError

    def _sense(self, env_ids: Tensor) -> Tensor:
        """(len(env_ids), nsensordata) all sensors in the present state of these worlds. Changes nothing else."""
        raise NotImplementedError

    def ray(self, origins: Tensor, directions: Tensor, exclude_body: int = -1) -> Tensor:
        """Distance along rays to the first geom, but for body `exclude_body`, or -1.  (N, R, 3), (N, R, 3) -> (N, R)"""
        self.require("rays", "the ray query")
        raise NotImplementedError

    def jacobian(self, body: int) -> Tensor:
        """Velocity of a body's origin, then angular velocity, of each degree of freedom, world frame.  (N, 6, nv)"""
        n, nv = self.num_envs, self.model.nv
        # Velocities are linear in qvel, so each unit vector of qvel gives one column.
        units = torch.eye(nv, device=self.device).repeat(n, 1)
        moved = self._kinematics(self.qpos.repeat_interleave(nv, dim=0), units)
        columns = torch.cat((moved.lin_vel[:, body], moved.ang_vel[:, body]), dim=-1)
        return columns.view(n, nv, 6).transpose(1, 2)

    @abstractmethod
    def describe(self) -> Description:
        """The physical parameters of world 0, read back from the engine."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue: states, controls and per-world model fields."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None: ...

    def world_data(self, env_id: int, data: mujoco.MjData | None = None) -> mujoco.MjData:
        """One world as data of the scene's `drawn` model with poses computed: what viewers and renderers show."""
        world: Any = mujoco.MjData(self.scene.drawn) if data is None else data
        world.qpos[:], world.qvel[:] = self.qpos[env_id].cpu().numpy(), self.qvel[env_id].cpu().numpy()
        world.ctrl[:] = self.ctrl[env_id].cpu().numpy()
        mujoco.mj_forward(self.scene.drawn, world)
        for site, pos in self.markers.items():
            world.site_xpos[site] = pos[env_id].cpu().numpy()
        return world

    def render(
        self, env_id: int, camera: str | None = None, width: int = 640, height: int = 480, marks: Iterable[Mark] = ()
    ) -> np.ndarray:
        """One RGB frame of one world, (height, width, 3) uint8, by MuJoCo's renderer whichever engine simulates."""
        if (width, height) not in self._painters:
            self._painters[width, height] = Painter(self.scene.drawn, width, height)
        return self._painters[width, height].paint(self.world_data(env_id), camera, marks)

    def close(self) -> None:
        """Free what the engine holds outside Python's memory."""
        for painter in self._painters.values():
            painter.close()
        self._painters.clear()

    @property
    def body_pos(self) -> Tensor:
        """(N, nbody, 3) world frame, at the body origin."""
        return self._all_bodies().pos

    @property
    def body_quat(self) -> Tensor:
        """(N, nbody, 4) wxyz."""
        return self._all_bodies().quat

    @property
    def body_lin_vel(self) -> Tensor:
        """(N, nbody, 3) world frame, of the body origin."""
        return self._all_bodies().lin_vel

    @property
    def body_ang_vel(self) -> Tensor:
        """(N, nbody, 3) world frame."""
        if "engine/bodies" not in self._derived:
            self.derived("engine/ang_vel", lambda: self._kinematics.angular_velocity(self.qvel))
        alone = self._derived.get("engine/ang_vel")
        return self._all_bodies().ang_vel if alone is None else alone

    def require(self, capability: str, asked_by: str) -> None:
        """Raise unless this engine has `capability` (a flag of `Capabilities`, or a model field)."""
        if capability not in self.capabilities.model_fields and not getattr(self.capabilities, capability, False):
            raise UserError(f"engine '{self.name}' cannot do '{capability}', which {asked_by} needs")

    def _check_field(self, name: str) -> None:
        require_known("model field", name, MODEL_FIELDS)
        self.require(name, "the caller")

    def derived(self, name: str, compute: Callable[[], Value]) -> Value:
        """What follows from the state, computed when first asked for after it changed. Not to be written to."""
        if name not in self._derived:
            self._derived[name] = compute()
        return self._derived[name]

    def floats(self, values: Any) -> Tensor:
        """Numbers as a new tensor on the engine's device."""
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    def _all_bodies(self) -> Bodies:
        return self.derived("engine/bodies", lambda: self._kinematics(self.qpos, self.qvel))

    def _usable(self) -> Tensor:
        """(N,) whether all numbers that go into a step are finite and, as MuJoCo asks of them, of sensible size."""
        return torch.cat((self.qpos, self.qvel, self.ctrl), dim=1).abs().lt(1e10).all(dim=1)

    def _stepped(self) -> None:
        """Forget what was derived from the state before a step."""
        self._derived.clear()
        self._state_set.copy_(self.failed)

    def _state_changed(self, env_ids: Tensor) -> None:
        """Forget what was derived from the state of these worlds before it was set."""
        self._derived.clear()
        self._state_set.index_fill_(0, env_ids, True)
