"""Action terms of an arm: move the hand by a displacement, open and close the gripper."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from genelab.core.math import cross, quat_apply, quat_conjugate, quat_mul
from genelab.core.ranges import Positive
from genelab.envs.entity import Entity, index_of
from genelab.envs.terms import Env, match_names
from genelab.mdp.actions import JointTerm, JointTermCfg


@dataclass(kw_only=True)
class HandDisplacementActionCfg(JointTermCfg):
    """Move a body of the arm by ``scale * action`` metres along the world's axes, without turning it.

    Joint targets are the present joint positions plus a step by damped least squares, which also turns the body back
    to the orientation it has in the default pose. The servos' targets compensate the arm's own weight, as controllers
    of real arms do: a zero action holds the arm where it is.
    """

    hand: str
    """The body."""
    scale: float = 0.05
    damping: Positive = 0.05
    """Of the least squares: how far joint steps shrink where the arm is nearly singular."""
    max_joint_step: Positive = 0.2
    """Bound on the step of each joint, rad."""
    clip: Positive = 1.0

    def build(self, name: str, env: Env) -> "HandDisplacementAction":
        return HandDisplacementAction(name, self, env)


class HandDisplacementAction(JointTerm):
    """See `HandDisplacementActionCfg`."""

    unit = "m"
    cfg: HandDisplacementActionCfg

    def __init__(self, name: str, cfg: HandDisplacementActionCfg, env: Env):
        super().__init__(name, cfg, env, "position", dim=3)
        robot, joints = self._robot, self._joint_ids
        [hand] = match_names(cfg.hand, robot.body_names, "body", robot.name)
        self._hand, self._body = hand, int(robot.layout.body_ids[hand])
        self._dofs = index_of(robot.layout.qvel_ids[joints], env.device)
        self._kp = env.engine.floats(env.scene.model.actuator_gainprm[self._actuator_ids, 0])
        self._gravity_torque = GravityTorque(env, robot, joints)
        self._ridge = cfg.damping**2 * torch.eye(6, device=env.device)
        env.engine.reset(env.worlds)
        self._upright = robot.body_quat[:1, hand].clone()

    def apply(self, action: Tensor) -> None:
        robot, engine = self._robot, self.env.engine
        back = quat_mul(self._upright, quat_conjugate(robot.body_quat[:, self._hand]))
        turn = 2.0 * back[:, 1:] * torch.sign(back[:, :1])  # rotation vector, for the small angles it is about
        wanted = torch.cat((self.cfg.scale * action, turn), dim=-1).unsqueeze(-1)
        jacobian = engine.jacobian(self._body)[:, :, self._dofs]
        transposed = jacobian.transpose(1, 2)
        step = (transposed @ torch.linalg.solve(jacobian @ transposed + self._ridge, wanted)).squeeze(-1)
        step = step.clamp(-self.cfg.max_joint_step, self.cfg.max_joint_step)
        engine.ctrl[:, self._actuators] = robot.joint_pos[:, self._joints] + step - self._gravity_torque() / self._kp

    def describe(self) -> dict[str, Any]:
        settings = {name: getattr(self.cfg, name) for name in ("hand", "damping", "max_joint_step")}
        return {**super().describe(), **settings, "orientation": self._upright[0].tolist()}


@dataclass(kw_only=True)
class GripperActionCfg(JointTermCfg):
    """Fingers go to their mean position plus ``scale * action`` metres, within their limits."""

    scale: float = 0.1
    clip: Positive = 1.0

    def build(self, name: str, env: Env) -> "GripperAction":
        return GripperAction(name, self, env)


class GripperAction(JointTerm):
    """See `GripperActionCfg`."""

    unit = "m"
    cfg: GripperActionCfg

    def __init__(self, name: str, cfg: GripperActionCfg, env: Env):
        super().__init__(name, cfg, env, "position", dim=1)
        self._low, self._high = self._robot.joint_limits[self._joints].unbind(-1)

    def apply(self, action: Tensor) -> None:
        mean = self._robot.joint_pos[:, self._joints].mean(dim=1, keepdim=True)
        self.env.engine.ctrl[:, self._actuators] = (mean + self.cfg.scale * action).clamp(self._low, self._high)


class GravityTorque:
    """The torque of gravity on hinges of a robot, from the compiled masses and the present pose."""

    def __init__(self, env: Env, robot: Entity, joints: list[int]):
        model, entity, device = env.scene.model, robot.layout, env.device
        self._robot = robot
        index = {int(body): i for i, body in enumerate(entity.body_ids)}
        ids = entity.joint_ids[joints]
        carried = torch.zeros(len(joints), len(index), device=device)
        for body, i in index.items():
            above = body
            while above in index:
                carried[[j for j, joint in enumerate(ids) if model.jnt_bodyid[joint] == above], i] = 1.0
                above = int(model.body_parentid[above])
        floats = env.engine.floats
        self._mass = carried * floats(model.body_mass[entity.body_ids])
        self._com = floats(model.body_ipos[entity.body_ids])
        self._bodies = torch.tensor([index[int(body)] for body in model.jnt_bodyid[ids]], device=device)
        self._axis, self._anchor = floats(model.jnt_axis[ids]), floats(model.jnt_pos[ids])
        self._gravity = floats(model.opt.gravity)

    def __call__(self) -> Tensor:
        """(N, J) newton metres."""
        pos, quat = self._robot.body_pos, self._robot.body_quat
        com = pos + quat_apply(quat, self._com.expand_as(pos))
        pos, quat = pos[:, self._bodies], quat[:, self._bodies]
        anchor = pos + quat_apply(quat, self._anchor.expand_as(pos))
        lever = self._mass @ com - self._mass.sum(dim=1, keepdim=True) * anchor
        return (quat_apply(quat, self._axis.expand_as(pos)) * cross(lever, self._gravity.expand_as(lever))).sum(dim=-1)
