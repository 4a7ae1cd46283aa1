"""What a program that runs an exported policy must know about the robot, the observations and the actions.

Plain data for a JSON file that any language reads: names instead of indices, null where there is no limit.
``examples/deploy/README.md`` explains the fields.

Words are names of terms that programs outside may rely on, with unit, frame and sign. A word stays what it is when a
function moves or is renamed here. What it means is the function's own docstring. Terms of tasks outside genelab have no
word; they are named by their Python reference only.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from genelab import mdp
from genelab.core.config import reference, to_dict
from genelab.core.files import without_infinities
from genelab.envs import CommandTermCfg, Entity, GoalCfg, ManagerBasedRlEnv, TermCfg
from genelab.envs.managers.observation import ObservationGroup
from genelab.envs.spawn import Spawn
from genelab.rl.deployed import Deployed
from genelab.rl.exporter import ports

_JOINT_TYPES = {mujoco.mjtJoint.mjJNT_HINGE.value: "hinge", mujoco.mjtJoint.mjJNT_SLIDE.value: "slide"}
WORLD, ROOT = "world", "root body"
AXES, TURNS = "along x, y, z", "right-handed about x, y, z"
POSITION, JOINTS = "rad (hinge), m (slide)", "along or about robot.joint_axes"


@dataclass(frozen=True)
class Word:
    """What the numbers of an observation or a command are."""

    name: str
    unit: str | None = None
    """None: that of the sensor or command that it shows; "1": none."""
    frame: str | None = None
    sign: str | None = None
    """What positive values mean."""

    def describe(self) -> dict[str, Any]:
        return {"unit": self.unit, "frame": self.frame, "sign": self.sign}


OBSERVATIONS: dict[Any, Word] = {
    mdp.joint_pos_rel: Word("joint_pos_rel", POSITION, "joint", f"{JOINTS}; zero at robot.default_joint_pos"),
    mdp.joint_vel: Word("joint_vel", "rad/s (hinge), m/s (slide)", "joint", JOINTS),
    mdp.joint_pos: Word("joint_pos", POSITION, "joint", JOINTS),
    mdp.generalized_vel: Word("generalized_vel", "rad/s, m/s", "joint; free root: world, then its own", JOINTS),
    mdp.body_ang_vel: Word("body_ang_vel", "rad/s", WORLD, TURNS),
    mdp.body_pos: Word("body_pos", "m", WORLD, AXES),
    mdp.base_lin_vel: Word("base_lin_vel", "m/s", ROOT, AXES),
    mdp.base_ang_vel: Word("base_ang_vel", "rad/s", ROOT, TURNS),
    mdp.projected_gravity: Word("projected_gravity", "1", ROOT, "downwards: (0, 0, -1) when upright"),
    mdp.last_action: Word("last_action", "1", None, "as the policy gave it, clipped; zero at the start of an episode"),
    mdp.generated_command: Word("generated_command"),
    mdp.command_hint: Word("command_hint"),
    mdp.sensor_data: Word("sensor_data"),
    mdp.feet_height: Word("feet_height", "m", WORLD, "upwards, from the ground below"),
    mdp.contact_air_time: Word("contact_air_time", "s", None, "in the air"),
    mdp.contact_found: Word("contact_found", "1", None, "in contact"),
    mdp.contact_force_log: Word("contact_force_log", "log of N", ROOT, "force on the side"),
    mdp.touch: Word("touch", "log of N", None, "pressed"),
    mdp.object_pos: Word("object_pos", "m", WORLD, AXES),
    mdp.object_to_command: Word("object_to_command", "m", WORLD, "from the object to the place"),
    mdp.remaining_time: Word("remaining_time", "1", None, "1 at the start of an episode, 0 at its end"),
}

COMMANDS: dict[type[CommandTermCfg], Word] = {
    mdp.VelocityCommandCfg: Word("velocity", "m/s, m/s, rad/s", ROOT, "forward, to the left, turning left"),
    mdp.PlaceCommandCfg: Word("place", "m", WORLD, AXES),
    mdp.RingCommandCfg: Word("ring", "m", WORLD, AXES),
    mdp.UniformCommandCfg: Word("uniform", None, None, None),
}


def _name_of(func: Any) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", func.__name__).lower()


def _named(*funcs: Any) -> dict[Any, str]:
    return {func: _name_of(func) for func in funcs}


REWARDS = _named(
    *(mdp.JointAccL2, mdp.FeetSwingHeight, mdp.Pose, mdp.alive, mdp.cos_joint, mdp.cos_pole_chain, mdp.joint_pos_l2),
    *(mdp.joint_vel_l2, mdp.joint_difference_l2, mdp.command_distance_l2, mdp.action_rate_l2, mdp.track_lin_vel),
    *(mdp.track_ang_vel, mdp.feet_air_time, mdp.feet_slip, mdp.any_contact, mdp.lin_vel_z_l2),
    *(mdp.ang_vel_xy_l2, mdp.tilt_l2, mdp.base_height_l2, mdp.actuator_force_l2, mdp.joint_limits),
    *(mdp.goal_reward, mdp.lift_and_place, mdp.track_lin_vel_level, mdp.track_ang_vel_level, mdp.upright),
    *(mdp.body_ang_vel_xy_l2, mdp.angular_momentum_l2, mdp.feet_clearance, mdp.landing_force),
)

ENDS = _named(mdp.time_out, mdp.joint_beyond, mdp.tilted, mdp.object_below)

EVENTS = _named(mdp.ScatterJoints, mdp.jitter_joints, mdp.push_joint, mdp.push_root, mdp.place_root, mdp.place_object)

WORDS: dict[Any, str] = {**{func: word.name for func, word in OBSERVATIONS.items()}, **REWARDS, **ENDS, **EVENTS}


def word_of(func: Any) -> str | None:
    """The word of a term. What genelab's own tasks define is called after its module: ``walker_orientations``."""
    if func not in WORDS and func.__module__.startswith("genelab.tasks."):
        return f"{func.__module__.rpartition('.')[2]}_{_name_of(func)}"
    return WORDS.get(func)


