"""MuJoCo Warp: `mujoco_warp`, each kernel over all worlds, on CUDA or on one thread of the CPU.

The compiled `MjModel` goes in as it is, so names and order are MuJoCo's own; arithmetic is in 32 bits. State, controls
and model arrays are warp arrays that torch sees without a copy. Every world has model arrays of its own from the start:
one physics step is captured as a graph when the engine is built, and a graph goes on with the arrays it has seen.

Results have the same bits from run to run: a CPU kernel runs on one thread, and on CUDA `mujoco_warp` is told to put
contacts, constraints and sums in order. There everything runs on torch's current stream.

Contacts and constraint rows have a fixed capacity (see `_capacity`). A world that needs more has failed.
"""

import copy
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

import mujoco
import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.tensors import restore
from genelab.engines.base import Engine
from genelab.engines.capabilities import CAPABILITIES, Capabilities
from genelab.engines.description import OPTIONS, Description, describe_model
from genelab.engines.fields import MODEL_FIELDS, arrays_of
from genelab.scene.scene import Scene

_STATE = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "ctrl")
"""What a world remembers from one physics step to the next."""
_OUTPUTS = ("actuator_force", "sensordata")
_FIELD_ARRAYS = arrays_of(CAPABILITIES["mjwarp"].model_fields)
_CONSTANTS = ("body_subtreemass", "body_invweight0", "dof_invweight0", "tendon_invweight0", "actuator_acc0")
"""Model arrays that follow from masses and inertias."""
_OPTIONS = {"timestep", "wind", *OPTIONS} - {"impratio", "jacobian", "wind_x", "wind_y", "wind_z"}
_DESCRIBED = ("jnt_limited", "jnt_range", "actuator_forcelimited", "actuator_forcerange")
_MAX_CONTACTS = 128
"""Contacts per world that memory is kept for, where the collision pairs could have more."""
_OVERFLOWS = mjw.OverflowType.ALL & ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
"""Overflows that lose something. An iteration limit does not: MuJoCo has the same and goes on."""
_RAYS: Any = mjw.rays  # type checkers misread warp's annotations
_ANY_GROUP = wp.types.vector(length=6, dtype=float)(-1)


