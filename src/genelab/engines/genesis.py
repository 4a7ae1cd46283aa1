"""Genesis: `genesis-world`, each kernel over all worlds, on the CPU (one thread) or on CUDA.

It runs in Genesis's MuJoCo compatibility mode, where it follows MuJoCo to about 1e-6 a second, also in contact. It uses
32 bits, which take half the memory traffic of 64 and which GPUs are fast in. After the build, all that `describe` knows
is read back from Genesis and compared with the compiled model; a difference is an error.

The first build compiles kernels for a minute or two. They fit every scene and number of worlds, so further engines of
one process build in a second or less. Genesis writes them to its cache on disk when the process ends (not when it is
killed); from there the next process has them in seconds.

The arrays of the contract are filled from arrays of Genesis, which torch sees without a copy, in Genesis's order. All
that one physics step leaves for the next (`_memory`) is put back to its start when a world is reset or its state set.
"""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.tensors import restore
from genelab.engines.base import Engine
from genelab.engines.capabilities import CAPABILITIES, Capabilities
from genelab.engines.description import OPTIONS, Description, describe_model, differences, part_names
from genelab.engines.fields import nominal
from genelab.engines.genesis_scene import POSITION_CONTROL, arrays, load_scene, no_traces, option_values, view
from genelab.scene.scene import Scene

_LINK_FIELDS = {
    "body_mass": ("inertial_mass", "set_links_mass"),
    "body_com": ("inertial_pos", "set_links_COM"),
    "body_inertia": ("inertial_i", "set_links_inertia"),
}
_DOF_FIELDS = {"joint_damping": "damping", "joint_armature": "armature", "joint_friction": "frictionloss"}