def meaning(described: Callable[..., Any] | type) -> str:
    """The first paragraph of a docstring on one line, without the shape at its end."""
    text = " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())
    return re.sub(r" \([N….][^()]*\)( bool| ->.*)?$", "", text)


def describe(env: ManagerBasedRlEnv, deployed: Deployed, layout: tuple[ObservationGroup, ...]) -> dict[str, Any]:
    """Everything about deployment that does not depend on the file format."""
    actions = _actions(env)
    description = {
        "obs_dim": deployed.obs_dim,
        "obs_groups": _groups(env, layout),
        "history": {
            "order": "frame-major, oldest first: column = group.start + frame * group.frame_dim + term.start",
            "fill": "at the start of an episode every frame is the first one",
        },
        "action_dim": env.num_actions,
        "action_range": [min(a["clip"][0] for a in actions), max(a["clip"][1] for a in actions)],
        "actions": actions,
        "sensors": {name: sensor.describe() for name, sensor in env.sensors.items()},
        "normalization_baked": deployed.describe()["normalization_baked"],
        "action_repeat": deployed.describe().get("action_repeat", 1),
        "is_recurrent": bool(deployed.state_shapes),
        "recurrent": _recurrent(deployed),
        "robot": _robot(env, env.robot),
        "other_robots": [_robot(env, env.entities[name]) for name in env.cfg.scene.robots if name != env.robot.name],
        "control_dt": env.step_dt,
        "physics_dt": env.cfg.simulation.dt,
        "decimation": env.cfg.decimation,
        "quaternion_order": "wxyz",
        "episode": _episode(env),
    }
    return without_infinities(description)


def _groups(env: ManagerBasedRlEnv, groups: tuple[ObservationGroup, ...]) -> dict[str, Any]:
    """Where groups stand in the flat observation, and terms in a frame. Each image is an input of its own."""
    described, first = {}, 0
    for group in groups:
        columns = {"start": 0 if group.is_image else first, "dim": group.shape[0], "shape": list(group.shape)}
        frames = {"history": group.cfg.history, "frame_dim": group.frame_shape[0]}
        described[group.name] = {**columns, **frames, "terms": list(_terms(env, group))}
        first += 0 if group.is_image else group.dim
    return described