class MjwarpEngine(Engine):
    """MuJoCo Warp on CUDA or CPU. `threads` is an upper bound: on the CPU, warp uses one."""

    name: ClassVar[str] = "mjwarp"
    capabilities: ClassVar[Capabilities] = CAPABILITIES["mjwarp"]

    def __init__(self, scene: Scene, num_envs: int, *, device: str = "cpu", threads: int = 0):
        super().__init__(scene, num_envs, device)
        self._device = wp.get_device(device)
        with self._warp():
            self._build()
            self._arrays = {name: wp.to_torch(getattr(self._data, name)) for name in (*_STATE, *_OUTPUTS)}
            for name in (*_FIELD_ARRAYS, *_CONSTANTS):
                self._arrays[name] = wp.to_torch(attrgetter(name)(self._model))
            self._overflow = wp.to_torch(self._data.overflow)
            self.qpos, self.qvel, self.ctrl = (self._arrays[name] for name in ("qpos", "qvel", "ctrl"))
            self.qpos[:] = self.default_qpos
            self._default = {name: values[0].clone() for name, values in self._arrays.items()}
            self.failed = torch.zeros(num_envs, dtype=torch.bool, device=device)
            mjw.step(self._model, self._data)  # compiles and loads the kernels, which a capture could not do
        # One physics step as a graph, which spares Python the launch of about a hundred kernels for each.
        wp.synchronize_device(self._device)
        with wp.ScopedDevice(self._device), wp.ScopedCapture() as capture:
            mjw.step(self._model, self._data)
        assert capture.graph is not None
        self._graph = capture.graph
        self._put_back(torch.ones_like(self.failed))

    def step(self, n: int = 1) -> None:
        torch.logical_not(self._usable(), out=self.failed)
        stream = self._torch_stream()
        for _ in range(n):
            wp.capture_launch(self._graph, stream=stream)
        overflowed = (self._overflow & int(_OVERFLOWS)) != 0
        self.failed |= ~self._usable() | overflowed
        if self.failed.any():
            if overflowed.any():
                self._report(overflowed)
            self._put_back(self.failed)
        self._stepped()

    def reset(self, env_ids: Tensor) -> None:
        self._set_default(env_ids, *_STATE)
        self._state_changed(env_ids)

    def set_state(self, env_ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        self.qpos[env_ids], self.qvel[env_ids] = qpos, qvel
        self._state_changed(env_ids)

    def _read_model_field(self, name: str) -> Tensor:
        array, column, sign = MODEL_FIELDS[name].arrays[0]
        return self._arrays[array][column] * sign

    def _write_model_field(self, name: str, env_ids: Tensor, values: Tensor) -> None:
        field = MODEL_FIELDS[name]
        for array, column, sign in field.arrays:
            rows = self._arrays[array][env_ids]
            rows[column] = values * sign
            self._arrays[array][env_ids] = rows
        if field.derives_constants:
            self._derive_constants(env_ids)

    @property
    def actuator_force(self) -> Tensor:
        return self._arrays["actuator_force"].clone()

    def _sensordata(self) -> Tensor:
        return self._arrays["sensordata"]

    def _sense(self, env_ids: Tensor) -> Tensor:
        # Forward computations run over all worlds and write the warm start and the outputs, which belong to the step.
        before = {name: self._arrays[name].clone() for name in (*_STATE, *_OUTPUTS)}
        with self._warp():
            mjw.forward(self._model, self._data)
        sensed = self._arrays["sensordata"][env_ids].clone()
        for name, values in before.items():
            self._arrays[name].copy_(values)
        return sensed

    def ray(self, origins: Tensor, directions: Tensor, exclude_body: int = -1) -> Tensor:
        shape = (self.num_envs, origins.shape[1])
        with self._warp():
            mjw.kinematics(self._model, self._data)  # after a step, geoms are where they were at its start
            start, along = (wp.from_torch(v.float().contiguous(), wp.vec3) for v in (origins, directions))
            kinds: tuple[Any, ...] = (float, int, wp.vec3)
            distance, geom, normal = (wp.empty(shape, kind) for kind in kinds)
            ignored = wp.full(shape[1], exclude_body, dtype=int)
            _RAYS(self._model, self._data, start, along, _ANY_GROUP, True, ignored, distance, geom, normal)
        return wp.to_torch(distance)

    def describe(self) -> Description:
        model = copy.deepcopy(self.model)
        for name in _OPTIONS:
            value = getattr(self._model.opt, name)
            setattr(model.opt, name, value.numpy()[0] if isinstance(value, wp.array) else int(value))
        model.opt.impratio = float(self._model.opt.impratio_invsqrt.numpy()[0]) ** -2
        for name in (*_FIELD_ARRAYS, *_DESCRIBED):
            target, values = attrgetter(name)(model), wp.to_torch(attrgetter(name)(self._model)).cpu().numpy()
            target[...] = values[0] if values.ndim > target.ndim else values
        return describe_model(model)

    def state_dict(self) -> dict[str, Any]:
        # What all worlds have as they had it in the beginning is left out: most of the model, as a rule.
        arrays = self._arrays.items()
        changed = [name for name, values in arrays if not torch.equal(values, self._default[name].expand_as(values))]
        return {name: self._arrays[name].cpu().clone() for name in changed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, values in self._arrays.items():
            if name in state:
                restore(values, state, name)
            else:
                values.copy_(self._default[name])
        self._state_changed(torch.arange(self.num_envs, device=self.device))

    def _build(self) -> None:
        """Hand the compiled scene to mujoco_warp, with model arrays of its own for every world."""
        own = [name for name in (*_FIELD_ARRAYS, *_CONSTANTS) if not name.startswith("opt.")]
        try:
            self._model = mjw.put_model(self.model, dict.fromkeys(own, self.num_envs))
            _refuse_wrong_contacts(self._model, self.model)
            contacts, rows = _capacity(self._model)
            self._data = mjw.make_data(self.model, nworld=self.num_envs, nconmax=contacts, njmax=rows)
        except (NotImplementedError, ValueError) as error:
            raise UserError(f"engine '{self.name}' cannot simulate this scene: {error}") from error
        self._model.opt.gravity = wp.array(np.tile(self.model.opt.gravity, (self.num_envs, 1)), dtype=wp.vec3)
        self._model.opt.warn_overflow = 0  # seen in `step` instead of printed from the kernel
        self._model.opt.deterministic = self._device.is_cuda
        self._model.opt.graph_conditional = self._device.is_cpu or wp.is_conditional_graph_supported()

    def _derive_constants(self, env_ids: Tensor) -> None:
        """Refresh what follows from the masses of these worlds; others keep their bits."""
        before = {name: self._arrays[name].clone() for name in _CONSTANTS}
        with self._warp():
            groups = mjw.SetConstGroup.FIXED | mjw.SetConstGroup.INERT0
            mjw.set_const(self._model, self._data, groups, restore=False)  # `step` computes all derived arrays anew
        for name, old in before.items():
            old[env_ids] = self._arrays[name][env_ids]
            self._arrays[name].copy_(old)

    def _put_back(self, worlds: Tensor) -> None:
        """Default state and no outputs for these worlds. `ctrl` stays: it belongs to whoever writes it."""
        self._set_default(worlds, *(name for name in _STATE if name != "ctrl"), *_OUTPUTS)
        self._overflow[worlds] = 0

    def _set_default(self, worlds: Tensor, *names: str) -> None:
        for name in names:
            self._arrays[name][worlds] = self._default[name]

    def _report(self, overflowed: Tensor) -> None:
        kinds = mjw.OverflowType(int(np.bitwise_or.reduce(self._overflow[overflowed].cpu().numpy())))
        room = f"{self._data.naconmax // self.num_envs} contacts and {self._data.njmax} constraint rows per world"
        _say_once(f"worlds failed because they need more than the {room} there is memory for ({kinds.name})")

    def _torch_stream(self) -> wp.Stream | None:
        return wp.stream_from_torch(torch.cuda.current_stream(self.device)) if self._device.is_cuda else None

    @contextmanager
    def _warp(self) -> Iterator[None]:
        """Warp calls that allocate on this engine's device and may compile kernels, in order with torch's calls."""
        # What is in warp's cache loads in a moment; only compiling takes longer.
        timer = threading.Timer(3.0, _say_once, ["compiling kernels (about a minute the first time)…"])
        timer.start()
        try:
            # warp leaves the device of the tensors it hands out to torch's default
            with torch.device(self.device), wp.ScopedDevice(self._device), wp.ScopedStream(self._torch_stream()):
                yield
        finally:
            timer.cancel()


def _refuse_wrong_contacts(model: mjw.Model, compiled: mujoco.MjModel) -> None:
    """An error that names the shapes that would fall through height fields (docs/upstream/mujoco_warp_hfield.py)."""
    carried = CAPABILITIES["mjwarp"].on_height_fields
    right = [mjw.GeomType.HFIELD, *(mjw.GeomType[shape.upper()] for shape in carried)]
    pairs, kinds = model.nxn_geom_pair_filtered.numpy(), model.geom_type.numpy()
    pairs = pairs[(kinds[pairs] == mjw.GeomType.HFIELD).any(axis=1)]
    if names := sorted({compiled.geom(i).name or f"geom {i}" for i in pairs.flat if kinds[i] not in right}):
        raise UserError(
            "engine 'mjwarp' cannot simulate this scene: on height fields it finds wrong contacts of "
            f"{', '.join(names)}, as it does of all shapes but {' and '.join(carried)}"
        )


def _capacity(model: mjw.Model) -> tuple[int, int]:
    """Contacts and constraint rows per world: what the scene can need at most, as far as that is reasonable."""
    shapes = model.geom_type.numpy()[model.nxn_geom_pair_filtered.numpy()]  # (pairs, 2)
    simple = [(shapes == shape).any(axis=1) for shape in (mjw.GeomType.SPHERE, mjw.GeomType.CAPSULE)]
    endless = np.isin(shapes, (mjw.GeomType.HFIELD, mjw.GeomType.MESH, mjw.GeomType.SDF)).any(axis=1)
    per_pair = np.select([endless, *simple], [_MAX_CONTACTS, 1, 2], default=8)
    contacts = min(int(per_pair.sum()), _MAX_CONTACTS)
    pyramidal = model.opt.cone == mjw.ConeType.PYRAMIDAL
    rows = contacts * int(model.nmaxpyramid if pyramidal else model.nmaxcondim)
    return contacts, rows + model.nv + model.njnt + 2 * model.ntendon + 6 * model.neq


@cache
def _say_once(message: str) -> None:
    print(f"mjwarp: {message}", file=sys.stderr, flush=True)


def _start_warp() -> None:
    """Initialise warp without its banner and its notes on every kernel."""
    wp.config.log_level = wp.LOG_WARNING
    # Warp's C library also says on stderr if there is no CUDA driver, and has no setting for that.
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        wp.init()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


_start_warp()
