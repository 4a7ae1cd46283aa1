"""Action terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs.cfg import ActionTermCfg
from genelab.envs.entity import Entity, index_of
from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.managers import ActionTerm
from genelab.envs.terms import match_joints, owner_of


@dataclass(kw_only=True)
class JointPositionActionCfg(ActionTermCfg):
    """Targets for position servos: ``target = offset + scale * action``, in metres or radians."""

    entity: str | None = None
    """Whose joints; None: the first robot's, or those of the entity that `joints` names (``arm/elbow``)."""
    joints: str | tuple[str, ...] = ".*"
    """Regular expressions over joint names."""
    scale: float = 1.0
    default_offset: bool = True
    """Offset targets by the robot's default joint positions; otherwise by zero."""

    def build(self, name: str, env: ManagerBasedRlEnv) -> "JointPositionAction":
        return JointPositionAction(name, self, env)


class JointPositionAction(ActionTerm):
    """Writes position targets to the actuators of the chosen joints, in joint order."""

    cfg: JointPositionActionCfg

    def __init__(self, name: str, cfg: JointPositionActionCfg, env: ManagerBasedRlEnv):
        robot = self._robot = owner_of(env, [cfg.joints], cfg.entity)
        joints = match_joints(cfg.joints, robot)
        self.joint_names = [robot.joint_names[j] for j in joints]
        super().__init__(name, cfg, env, len(joints))
        self._joints = index_of(joints, env.device)
        self._actuators = index_of(servos_of(robot, self.joint_names), env.device)
        offset = robot.default_joint_pos[self._joints]
        self._offset = offset if cfg.default_offset else torch.zeros_like(offset)

    def apply(self, action: Tensor) -> None:
        target = torch.add(self._offset, action, alpha=self.cfg.scale)
        bias = self._robot.encoder_bias
        if bias is not None:  # a servo closes its loop on what its encoder shows
            target -= bias[:, self._joints]
        self._env.engine.ctrl[:, self._actuators] = target

    def describe(self) -> dict[str, Any]:
        return {
            "dim": self.dim,
            "entity": self._robot.name,
            "joints": self.joint_names,
            "scale": self.cfg.scale,
            "offset": self._offset.tolist(),
        }


def servos_of(robot: Entity, joint_names: Sequence[str]) -> list[int]:
    """The actuator of each of these joints, as indices into ``engine.ctrl``."""
    layout = robot.layout
    drives = dict(zip(layout.actuated_joints, layout.actuator_ids.tolist(), strict=True))
    for joint in joint_names:
        if joint not in drives:
            others = ", ".join(dict.fromkeys(layout.transmissions))
            raise UserError(
                f"joint '{joint}' of '{robot.name}' has no actuator (there is one of {others or 'nothing'})"
            )
    return [drives[joint] for joint in joint_names]