def _terms(env: ManagerBasedRlEnv, group: ObservationGroup) -> Iterator[dict[str, Any]]:
    start, history = 0, group.cfg.history
    for (name, shape), cfg in zip(group.term_shapes.items(), group.cfg.terms.values(), strict=True):
        columns = {"name": name, "dim": shape[0], "start": start, "scale": cfg.scale, "clip": to_dict(cfg.clip)}
        noise = cfg.noise if group.cfg.noise else 0.0
        yield {**columns, "history": history, "noise": noise, **_call(cfg), **numbers_of(env, cfg)}
        start += shape[0]


def numbers_of(env: ManagerBasedRlEnv, cfg: TermCfg) -> dict[str, Any]:
    """Unit, frame and sign of an observation; null where its function is not in the vocabulary."""
    word = OBSERVATIONS.get(cfg.func, Word(""))
    if "command" in cfg.params and word.unit is None:
        word = command_word(env.cfg.commands[cfg.params["command"]])
    if "sensor" in cfg.params and word.unit is None:
        sensor = env.sensors[cfg.params["sensor"]].describe()
        return {name: sensor[name] for name in ("unit", "frame", "sign")}
    return word.describe()


def command_word(cfg: CommandTermCfg) -> Word:
    """What the numbers of a command are."""
    return COMMANDS.get(type(cfg), Word(""))


def _actions(env: ManagerBasedRlEnv) -> list[dict[str, Any]]:
    described, start = [], 0
    for name, term in env.action_manager.terms.items():
        description = {
            "name": name,
            "kind": type(term).__name__,
            "meaning": meaning(type(term.cfg)),
            "start": start,
            "clip": [-term.cfg.clip, term.cfg.clip],
            "noise": term.cfg.noise,
            "latency": list(term.cfg.latency),
        }
        described.append(description | term.describe())
        start += term.dim
    return described


def _recurrent(deployed: Deployed) -> dict[str, Any] | None:
    if not deployed.state_shapes:
        return None
    layers, size = next(iter(deployed.state_shapes.values()))
    inputs, outputs = ports(deployed)
    return {
        "rnn_type": deployed.describe().get("rnn_type"),
        "rnn_num_layers": layers,
        "rnn_hidden_dim": size,
        "state_shape": [layers, 1, size],
        "state_axes": ["layers", "batch", "hidden"],
        "onnx_inputs": inputs,
        "onnx_outputs": outputs,
        "at_episode_start": "zero",
    }


def _robot(env: ManagerBasedRlEnv, robot: Entity) -> dict[str, Any]:
    """Joints in the order of observations. A joint without an actuator has null for it, its gains and its limits."""
    model, entity = env.scene.model, robot.layout
    # Of several actuators of a joint, the position servo is what the gains below are about.
    order = sorted(range(len(entity.actuator_ids)), key=lambda i: entity.actuator_kinds[i] == "position")
    drives = {entity.actuated_joints[i]: int(entity.actuator_ids[i]) for i in order}
    actuators = [drives.get(joint) for joint in robot.joint_names]
    gains = [(None, None) if a is None else _gains(model, a) for a in actuators]
    kinds: dict[int | None, str] = dict(zip(map(int, entity.actuator_ids), entity.actuator_kinds, strict=True))
    limits = [_effort_limits(model, a, int(j)) for a, j in zip(actuators, entity.joint_ids, strict=True)]

    def short(name: str) -> str:
        return name.removeprefix(f"{robot.name}/")

    return {
        "name": robot.name,
        "joint_names": list(robot.joint_names),
        "default_joint_pos": env.scene.default_qpos[entity.qpos_ids].tolist(),
        "joint_types": [_JOINT_TYPES[int(model.jnt_type[joint])] for joint in entity.joint_ids],
        "joint_bodies": [short(model.body(model.jnt_bodyid[joint]).name) for joint in entity.joint_ids],
        "joint_axes": model.jnt_axis[entity.joint_ids].tolist(),
        "joint_limits": [model.jnt_range[j].tolist() if model.jnt_limited[j] else None for j in entity.joint_ids],
        "damping": model.dof_damping[entity.qvel_ids].reshape(len(entity.qvel_ids), -1)[:, 0].tolist(),
        "armature": model.dof_armature[entity.qvel_ids].tolist(),
        "friction_loss": model.dof_frictionloss[entity.qvel_ids].tolist(),
        "actuators": [None if a is None else short(model.actuator(a).name) for a in actuators],
        "actuator_kinds": [kinds.get(a) for a in actuators],
        "kp": [kp for kp, _ in gains],
        "kd": [kd for _, kd in gains],
        "effort_limits": limits,
    }


