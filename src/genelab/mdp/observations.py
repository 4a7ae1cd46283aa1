"""Observation terms.  All return (N, d)."""

import torch
from torch import Tensor

from genelab.core.math import quat_apply_inverse
from genelab.core.ranges import CountOrZero
from genelab.envs.terms import BodyRef, ContactRef, Env, OwnerRef, SensorRef, SiteRefs


def joint_pos_rel(env: Env, entity: OwnerRef = None) -> Tensor:
    """Joint positions relative to the default pose, as the encoders show them.  (N, J)

    Ball joints follow after the others, each as a rotation vector of three.
    """
    shown = entity or env.robot
    position = shown.measured_joint_pos - shown.default_joint_pos
    return torch.cat((position, shown.ball_rotation), dim=1) if shown.layout.ball_names else position


def joint_pos(env: Env, skip: CountOrZero = 0, entity: OwnerRef = None) -> Tensor:
    """Positions of hinges and slides, without the first `skip`.  (N, J)"""
    return (entity or env.robot).joint_pos[:, skip:]


def joint_vel(env: Env, entity: OwnerRef = None) -> Tensor:
    """Joint velocities.  (N, J)

    Ball joints follow after the others, with three angular velocities each.
    """
    shown = entity or env.robot
    return torch.cat((shown.joint_vel, shown.ball_vel), dim=1) if shown.layout.ball_names else shown.joint_vel


def body_ang_vel(env: Env, body: BodyRef, entity: OwnerRef = None) -> Tensor:
    """Angular velocity of one body in the world frame.  (N, 3)"""
    return (entity or env.robot).body_ang_vel[:, body]


def base_lin_vel(env: Env, entity: OwnerRef = None) -> Tensor:
    """Velocity of the root body in its own frame.  (N, 3)"""
    return (entity or env.robot).root_lin_vel


def base_ang_vel(env: Env, entity: OwnerRef = None) -> Tensor:
    """Angular velocity of the root body in its own frame.  (N, 3)"""
    return (entity or env.robot).root_ang_vel


def projected_gravity(env: Env, entity: OwnerRef = None) -> Tensor:
    """Direction of gravity in the frame of the root body: (0, 0, -1) when upright.  (N, 3)"""
    return (entity or env.robot).projected_gravity


def model_sensor(env: Env, sensor: str, entity: OwnerRef = None) -> Tensor:
    """A sensor of the entity's own model by name, such as an IMU's gyro or accelerometer.  (N, d)"""
    return (entity or env.robot).model_sensor(sensor)


def touch(env: Env, touch_sensors: tuple[str, ...], entity: OwnerRef = None) -> Tensor:
    """What touch sensors of the entity's own model feel, as log(1 + force).  (N, S)"""
    return torch.cat([(entity or env.robot).model_sensor(name) for name in touch_sensors], dim=1).log1p()


def generalized_vel(env: Env) -> Tensor:
    """Velocities of all degrees of freedom in the world.  (N, nv)

    A free root has six: linear in the world frame, then angular in its own.
    """
    return env.engine.qvel


def last_action(env: Env) -> Tensor:
    """The previous raw action.  (N, A)"""
    return env.action_manager.action


def generated_command(env: Env, command: str) -> Tensor:
    """The present value of a command.  (N, C)"""
    return env.command_manager[command]


def command_hint(env: Env, command: str, steps: CountOrZero) -> Tensor:
    """A command that is shown in the first `steps` observations of an episode and is zero afterwards.  (N, C)"""
    visible = (env.episode_length_buf < steps).unsqueeze(-1)
    return torch.where(visible, env.command_manager[command], 0.0)


def sensor_data(env: Env, sensor: SensorRef) -> Tensor:
    """What a sensor measured last.  (N, …)"""
    return sensor.data


def feet_height(env: Env, sites: SiteRefs, entity: OwnerRef = None) -> Tensor:
    """Heights of sites above the ground below them, metres.  (N, S)"""
    return env.height_above_ground((entity or env.robot).site_pos(sites))


def contact_air_time(env: Env, sensor: ContactRef) -> Tensor:
    """How long each side of a contact sensor has been in the air, seconds; 0 in contact.  (N, S)"""
    return sensor.data.air_time


def contact_found(env: Env, sensor: ContactRef) -> Tensor:
    """1 for each side of a contact sensor that is in contact, else 0.  (N, S)"""
    return sensor.data.in_contact.float()


def contact_force_log(env: Env, sensor: ContactRef, entity: OwnerRef = None) -> Tensor:
    """Force f on each side of a contact sensor in the frame of the root body, as sign(f) log(1 + |f|).  (N, 3 S)"""
    force = quat_apply_inverse((entity or env.robot).root_quat.unsqueeze(1), sensor.data.force)
    return (force.sign() * force.abs().log1p()).flatten(1)
