"""Action terms: controls of joints, and of actuators that drive something else."""

from dataclasses import dataclass
from typing import Any, Literal

import mujoco
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs.cfg import ActionTermCfg
from genelab.envs.entity import Entity, index_of
from genelab.envs.managers import ActionTerm
from genelab.envs.terms import Env, match_joints, match_names, owner_of, values_by_name

JointActionKind = Literal["position", "velocity", "effort"]

_HINGE = mujoco.mjtJoint.mjJNT_HINGE.value
_UNITS = {"position": ("m", "rad"), "velocity": ("m/s", "rad/s"), "effort": ("N", "N m")}
"""Of controls, by kind and by whether the joint turns."""


@dataclass(kw_only=True)
class JointTermCfg(ActionTermCfg):
    """What terms of joints have in common."""

    entity: str | None = None
    """Whose joints; None: the first robot's, or those of the entity that `joints` names (``arm/elbow``)."""
    joints: str | tuple[str, ...] = ".*"
    """Regular expressions over joint names."""


@dataclass(kw_only=True)
class JointActionCfg(JointTermCfg):
    """Controls of the actuators of joints: ``control = offset + scale * action``."""

    kind: JointActionKind
    """What the actuators take. An actuator of another kind is an error.

    ``position``: a target of position servos, m or rad. ``velocity``: a target of velocity servos, m/s or rad/s.
    ``effort``: the control of motors, N or N m where gain and gear are 1.
    """
    scale: float | dict[str, float] = 1.0
    """One for all joints, or by a part of their names (``{"hip": 0.5, "knee": 0.25}``), exactly one for each joint."""
    default_offset: bool = True
    """Offset position targets by the robot's default joint positions; otherwise by zero."""

    def unused_fields(self) -> dict[str, str]:
        return {} if self.kind == "position" else {"default_offset": f"an action of kind {self.kind} has no offset"}

    def build(self, name: str, env: Env) -> "JointAction":
        return JointAction(name, self, env)


@dataclass(kw_only=True)
class JointPositionActionCfg(JointActionCfg):
    """Targets for position servos: ``target = offset + scale * action``, in metres or radians."""

    kind: JointActionKind = "position"


class JointTerm(ActionTerm):
    """Base of terms that write the controls of actuators of one kind, those of the joints that their config names."""

    def __init__(self, name: str, cfg: Any, env: Env, kind: JointActionKind, dim: int | None = None):
        robot = self._robot = owner_of(env, [cfg.joints], cfg.entity)
        self._joint_ids = match_joints(cfg.joints, robot)
        self.joint_names = [robot.joint_names[j] for j in self._joint_ids]
        super().__init__(name, cfg, env, len(self._joint_ids) if dim is None else dim)
        self._joints = index_of(self._joint_ids, env.device)
        self._actuator_ids = [_actuator_of(robot, joint, kind) for joint in self.joint_names]
        self._actuators = index_of(self._actuator_ids, env.device)

    def describe(self) -> dict[str, Any]:
        scale: Any = self.cfg.scale  # type: ignore[attr-defined]
        return {**super().describe(), "entity": self._robot.name, "joints": self.joint_names, "scale": scale}


class JointAction(JointTerm):
    """Writes the controls of the actuators of the chosen joints, in joint order."""

    cfg: JointActionCfg

    def __init__(self, name: str, cfg: JointActionCfg, env: Env):
        super().__init__(name, cfg, env, cfg.kind)
        robot, joints = self._robot, self._joint_ids
        turning = {int(env.scene.model.joint(robot.layout.joint_ids[j]).type[0] == _HINGE) for j in joints}
        self.unit = " or ".join(_UNITS[cfg.kind][turns] for turns in sorted(turning, reverse=True))
        default = robot.default_joint_pos[self._joints]
        self._offset = default if cfg.kind == "position" and cfg.default_offset else torch.zeros_like(default)
        self._scales: list[float] | None = None
        """One per joint, where they differ."""
        if isinstance(cfg.scale, dict):
            self._scales = values_by_name(cfg.scale, self.joint_names, "scale")
            self._scale = torch.tensor(self._scales, device=env.device)

    def apply(self, action: Tensor) -> None:
        if isinstance(self.cfg.scale, dict):
            control = torch.addcmul(self._offset, self._scale, action)
        else:
            control = torch.add(self._offset, action, alpha=self.cfg.scale)
        bias = self._robot.encoder_bias
        if bias is not None and self.cfg.kind == "position":  # a servo closes its loop on what its encoder shows
            control -= bias[:, self._joints]
        self.env.engine.ctrl[:, self._actuators] = control

    def describe(self) -> dict[str, Any]:
        own = {"kind": f"Joint{self.cfg.kind.capitalize()}Action", "offset": self._offset.tolist()}
        return {**super().describe(), **own, "scale": self._scales or self.cfg.scale}


@dataclass(kw_only=True)
class ActuatorActionCfg(ActionTermCfg):
    """Controls of actuators by their names, whatever they drive: ``control = scale * action``.

    For actuators of tendons, sites and bodies, and for models whose actuators are of several kinds.
    """

    entity: str | None = None
    """Whose actuators; None: the first robot's, or those of the entity that `actuators` names (``arm/grasp``)."""
    actuators: str | tuple[str, ...] = ".*"
    """Regular expressions over actuator names."""
    scale: float = 1.0

    def build(self, name: str, env: Env) -> "ActuatorAction":
        return ActuatorAction(name, self, env)


class ActuatorAction(ActionTerm):
    """See `ActuatorActionCfg`."""

    cfg: ActuatorActionCfg

    def __init__(self, name: str, cfg: ActuatorActionCfg, env: Env):
        self._robot = owner_of(env, [cfg.actuators], cfg.entity)
        layout = self._robot.layout
        chosen = match_names(cfg.actuators, layout.actuator_names, "actuator", layout.name)
        super().__init__(name, cfg, env, len(chosen))
        self.actuator_names = [layout.actuator_names[i] for i in chosen]
        self._actuators = index_of(layout.actuator_ids[chosen], env.device)

    def apply(self, action: Tensor) -> None:
        self.env.engine.ctrl[:, self._actuators] = self.cfg.scale * action

    def describe(self) -> dict[str, Any]:
        return {"dim": self.dim, "entity": self._robot.name, "actuators": self.actuator_names, "scale": self.cfg.scale}


def _actuator_of(robot: Entity, joint: str, kind: JointActionKind) -> int:
    """The actuator of one kind of a joint, as an index into ``engine.ctrl``."""
    layout, label = robot.layout, f"joint '{joint}' of '{robot.name}'"
    driving = [i for i, driven in enumerate(layout.actuated_joints) if driven == joint]
    if not driving:
        others = ", ".join(dict.fromkeys(layout.transmissions))
        hint = f" (there are actuators of {others})" if others else ""
        raise UserError(f"{label} has no actuator{hint}")
    found = [i for i in driving if layout.actuator_kinds[i] == kind]
    names = ", ".join(f"'{layout.actuator_names[i]}'" for i in (found or driving))
    if not found:
        kinds = " and ".join(dict.fromkeys(layout.actuator_kinds[i] for i in driving))
        raise UserError(f"{label} cannot take an action of kind {kind}: its actuator {names} is of kind {kinds}")
    if len(found) > 1:
        raise UserError(f"{label} has several actuators of kind {kind}: {names}")
    return int(layout.actuator_ids[found[0]])