def _gains(model: mujoco.MjModel, actuator: int) -> tuple[float, float] | tuple[None, None]:
    kp, (_, minus_kp, minus_kd) = float(model.actuator_gainprm[actuator, 0]), model.actuator_biasprm[actuator, :3]
    affine = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE.value
    return (kp, float(-minus_kd)) if affine and minus_kp == -kp else (None, None)


def _effort_limits(model: mujoco.MjModel, actuator: int | None, joint: int) -> list[float] | None:
    """The tightest of what a motor's control, the actuator and the joint allow, N or N m at the joint."""
    if actuator is None:
        return None
    gear, ranges = float(model.actuator_gear[actuator, 0]), []
    is_motor = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE.value
    if is_motor and model.actuator_ctrllimited[actuator]:
        ranges.append(np.sort(gear * model.actuator_gainprm[actuator, 0] * model.actuator_ctrlrange[actuator]))
    if model.actuator_forcelimited[actuator]:
        ranges.append(np.sort(gear * model.actuator_forcerange[actuator]))
    if model.jnt_actfrclimited[joint]:
        ranges.append(model.jnt_actfrcrange[joint])
    if not ranges:
        return None
    low, high = np.array(ranges).T
    return [float(low.max()), float(high.min())]


def _episode(env: ManagerBasedRlEnv) -> dict[str, Any]:
    """The task itself, so that its evaluation can be repeated without genelab."""
    cfg = env.cfg
    return {
        "max_steps": env.max_episode_length,
        "scale_rewards_by_dt": cfg.scale_rewards_by_dt,
        "rewards": {name: _call(term) | {"weight": term.weight} for name, term in cfg.rewards.items()},
        "terminations": {name: _call(term) | {"time_out": term.time_out} for name, term in cfg.terminations.items()},
        "events": {
            name: _call(term) | {"mode": term.mode, "interval_s": to_dict(term.interval_s)}
            for name, term in cfg.events.items()
        },
        "commands": {name: _command(command) for name, command in cfg.commands.items()},
        "goal": None if cfg.goal is None else {"term": word_of(cfg.goal.reward), **to_dict(cfg.goal, GoalCfg)},
    }


def _command(cfg: CommandTermCfg) -> dict[str, Any]:
    """What is asked for, its ranges and how often it changes; null for the kind if it is not in the vocabulary."""
    word = command_word(cfg)
    return {"kind": word.name or None, "meaning": meaning(type(cfg)), **word.describe(), **to_dict(cfg)}


def describe_scene(env: ManagerBasedRlEnv) -> dict[str, Any]:
    """The pose that the scene starts in, and the places of the ground where episodes start, in turn."""
    terrain = env.terrain
    cells = 1 if terrain is None else terrain.cfg.rows * len(terrain.cfg.columns)
    starts = Spawn(terrain, cells, env.device).origin
    return {"default_qpos": env.scene.default_qpos.tolist(), "starts": starts.tolist()}


def _call(cfg: TermCfg) -> dict[str, Any]:
    said = {"term": word_of(cfg.func), "meaning": meaning(cfg.func), "function": reference(cfg.func)}
    return {**said, "params": to_dict(cfg.params)}