class GenesisEngine(Engine):
    """Genesis on CPU or CUDA. `threads` is an upper bound: on the CPU, Genesis uses one."""

    name: ClassVar[str] = "genesis"
    capabilities: ClassVar[Capabilities] = CAPABILITIES["genesis"]

    def __init__(self, scene: Scene, num_envs: int, *, device: str = "cpu", threads: int = 0):
        super().__init__(scene, num_envs, device)
        with no_traces():
            self._loaded = load_scene(self.model, num_envs, device)
            self._solver = self._loaded.solver
            self._friction = self.floats(self.model.geom_friction).repeat(num_envs, 1, 1)
            self._set_actuators()
            self._sides = {name: self._sensor_sides(name) for name in scene.contact_sensors}
            if changed := differences(describe_model(self.model), self.describe()):
                raise UserError(f"engine '{self.name}' cannot simulate this scene: it changes {', '.join(changed)}")
            self._prepare_state()

    def step(self, n: int = 1) -> None:
        torch.logical_not(self._usable(), out=self.failed)
        if self.failed.any():
            self._put_back(self.failed)
        self._target[:, self._act_dofs] = self.ctrl if self._ctrl_range is None else self.ctrl.clamp(*self._ctrl_range)
        if self.failed.any():
            self._target[self.failed] = 0.0
        for _ in range(n):
            self._solver.substep(0)
        self._refresh()
        # An error is NaN inside a step, or more contacts than there is memory for.
        self.failed |= (self._errno != 0) | ~self._usable()
        if self.failed.any():
            self._put_back(self.failed)
            self._refresh()
        self._stepped()

    def reset(self, env_ids: Tensor) -> None:
        self._put_back(env_ids)
        self.qpos[env_ids], self.qvel[env_ids], self.ctrl[env_ids] = self.default_qpos, 0.0, 0.0
        self._state_changed(env_ids)

    def set_state(self, env_ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        self._put_back(env_ids)
        self.qpos[env_ids], self.qvel[env_ids] = qpos, qvel
        self._gs_qpos[env_ids[:, None], self._loaded.q], self._gs_qvel[env_ids[:, None], self._loaded.dofs] = qpos, qvel
        self._state_changed(env_ids)

    def _read_model_field(self, name: str) -> Tensor:
        if name in _LINK_FIELDS:
            return self._link_values(name)
        if name in _DOF_FIELDS:
            return view(getattr(self._solver.dyn_info.dofs, _DOF_FIELDS[name]))[:, self._loaded.dofs]
        if name == "actuator_kp":
            return view(self._solver.dyn_info.dofs.act_gain)[:, self._act_dofs] / self._gear
        if name == "actuator_kd":
            return -view(self._solver.dyn_info.dofs.act_bias)[:, self._act_dofs, 2] / self._gear**2
        return (self._friction if name == "geom_friction" else self._solver.get_gravity()).clone()

    def _write_model_field(self, name: str, env_ids: Tensor, values: Tensor) -> None:
        with no_traces():
            if name in _LINK_FIELDS:
                values = torch.diag_embed(values) if name == "body_inertia" else values
                movable = self._loaded.movable
                values, ids = values[:, movable].contiguous(), self._loaded.links[movable].tolist()
                getattr(self._solver, _LINK_FIELDS[name][1])(values, ids, env_ids)
            elif name in _DOF_FIELDS:
                getattr(self._solver, f"set_dofs_{_DOF_FIELDS[name]}")(values, self._loaded.dofs.tolist(), env_ids)
            elif name in ("actuator_kp", "actuator_kd"):
                self._set_gains(name, env_ids, values)
            elif name == "geom_friction":
                self._set_friction(env_ids, values)
            else:
                self._solver.set_gravity(values, env_ids)

    @property
    def actuator_force(self) -> Tensor:
        return self._applied[:, self._act_dofs] / self._gear

    def _contact(self, sensor: str) -> Tensor:
        sides, other = self._sides[sensor]
        contacts = self._solver.collider.get_contacts()
        a, b = contacts["geom_a"].long(), contacts["geom_b"].long()  # -1, the masks' last entry, where there is none
        signs = [side[b] * other[a] - side[a] * other[b] for side in sides]  # Genesis gives the force on b
        return torch.stack([(sign.unsqueeze(-1) * contacts["force"]).sum(dim=1) for sign in signs], dim=1)

    def describe(self) -> Description:
        parts, dofs = self._loaded, self._solver.dyn_info.dofs
        values: dict[str, Any] = {name: _numpy(self.model_field(name)[0]) for name in self.capabilities.model_fields}
        fixed = ~parts.movable.cpu().numpy()
        inertia = view(self._solver.dyn_info.links.inertial_i)[0, parts.links]
        values["body_inertia"] = np.linalg.eigvalsh(_numpy(inertia))
        for name in _LINK_FIELDS:
            values[name][fixed] = np.nan
        values["geom_friction"] = np.full(self.model.ngeom, np.nan)
        friction = view(self._solver.dyn_info.geoms.friction) * view(self._solver.dyn_state.geoms.friction_ratio)[0]
        values["geom_friction"][parts.solid.cpu().numpy()] = _numpy(friction[parts.geoms])
        force_range = view(dofs.force_range)[0, self._act_dofs] / self._gear[:, None]
        return Description(
            **part_names(self.model),  # which `load_scene` has found in Genesis
            option_names=OPTIONS,
            option_value=option_values(self._solver),
            dt=float(self._solver.substep_dt),
            joint_range=_numpy(view(dofs.limit)[0, parts.dofs[self.model.jnt_dofadr]]),
            actuator_force_range=np.sort(_numpy(force_range), axis=1),
            **values,
        )

    def state_dict(self) -> dict[str, Any]:
        arrays = {name: array.cpu().clone() for name, array in self._arrays.items()}
        return {"arrays": arrays, "ctrl": self.ctrl.cpu().clone(), "friction": self._friction.cpu().clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, array in self._arrays.items():
            restore(array, state["arrays"], name)
        restore(self.ctrl, state, "ctrl")
        restore(self._friction, state, "friction")
        self._refresh()
        self._state_changed(torch.arange(self.num_envs, device=self.device))

    def _set_actuators(self) -> None:
        """Every actuator as force = gain ctrl + bias, Genesis's law per degree of freedom, from a joint's reference."""
        model, dofs = self.model, self._solver.dyn_info.dofs
        joint = model.actuator_trnid[:, 0]
        self._act_dofs = self._loaded.dofs[model.jnt_dofadr[joint]]
        self._gear = self.floats(model.actuator_gear[:, 0])
        self._reference = self.floats(model.qpos0[model.jnt_qposadr[joint]])
        self._offset = self.floats(model.actuator_biasprm[:, 0]) * self._gear
        bias = self.floats(model.actuator_biasprm[:, :3]) * self._gear[:, None] ** 2
        bias[:, 0] = self._offset + bias[:, 1] * self._reference
        view(dofs.act_gain)[:, self._act_dofs] = self.floats(model.actuator_gainprm[:, 0]) * self._gear
        view(dofs.act_bias)[:, self._act_dofs] = bias
        endless = np.where(model.actuator_forcelimited[:, None], model.actuator_forcerange, [-np.inf, np.inf])
        force_range = np.sort(endless * model.actuator_gear[:, :1], axis=1)
        view(dofs.force_range)[:, self._act_dofs] = self.floats(force_range)
        limited = model.actuator_ctrllimited.astype(bool)
        endless = np.where(limited[:, None], model.actuator_ctrlrange, [-np.inf, np.inf])
        self._ctrl_range = (self.floats(endless[:, 0]), self.floats(endless[:, 1])) if limited.any() else None

    def _prepare_state(self) -> None:
        """Bind the arrays, compile what the build has not, and put every world into the default state."""
        state, info = arrays(self._solver, "STATE"), arrays(self._solver, "INFO")
        self._arrays = {**state, **info}
        dofs, worlds = self._solver.dyn_state.dofs, torch.arange(self.num_envs, device=self.device)
        self._gs_qpos, self._gs_qvel = view(self._solver.rigid_info.qpos), view(dofs.vel)
        self._target, self._applied, self._errno = view(dofs.ctrl_pos), view(dofs.qf_applied), view(self._solver._errno)
        view(dofs.ctrl_mode)[:, self._act_dofs] = POSITION_CONTROL
        self._gs_qpos[:, self._loaded.q], self._gs_qvel[:] = self.default_qpos, 0.0
        self._memory = [(array, array[0].clone()) for array in state.values()]
        # Stored by column, as Genesis does: terms read single joints of all worlds.
        self.qpos = torch.zeros(self.model.nq, self.num_envs, device=self.device).T
        self.qvel = torch.zeros(self.model.nv, self.num_envs, device=self.device).T
        self.ctrl = torch.zeros(self.num_envs, self.model.nu, device=self.device)
        self.failed = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self._put_back(worlds)
        for _ in range(2):
            self._solver.substep(0)
        self._solver.collider.clear()
        self._applied.zero_()
        self.reset(worlds)

    def _set_gains(self, name: str, env_ids: Tensor, values: Tensor) -> None:
        """Gains of the servos of some worlds. The gear counts twice in a bias: for length and for force."""
        dofs, at = self._solver.dyn_info.dofs, (env_ids[:, None], self._act_dofs)
        bias = view(dofs.act_bias)[at]
        if name == "actuator_kd":
            bias[..., 2] = -values * self._gear**2
        else:
            view(dofs.act_gain)[at] = values * self._gear
            bias[..., 1] = -values * self._gear**2
            bias[..., 0] = self._offset + bias[..., 1] * self._reference
        view(dofs.act_bias)[at] = bias

    def _set_friction(self, env_ids: Tensor, values: Tensor) -> None:
        """Genesis scales all three coefficients of a geom by one factor per world."""
        solid = self._loaded.solid
        shared, new = self.floats(self.model.geom_friction)[solid], values[:, solid]
        factor = torch.where(shared[:, :1] > 0.0, new[..., :1] / shared[:, :1], 1.0)  # none stays none
        used = self.floats(self.model.geom_condim[:, None] >= np.array([3, 4, 6]))[solid]
        if not torch.allclose(new * used, factor * shared * used, rtol=1e-4):
            raise UserError(f"engine '{self.name}' can only scale all friction coefficients of a geom together")
        self._solver.set_geoms_friction_ratio(factor[..., 0].contiguous(), self._loaded.geoms.tolist(), env_ids)
        self._friction[env_ids] = values

    def _link_values(self, name: str) -> Tensor:
        """A field of the bodies; that of a body that cannot move is the compiled model's, since Genesis has none."""
        shared, parts = nominal(self.model, name).to(self.device), self._loaded
        values = shared.repeat(self.num_envs, *[1] * shared.dim())
        own = view(getattr(self._solver.dyn_info.links, _LINK_FIELDS[name][0]))[:, parts.links[parts.movable]]
        values[:, parts.movable] = own.diagonal(dim1=-2, dim2=-1) if name == "body_inertia" else own
        return values

    def _sensor_sides(self, name: str) -> tuple[list[Tensor], Tensor]:
        """Which of Genesis's geoms each side of a contact sensor has, and which count as touched."""
        cfg = self.scene.contact_sensors[name]
        return [self._geom_mask(side, cfg.kind) for side in cfg.sides], self._geom_mask(cfg.other, cfg.other_kind)

    def _geom_mask(self, part: str, kind: str) -> Tensor:
        """Which of Genesis's geoms belong to a part (all, without a name), as 0 or 1, and a 0 at the end."""
        model = self.model
        chosen = np.ones(model.ngeom, dtype=bool)
        if kind == "geom" and part:
            chosen = np.arange(model.ngeom) == model.geom(part).id
        elif part:
            root, body = model.body(part).id, model.geom_bodyid
            chosen = body == root
            while kind == "subtree" and body.any():
                body = model.body_parentid[body]
                chosen = chosen | (body == root)
        mask = torch.zeros(self._solver.n_geoms + 1, device=self.device)
        mask[self._loaded.geoms] = self.floats(chosen)[self._loaded.solid]
        return mask

    def _put_back(self, worlds: Tensor) -> None:
        """Default state for these worlds (ids or mask), and nothing remembered: no warm starts, no errors."""
        for array, fresh in self._memory:
            array[worlds] = fresh
        self._solver._is_forward_pos_updated = self._solver._is_forward_vel_updated = False

    def _refresh(self) -> None:
        torch.index_select(self._gs_qpos, 1, self._loaded.q, out=self.qpos)
        torch.index_select(self._gs_qvel, 1, self._loaded.dofs, out=self.qvel)


def _numpy(values: Tensor) -> np.ndarray:
    return values.double().cpu().numpy()
