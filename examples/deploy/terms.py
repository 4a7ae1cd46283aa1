"""What the words of the metadata stand for: observations, rewards and ends, each a function of the world."""

from collections.abc import Callable
from typing import Any

import numpy as np
from world import World, unknown


def sensor_data(world: World, sensor: str) -> np.ndarray:
    return world.sensors[sensor].values


def commanded_motion(world: World, command: str) -> float:
    value = world.commands[command]
    return float(np.linalg.norm(value[:2]) + abs(value[2]))


def is_moving(world: World, command: str, threshold: float) -> bool:
    return commanded_motion(world, command) > threshold


def feet_air_time(world: World, feet: str, command: str, low: float, high: float, threshold: float) -> float:
    air_time = world.sensors[feet].air_time
    return ((air_time > low) & (air_time < high)).sum() * is_moving(world, command, threshold)


def feet_slip(
    world: World, feet: str, sites: list[str], command: str, threshold: float, entity: str | None = None
) -> float:
    speed = [np.square(world.entity(entity).site_lin_vel(site)[:2]).sum() for site in sites]
    return (np.array(speed) * world.sensors[feet].in_contact).sum() * is_moving(world, command, threshold)


def site_heights(world: World, sites: list[str], entity: str | None = None) -> np.ndarray:
    """Above the ground below each site."""
    positions = [world.entity(entity).site_pos(site) for site in sites]
    return np.array([z - world.ground_height(x, y) for x, y, z in positions])


def feet_clearance(
    world: World, sites: list[str], command: str, height: float, threshold: float, entity: str | None = None
) -> float:
    speed = [np.linalg.norm(world.entity(entity).site_lin_vel(site)[:2]) for site in sites]
    distance = abs(site_heights(world, sites, entity) - height)
    return (distance * speed).sum() * is_moving(world, command, threshold)


def feet_swing_height(
    world: World, feet: str, sites: list[str], command: str, height: float, threshold: float, entity: str | None = None
) -> float:
    """The highest that each foot has been since it left the ground is noted from one control step to the next."""
    contacts, peak = world.sensors[feet], world.notes.get("peak", np.zeros(len(sites)))
    error = np.clip(peak / height - 1.0, -1.0, 3.0) ** 2 * contacts.first_contact
    world.notes["peak"] = np.where(contacts.in_contact, 0.0, np.maximum(peak, site_heights(world, sites, entity)))
    return error.sum() * is_moving(world, command, threshold)


def landing_force(world: World, feet: str, command: str, threshold: float) -> float:
    contacts = world.sensors[feet]
    landing = np.linalg.norm(contacts.force, axis=1) * contacts.first_contact
    return landing.sum() * is_moving(world, command, threshold)


def pose(
    world: World,
    command: str,
    walking: dict[str, float],
    running: dict[str, float],
    standing: float,
    walk_from: float,
    run_from: float,
    entity: str | None = None,
) -> float:
    robot, speed = world.entity(entity), commanded_motion(world, command)
    table = walking if speed < run_from else running
    sigmas = [next(sigma for part, sigma in table.items() if part in name) for name in robot.joint_names]
    error = (robot.joint_pos - robot.default_joint_pos) / (standing if speed < walk_from else np.array(sigmas))
    return np.exp(-np.square(error).mean())


def upright(world: World, body: str, variance: float, entity: str | None = None) -> float:
    return track(world.entity(entity).body_rotation(body)[2, :2], variance)


def body_ang_vel_xy_l2(world: World, body: str, entity: str | None = None) -> float:
    robot = world.entity(entity)
    return np.square((robot.body_rotation(body).T @ robot.body_ang_vel(body))[:2]).sum()


def track_lin_vel_level(world: World, command: str, variance: float, entity: str | None = None) -> float:
    x, y, _ = world.commands[command]
    return track(np.array([x, y, 0.0]) - world.entity(entity).root_velocity[3:], variance)


def track_ang_vel_level(world: World, command: str, variance: float, entity: str | None = None) -> float:
    return track(np.array([0.0, 0.0, world.commands[command][2]]) - world.entity(entity).root_velocity[:3], variance)


def contact_force_log(world: World, sensor: str, entity: str | None = None) -> np.ndarray:
    force = world.sensors[sensor].force @ world.entity(entity).rotation
    return (np.sign(force) * np.log1p(abs(force))).flatten()


def base_height_l2(world: World, height: float, entity: str | None = None) -> float:
    x, y, z = world.entity(entity).root_pos
    return float(z - world.ground_height(x, y) - height) ** 2


def joint_acc_l2(world: World, entity: str | None = None) -> float:
    """From the difference of the velocities of two control steps."""
    robot = world.entity(entity)
    return np.square((robot.joint_vel - world.previous_qvel[robot.qvel_ids]) / world.control_dt).sum()


def joint_limits(world: World, entity: str | None = None) -> float:
    robot = world.entity(entity)
    low, high = robot.joint_limits.T
    return (np.maximum(low - robot.joint_pos, 0.0) + np.maximum(robot.joint_pos - high, 0.0)).sum()


def joint_pos(world: World, joints: str | list[str], entity: str | None = None) -> np.ndarray:
    robot = world.entity(entity)
    return robot.joint_pos[robot.joints(joints)]


def joint_vel(world: World, joints: str | list[str], entity: str | None = None) -> np.ndarray:
    robot = world.entity(entity)
    return robot.joint_vel[robot.joints(joints)]


def track(error: np.ndarray, variance: float) -> float:
    return np.exp(-np.square(error).sum() / variance)


