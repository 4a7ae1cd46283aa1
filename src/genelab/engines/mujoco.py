"""The default engine: `mujoco.batch.Batch`, all worlds in one C++ call on a thread pool.

Worlds are rows of a float64 state array; the float32 tensors of the contract are filled from it after each call.
Results do not depend on the number of threads.
"""

import copy
import logging
from operator import attrgetter
from typing import Any, ClassVar

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch, SimulationError
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.tensors import restore
from genelab.engines.base import Engine
from genelab.engines.capabilities import CAPABILITIES, Capabilities
from genelab.engines.description import Description, describe_model
from genelab.engines.fields import MODEL_FIELDS, arrays_of
from genelab.scene.scene import Scene

_BAD_STATE = [getattr(mujoco.mjtWarning, f"mjWARN_BAD{kind}").value for kind in ("QPOS", "QVEL", "QACC", "CTRL")]

# MuJoCo would print each warning and append it to a file in the working directory; failures are counted instead.
mujoco.set_mju_user_warning(logging.getLogger("genelab.mujoco").debug)


class MujocoEngine(Engine):
    """MuJoCo on the CPU."""

    name: ClassVar[str] = "mujoco"
    capabilities: ClassVar[Capabilities] = CAPABILITIES["mujoco"]

    def __init__(self, scene: Scene, num_envs: int, *, device: str = "cpu", threads: int = 0):
        super().__init__(scene, num_envs, device)
        try:
            self._batch = Batch(_without_idle_searches(self.model), num_envs, threads)
        except ValueError as error:
            raise UserError(f"engine '{self.name}' cannot simulate this scene: {error}") from error
        self._rows = self._batch.state
        bound = map(self._batch.bind, ("qpos", "qvel", "ctrl"))
        self._qpos, self._qvel, self._ctrl = map(torch.from_numpy, bound)
        self._expanded: dict[str, np.ndarray] = {}
        self._batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._qpos[:] = torch.from_numpy(scene.default_qpos)
        self._default_row = self._rows[0].copy()
        # Stored by column: terms read single joints of all worlds, and a contiguous column is what torch is fast on.
        self.qpos = self._qpos.T.float().contiguous().T
        self.qvel = self._qvel.T.float().contiguous().T
        self.ctrl = self._ctrl.float()
        self.failed = torch.zeros(num_envs, dtype=torch.bool)
        self._outputs: dict[str, Tensor] = {}
        for name in ("sensordata", "actuator_force"):
            array = self._batch.bind(name)  # from now on, the stepper copies it out
            array.flags.writeable = True  # only to share it with torch, which has no read-only tensors
            self._outputs[name] = torch.from_numpy(array)
            array.flags.writeable = False

    def step(self, n: int = 1) -> None:
        self._ctrl.copy_(self.ctrl)
        broken = np.zeros(0, dtype=np.int64)
        try:
            self._batch.step(nstep=n)
        except SimulationError as error:
            broken = error.ids
        # MuJoCo itself puts a world with a bad state back to the model's defaults, and counts it in `warning`.
        warned = self._batch.warning[:, _BAD_STATE, 1]
        self.failed.zero_()
        if warned.any() or broken.size:
            broken = np.union1d(broken, np.flatnonzero(warned.any(axis=1)))
            self._batch.warning[broken] = 0
            self._rows[broken] = self._default_row
            self.failed[torch.from_numpy(broken)] = True
        self._refresh()
        self._stepped()

    def reset(self, env_ids: Tensor) -> None:
        self._rows[env_ids.numpy()] = self._default_row
        self.qpos[env_ids] = self.default_qpos
        self.qvel.index_fill_(0, env_ids, 0.0)
        self.ctrl.index_fill_(0, env_ids, 0.0)
        self._state_changed(env_ids)

    def set_state(self, env_ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        self._qpos[env_ids], self._qvel[env_ids] = qpos.double(), qvel.double()
        self.qpos[env_ids], self.qvel[env_ids] = qpos, qvel
        self._state_changed(env_ids)

    def _read_model_field(self, name: str) -> Tensor:
        array, column, sign = MODEL_FIELDS[name].arrays[0]
        shared = self._shared(array)
        values = self._expanded.get(array, np.broadcast_to(shared, (self.num_envs, *shared.shape)))
        return torch.tensor(values[column] * sign, dtype=torch.float32)

    def _write_model_field(self, name: str, env_ids: Tensor, values: Tensor) -> None:
        field, ids = MODEL_FIELDS[name], env_ids.numpy()
        for array, column, sign in field.arrays:
            if array not in self._expanded:
                self._expanded[array] = self._batch.expand(array)
            rows = self._expanded[array][ids]
            rows[column] = values.double().numpy() * sign
            self._expanded[array][ids] = rows
        if field.derives_constants:
            self._batch.set_const(np.sort(ids).astype(np.int32))

    @property
    def actuator_force(self) -> Tensor:
        return self._outputs["actuator_force"].float()

    def _sensordata(self) -> Tensor:
        return self._outputs["sensordata"]

    def _sense(self, env_ids: Tensor) -> Tensor:
        # Forward computations write the warm start of the solver and the outputs, which belong to the last step.
        ids = env_ids.numpy().astype(np.int32)
        rows, outputs = self._rows[ids].copy(), {name: values.clone() for name, values in self._outputs.items()}
        self._batch.forward(ids)
        sensed = self._sensordata()[env_ids].float()
        self._rows[ids] = rows
        for name, values in outputs.items():
            self._outputs[name].copy_(values)
        return sensed

    def ray(self, origins: Tensor, directions: Tensor, exclude_body: int = -1) -> Tensor:
        rays = origins.double().numpy(), directions.double().numpy()
        distance, _ = self._batch.ray(*rays, bodyexclude=exclude_body)
        return torch.from_numpy(distance).float()

    def jacobian(self, body: int) -> Tensor:
        linear, angular = self._batch.jac(body, self.body_pos[:, body].double().numpy())
        return torch.from_numpy(np.concatenate((linear, angular), axis=1)).float()

    def describe(self) -> Description:
        simulated = self._batch.get_model(0)
        simulated.opt.disableflags = self.model.opt.disableflags  # without searches: how it computes, not what
        return describe_model(simulated)

    def state_dict(self) -> dict[str, Any]:
        return {
            "rows": torch.from_numpy(self._rows.copy()),
            "ctrl": self.ctrl.clone(),
            "model_fields": {name: torch.from_numpy(values.copy()) for name, values in self._expanded.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        fields = state["model_fields"]
        for name in {*fields, *self._expanded}:
            if name not in arrays_of(MODEL_FIELDS):
                raise UserError(f"'{name}' is no array of a model field")
            if name not in self._expanded:
                self._expanded[name] = self._batch.expand(name)
            if name in fields:
                restore(torch.from_numpy(self._expanded[name]), fields, name)
            else:
                self._expanded[name][:] = self._shared(name)
        if self._expanded:
            self._batch.set_const()
        restore(torch.from_numpy(self._rows), state, "rows")
        self._refresh()
        self._state_changed(torch.arange(self.num_envs))
        restore(self.ctrl, state, "ctrl")

    def _shared(self, array: str) -> np.ndarray:
        """The value of a model array in worlds that have none of their own."""
        return np.asarray(attrgetter(array)(self.model))

    def _refresh(self) -> None:
        self.qpos.copy_(self._qpos)
        self.qvel.copy_(self._qvel)


def _without_idle_searches(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model without searches that find nothing, which changes no bit.

    Bodies of one tree are one island of contacts: to look for more takes 4 to 6 % of a step. One shape touches nothing:
    to look for contacts takes 6 to 9 % of a pendulum's step.
    """
    model, skip = copy.copy(model), mujoco.mjtDisableBit
    if model.ntree == 1:
        model.opt.disableflags |= skip.mjDSBL_ISLAND.value
    if model.ngeom < 2 and not model.nflex:
        model.opt.disableflags |= skip.mjDSBL_CONTACT.value
    return model
