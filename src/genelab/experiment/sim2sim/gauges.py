"""What is measured in each control step of an episode, besides the task's own rewards and metrics.

A gauge returns values (N,) by name, none where it does not apply: a fixed base has no attitude, a scene without contact
sensors no strides.
"""

from collections import Counter

import torch
from torch import Tensor

from genelab.core.math import cross, quat_apply, quat_apply_inverse
from genelab.envs import ManagerBasedRlEnv
from genelab.mdp.commands import VelocityCommand
from genelab.sensors import ContactSensor

WALKING = 0.05
"""m/s below which a cost of transport means nothing."""
VELOCITY_NAMES = ("x", "y", "yaw")


def effort(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Mean actuator force, N or N m, and mechanical power of all actuators, W."""
    layout = env.robot.layout
    if not len(layout.actuator_ids):
        return {}
    force = env.robot.actuator_force
    found = {"actuator force": force.abs().mean(dim=1)}
    joints = [env.robot.joint_names.index(joint) for joint in layout.actuated_joints if joint in env.robot.joint_names]
    if len(joints) == len(layout.actuator_ids):  # the speed of a tendon or a site is not known here
        gear = torch.tensor(env.scene.model.actuator_gear[layout.actuator_ids, 0], dtype=force.dtype, device=env.device)
        found["power"] = (force * gear * env.robot.joint_vel[:, joints]).abs().sum(dim=1)
    return found


def action_rate(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Mean change of the action since the last step."""
    return {"action rate": (env.action_manager.action - env.action_manager.previous_action).abs().mean(dim=1)}


def posture(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Height, tilt and speed of a free base."""
    if env.robot.layout.free_qpos is None:
        return {}
    tilt = (-env.robot.projected_gravity[:, 2]).clamp(-1.0, 1.0).acos()
    speed = env.robot.body_lin_vel[:, 0, :2].norm(dim=1)
    return {"base height": env.robot.body_pos[:, 0, 2], "base tilt": tilt, "base speed": speed}


def velocity_error(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Distance between commanded and reached velocity per axis, in the frame of a free base."""
    commands = [term.command for term in env.command_manager.terms.values() if isinstance(term, VelocityCommand)]
    if not commands or env.robot.layout.free_qpos is None:
        return {}
    quat = env.robot.body_quat[:, 0]
    linear = quat_apply_inverse(quat, env.robot.body_lin_vel[:, 0])
    turning = quat_apply_inverse(quat, env.robot.body_ang_vel[:, 0])
    reached = (linear[:, 0], linear[:, 1], turning[:, 2])
    return {f"velocity error {axis}": (commands[0][:, i] - reached[i]).abs() for i, axis in enumerate(VELOCITY_NAMES)}


def contact(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Touching, touch-downs, force at touch-down and sliding speed of every side of a contact sensor, for `derive`."""
    found = {}
    for name, row, sensor in _contact_sides(env):
        model, engine, part = env.scene.model, env.engine, sensor.cfg.sides[row]
        on_geom = sensor.cfg.kind == "geom"
        body = int(model.geom(part).bodyid[0]) if on_geom else model.body(part).id
        arm = torch.zeros(3) if not on_geom else torch.tensor(model.geom(part).pos, dtype=torch.float32)
        arm = quat_apply(engine.body_quat[:, body], arm.to(env.device).expand(env.num_envs, 3))
        velocity = engine.body_lin_vel[:, body] + cross(engine.body_ang_vel[:, body], arm)
        touching, landed = sensor.data.in_contact[:, row].float(), sensor.data.first_contact[:, row].float()
        found[f"{name} duty factor"] = touching
        found[f"{name} stride frequency"] = landed / env.step_dt
        found[f"{name} touch-down force"] = landed / env.step_dt * sensor.data.force[:, row].norm(dim=1)
        found[f"{name} slip"] = touching * velocity[:, :2].norm(dim=1)
    return found


def _contact_sides(env: ManagerBasedRlEnv) -> list[tuple[str, int, ContactSensor]]:
    """Every side of every contact sensor: what to call it, its number and its sensor."""
    sides = []
    for sensor in env.sensors.values():
        if isinstance(sensor, ContactSensor):
            names = sensor.cfg.side_names if len(sensor.cfg.sides) > 1 else [sensor.name]
            sides += [(name, row, sensor) for row, name in enumerate(names)]
    shared = Counter(name for name, _, _ in sides)
    return [(f"{s.name} {name}" if shared[name] > 1 else name, row, s) for name, row, s in sides]


GAUGES = (effort, action_rate, posture, velocity_error, contact)


def derive(env: ManagerBasedRlEnv, means: dict[str, Tensor]) -> dict[str, Tensor]:
    """The means of an episode with ratios in their place: per touch-down, per time in contact, per distance."""
    derived = dict(means)
    for name, _, _ in _contact_sides(env):
        derived[f"{name} touch-down force"] = means[f"{name} touch-down force"] / means[f"{name} stride frequency"]
        derived[f"{name} slip"] = means[f"{name} slip"] / means[f"{name} duty factor"]
    speed = derived.pop("base speed", None)
    if speed is not None and "power" in means:
        model = env.scene.model
        weight = float(model.body_subtreemass[env.robot.layout.body_ids[0]] * -model.opt.gravity[2])
        derived["cost of transport"] = torch.where(speed > WALKING, means["power"] / (weight * speed), torch.nan)
    return derived