def goal_reward(world: World) -> float:
    """The task's function of what was achieved and what was desired, both observation groups."""
    goal = world.metadata["episode"]["goal"]
    if goal["term"] not in GOALS:
        raise unknown("goal reward", goal["term"])
    groups = (world.metadata["obs_groups"][goal[side]]["terms"] for side in ("achieved", "desired"))
    values = (
        np.concatenate([term["scale"] * evaluate(OBSERVATIONS, term, world) for term in terms]) for terms in groups
    )
    return GOALS[goal["term"]](*values, **goal["params"])


def lift_and_place(
    achieved: np.ndarray, desired: np.ndarray, radius: float, lift_bonus: float, rest_height: float, full_lift: float
) -> float:
    lifted = np.clip(achieved[2] - rest_height, 0.0, full_lift) / full_lift
    return lift_bonus * lifted - float(np.linalg.norm(achieved - desired) > radius)


GOALS: dict[str, Callable[..., float]] = {"lift_and_place": lift_and_place}

OBSERVATIONS: dict[str, Callable[..., np.ndarray]] = {
    "joint_pos_rel": lambda w, entity=None: w.entity(entity).joint_pos - w.entity(entity).default_joint_pos,
    "joint_vel": lambda w, entity=None: w.entity(entity).joint_vel,
    "body_ang_vel": lambda w, body, entity=None: w.entity(entity).body_ang_vel(body),
    "body_pos": lambda w, body, entity=None: w.entity(entity).body_pos(body),
    "base_lin_vel": lambda w, entity=None: w.entity(entity).root_velocity[3:],
    "base_ang_vel": lambda w, entity=None: w.entity(entity).root_velocity[:3],
    "projected_gravity": lambda w, entity=None: w.entity(entity).projected_gravity,
    "last_action": lambda w: w.action,
    "generated_command": lambda w, command: w.commands[command],
    "command_hint": lambda w, command, steps: w.commands[command] * (w.steps < steps),
    "sensor_data": sensor_data,
    "feet_height": site_heights,
    "contact_air_time": lambda w, sensor: w.sensors[sensor].air_time,
    "contact_found": lambda w, sensor: w.sensors[sensor].in_contact.astype(float),
    "contact_force_log": contact_force_log,
    "object_pos": lambda w, entity: w.entity(entity).root_pos,
    "object_to_command": lambda w, entity, command: w.commands[command] - w.entity(entity).root_pos,
    "remaining_time": lambda w: np.array([1.0 - w.steps / w.metadata["episode"]["max_steps"]]),
}
REWARDS: dict[str, Callable[..., float]] = {
    "alive": lambda w: 1.0,
    "cos_joint": lambda w, joint, entity=None: np.cos(joint_pos(w, joint, entity)).item(),
    "cos_pole_chain": lambda w, joints, entity=None: np.cos(joint_pos(w, joints, entity).cumsum()).mean(),
    "joint_pos_l2": lambda w, joints, entity=None: np.square(joint_pos(w, joints, entity)).sum(),
    "joint_vel_l2": lambda w, joints, entity=None: np.square(joint_vel(w, joints, entity)).sum(),
    "joint_difference_l2": lambda w, joint_a, joint_b, entity=None: np.square(
        joint_pos(w, joint_a, entity) - joint_pos(w, joint_b, entity)
    ).item(),
    "command_distance_l2": lambda w, command, joint, entity=None: np.square(
        joint_pos(w, joint, entity) - w.commands[command][0]
    ).item(),
    "action_rate_l2": lambda w: np.square(w.action - w.previous_action).sum(),
    "track_lin_vel": lambda w, command, variance, entity=None: track(
        w.commands[command][:2] - w.entity(entity).root_velocity[3:5], variance
    ),
    "track_ang_vel": lambda w, command, variance, entity=None: track(
        w.commands[command][2] - w.entity(entity).root_velocity[2], variance
    ),
    "feet_air_time": feet_air_time,
    "feet_slip": feet_slip,
    "any_contact": lambda w, sensor: float(w.sensors[sensor].in_contact.any()),
    "lin_vel_z_l2": lambda w, entity=None: w.entity(entity).root_velocity[5] ** 2,
    "ang_vel_xy_l2": lambda w, entity=None: np.square(w.entity(entity).root_velocity[:2]).sum(),
    "tilt_l2": lambda w, entity=None: np.square(w.entity(entity).projected_gravity[:2]).sum(),
    "base_height_l2": base_height_l2,
    "actuator_force_l2": lambda w, entity=None: np.square(w.data.actuator_force[w.entity(entity).actuators]).sum(),
    "joint_acc_l2": joint_acc_l2,
    "joint_limits": joint_limits,
    "goal_reward": goal_reward,
    "track_lin_vel_level": track_lin_vel_level,
    "track_ang_vel_level": track_ang_vel_level,
    "upright": upright,
    "pose": pose,
    "body_ang_vel_xy_l2": body_ang_vel_xy_l2,
    "angular_momentum_l2": lambda w, entity=None: np.square(w.entity(entity).angular_momentum).sum(),
    "feet_clearance": feet_clearance,
    "feet_swing_height": feet_swing_height,
    "landing_force": landing_force,
}
ENDS: dict[str, Callable[..., bool]] = {
    "time_out": lambda w: w.steps >= w.metadata["episode"]["max_steps"],
    "joint_beyond": lambda w, joint, limit, entity=None: abs(joint_pos(w, joint, entity).item()) > limit,
    "tilted": lambda w, limit, entity=None: w.entity(entity).projected_gravity[2] > -np.cos(limit),
    "object_below": lambda w, entity, height: w.entity(entity).root_pos[2] < height,
}


def evaluate(table: dict[str, Callable[..., Any]], term: dict[str, Any], world: World) -> Any:
    """The value of a term of the metadata: its word, with its parameters."""
    if term["term"] not in table:
        raise unknown("term", term["term"] or term["function"])
    return table[term["term"]](world, **term["params"])
