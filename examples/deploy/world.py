"""One world in plain MuJoCo, driven and measured as the metadata of an exported policy says.

The words of the metadata that stand for actions, commands, sensors and starts are carried out here; those for
observations, rewards and ends are in terms.py. A word that is not known is an error that names it.
"""

import re
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

SCALAR = (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))


def unknown(kind: str, word: Any) -> SystemExit:
    return SystemExit(f"this example does not know the {kind} '{word}': add it to world.py or terms.py")


class Entity:
    """A robot or an object: its own part of the world's state. Joints are in the order of the scene."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, name: str, default_qpos: np.ndarray):
        self._model, self._data, self.name = model, data, name
        joints = [model.joint(i) for i in range(model.njnt) if model.joint(i).name.startswith(f"{name}/")]
        if any(joint.type[0] == mujoco.mjtJoint.mjJNT_BALL for joint in joints):
            raise unknown("kind of joint", "ball")
        scalar = [joint for joint in joints if joint.type[0] in SCALAR]
        free = [joint for joint in joints if joint not in scalar]
        self.joint_names = [joint.name.removeprefix(f"{name}/") for joint in scalar]
        self.qpos_ids = [int(joint.qposadr[0]) for joint in scalar]
        self.qvel_ids = [int(joint.dofadr[0]) for joint in scalar]
        self.joint_ids = [joint.id for joint in scalar]
        self.free_qpos = int(free[0].qposadr[0]) if free else -1
        self.free_qvel = int(free[0].dofadr[0]) if free else -1
        self.default_qpos = default_qpos
        self.default_joint_pos = default_qpos[self.qpos_ids]
        limited = model.jnt_limited[self.joint_ids].astype(bool)[:, None]
        self.joint_limits = np.where(limited, model.jnt_range[self.joint_ids], [-np.inf, np.inf])
        self.actuators = [i for i in range(model.nu) if model.actuator(i).name.startswith(f"{name}/")]
        self.root = next(i for i in range(model.nbody) if model.body(i).name.startswith(f"{name}/"))

    @property
    def joint_pos(self) -> np.ndarray:
        return self._data.qpos[self.qpos_ids]

    @property
    def joint_vel(self) -> np.ndarray:
        return self._data.qvel[self.qvel_ids]

    @property
    def root_pos(self) -> np.ndarray:
        return self._data.xpos[self.root]

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) from the frame of the root body to the world's."""
        return self._data.xmat[self.root].reshape(3, 3)

    @property
    def projected_gravity(self) -> np.ndarray:
        return -self.rotation[2]

    @property
    def root_velocity(self) -> np.ndarray:
        """(6,) angular, then linear velocity of the root body in its own frame."""
        return self._velocity(mujoco.mjtObj.mjOBJ_XBODY, self.root, local=True)

    def body(self, name: str) -> int:
        return self._model.body(f"{self.name}/{name}").id

    def body_pos(self, name: str) -> np.ndarray:
        return self._data.xpos[self.body(name)]

    def body_ang_vel(self, name: str) -> np.ndarray:
        """World frame."""
        return self._velocity(mujoco.mjtObj.mjOBJ_XBODY, self.body(name))[:3]

    def body_rotation(self, name: str) -> np.ndarray:
        """From the frame of a body to the world frame."""
        return self._data.xmat[self.body(name)].reshape(3, 3)

    @property
    def angular_momentum(self) -> np.ndarray:
        """About the centre of mass, world frame."""
        mujoco.mj_subtreeVel(self._model, self._data)
        return self._data.subtree_angmom[self.root]

    def site_pos(self, name: str) -> np.ndarray:
        return self._data.site_xpos[self._model.site(f"{self.name}/{name}").id]

    def site_lin_vel(self, name: str) -> np.ndarray:
        """World frame."""
        return self._velocity(mujoco.mjtObj.mjOBJ_SITE, self._model.site(f"{self.name}/{name}").id)[3:]

    def joints(self, patterns: str | list[str]) -> list[int]:
        """Indices of joints by regular expressions."""
        patterns = [patterns] if isinstance(patterns, str) else patterns
        found = [i for i, name in enumerate(self.joint_names) if any(re.fullmatch(p, name) for p in patterns)]
        if not found:
            raise SystemExit(f"no joint of '{self.name}' matches {patterns}")
        return found

    def actuator(self, joint: str) -> int:
        """The actuator of a joint, by what it drives."""
        joint_id = self._model.joint(f"{self.name}/{joint}").id
        [found] = [i for i in self.actuators if self._model.actuator_trnid[i, 0] == joint_id]
        return found

    def _velocity(self, kind: mujoco.mjtObj, number: int, local: bool = False) -> np.ndarray:
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(self._model, self._data, kind, number, velocity, int(local))
        return velocity


class Contacts:
    """A contact sensor: forces on its sides, which of them touch, which just began to, and seconds in the air."""

    def __init__(self, world: "World", cfg: dict[str, Any]):
        sensors = [world.model.sensor(name) for name in cfg["scene_sensors"]]
        self._columns = [slice(int(s.adr[0]), int(s.adr[0] + s.dim[0])) for s in sensors]
        self._world, self._threshold = world, cfg["threshold"]
        self.reset()

    def reset(self) -> None:
        sides = len(self._columns)
        self.force, self.air_time = np.zeros((sides, 3)), np.zeros(sides)
        self.in_contact, self.first_contact = np.zeros(sides, bool), np.zeros(sides, bool)

    def measure(self, seconds: float) -> None:
        # MuJoCo reports the force that the side exerts.
        self.force = -np.array([self._world.data.sensordata[columns] for columns in self._columns])
        self.in_contact = np.linalg.norm(self.force, axis=1) > self._threshold
        self.first_contact = self.in_contact & (self.air_time > 0.0)
        self.air_time = np.where(self.in_contact, 0.0, self.air_time + seconds)


class HeightScan:
    """Height of a body over the ground at the points of a grid that turns with its heading, metres."""

    def __init__(self, world: "World", cfg: dict[str, Any]):
        self._world, self._body = world, world.model.body(cfg["body"]).id
        self._ahead, self._left = np.array(cfg["grid"]["ahead"]), np.array(cfg["grid"]["left"])

    def reset(self) -> None:
        self.measure(0.0)

    def measure(self, seconds: float) -> None:
        data = self._world.data
        x, y, z = data.xpos[self._body]
        forward = data.xmat[self._body].reshape(3, 3)[:2, 0]
        cos, sin = forward / np.linalg.norm(forward)
        xs = x + cos * self._ahead - sin * self._left
        ys = y + sin * self._ahead + cos * self._left
        self.values = z - self._world.ground_height(xs, ys)


SENSORS = {"ContactSensor": Contacts, "HeightScan": HeightScan}


class World:
    """The scene of an exported policy. What it draws at random comes from one generator."""

    def __init__(self, metadata: dict[str, Any], folder: Path, random: np.random.Generator):
        self.metadata, self.random = metadata, random
        self.model = mujoco.MjModel.from_xml_path(str(folder / metadata["scene"]["file"]))
        self.model.opt.timestep = metadata["physics_dt"]
        self.data = mujoco.MjData(self.model)
        self.control_dt: float = metadata["control_dt"]
        self._default_qpos = np.array(metadata["scene"]["default_qpos"])
        names = dict.fromkeys(self.model.body(i).name.partition("/")[0] for i in range(1, self.model.nbody))
        self._entities = {name: Entity(self.model, self.data, name, self._default_qpos) for name in names}
        for name, sensor in metadata["sensors"].items():
            if sensor["kind"] not in SENSORS or sensor["noise"] or sensor["period"]:
                raise unknown("sensor", f"{name}: {sensor['kind']}, with noise or a period")
        self.sensors: dict[str, Any] = {n: SENSORS[s["kind"]](self, s) for n, s in metadata["sensors"].items()}
        self._starts = metadata["scene"]["starts"]
        self._episodes = 0
        self.clear()

    @property
    def robot(self) -> Entity:
        return self._entities[self.metadata["robot"]["name"]]

    def entity(self, name: str | None) -> Entity:
        """By its name in the scene; None: the robot."""
        return self.robot if name is None else self._entities[name]

    def ground_height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Of a plane at zero, or of the height field, on the triangles that MuJoCo collides with."""
        if self.model.nhfield == 0:
            return np.zeros_like(x)
        rows, columns = int(self.model.hfield_nrow[0]), int(self.model.hfield_ncol[0])
        heights = self.model.hfield_data.reshape(rows, columns)
        half_x, half_y, rise, _ = self.model.hfield_size[0]
        u = np.clip((x + half_x) / (2 * half_x) * (columns - 1), 0, columns - 1)
        v = np.clip((y + half_y) / (2 * half_y) * (rows - 1), 0, rows - 1)
        i, j = np.minimum(u.astype(int), columns - 2), np.minimum(v.astype(int), rows - 2)
        u, v = u - i, v - j
        a, b, c, d = heights[j, i], heights[j, i + 1], heights[j + 1, i], heights[j + 1, i + 1]
        height = np.where(v > u, a + (d - c) * u + (c - a) * v, a + (b - a) * u + (d - b) * v)
        return self.model.geom("ground").pos[2] + rise * height

    def clear(self) -> None:
        """The default pose, at rest, before an episode."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self._default_qpos
        self.action = self.previous_action = np.zeros(self.metadata["action_dim"])
        self.previous_qvel = self.data.qvel.copy()
        self.commands: dict[str, np.ndarray] = {}
        self.notes: dict[str, np.ndarray] = {}
        """What terms remember within an episode."""
        self._clocks: dict[str, float] = {}
        self.steps = 0
        self.update()

    def set_state(self, qpos: np.ndarray, qvel: np.ndarray, commands: dict[str, np.ndarray] | None = None) -> None:
        """Start an episode from this state, with these commands or new ones."""
        self.clear()
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        self._begin()
        self.commands |= commands or {}

    def random_start(self) -> None:
        """Start an episode as the task does."""
        self.clear()
        for event in self._events("reset"):
            self._happen(event)
        self._begin()
        self._episodes += 1

    def update(self) -> None:
        """Poses and velocities of bodies follow from the state. Forces stay those of the last physics step."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)

    def step(self, action: np.ndarray) -> None:
        """One control step: controls, physics, sensors, commands, then events that are due."""
        self.previous_action, self.action = self.action, np.array(action, dtype=float)
        self.previous_qvel = self.data.qvel.copy()
        for term in self.metadata["actions"]:
            columns = slice(term["start"], term["start"] + term["dim"])
            self.action[columns] = np.clip(action[columns], *term["clip"])
            self._act(term, self.action[columns])
        mujoco.mj_step(self.model, self.data, self.metadata["decimation"])
        self.update()
        self.steps += 1
        for sensor in self.sensors.values():
            sensor.measure(self.control_dt)
        for name, command in self.metadata["episode"]["commands"].items():
            if self._is_due(f"command {name}", command["resampling_s"]):
                self.commands[name] = self._draw_command(command)
        for event in self._events("interval"):
            if self._is_due(f"event {event['name']}", event["interval_s"]):
                self._happen(event)

    def _begin(self) -> None:
        self.update()
        for name, command in self.metadata["episode"]["commands"].items():
            self.commands[name] = self._draw_command(command)
            self._start_clock(f"command {name}", command["resampling_s"])
        for event in self._events("interval"):
            self._start_clock(f"event {event['name']}", event["interval_s"])
        for sensor in self.sensors.values():
            sensor.reset()

    def _act(self, term: dict[str, Any], action: np.ndarray) -> None:
        if term["noise"] or any(term["latency"]):
            raise unknown("action", f"{term['kind']} with noise or latency")
        robot, control, kind = self.entity(term["entity"]), self.data.ctrl, term["kind"]
        if kind == "ActuatorAction":
            for name, value in zip(term["actuators"], term["scale"] * action, strict=True):
                control[self.model.actuator(f"{robot.name}/{name}").id] = value
            return
        servos = [robot.actuator(joint) for joint in term["joints"]]
        joints = [robot.joint_names.index(joint) for joint in term["joints"]]
        if kind in ("JointPositionAction", "JointVelocityAction", "JointEffortAction"):
            control[servos] = np.array(term["offset"]) + term["scale"] * action
        elif kind == "GripperAction":
            target = robot.joint_pos[joints].mean() + term["scale"] * action
            control[servos] = np.clip(target, *robot.joint_limits[joints].T)
        elif kind == "HandDisplacementAction":
            control[servos] = robot.joint_pos[joints] + self._hand_step(robot, term, joints, action)
        else:
            raise unknown("action", kind)

    def _hand_step(self, robot: Entity, term: dict[str, Any], joints: list[int], action: np.ndarray) -> np.ndarray:
        """By damped least squares, towards the displacement and the hand's orientation, against the arm's weight."""
        hand, dofs = robot.body(term["hand"]), [robot.qvel_ids[j] for j in joints]
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, linear, angular, hand)
        jacobian = np.concatenate((linear, angular))[:, dofs]
        back, inverse = np.zeros(4), np.zeros(4)
        mujoco.mju_negQuat(inverse, self.data.xquat[hand])
        mujoco.mju_mulQuat(back, np.array(term["orientation"]), inverse)
        wanted = np.concatenate((term["scale"] * action, 2.0 * back[1:] * np.sign(back[0])))
        ridge = term["damping"] ** 2 * np.eye(6)
        step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + ridge, wanted)
        step = np.clip(step, -term["max_joint_step"], term["max_joint_step"])
        ids = [robot.joint_ids[j] for j in joints]
        bodies = self.model.jnt_bodyid[ids]
        lever = self.model.body_subtreemass[bodies, None] * (self.data.subtree_com[bodies] - self.data.xanchor[ids])
        weight = (self.data.xaxis[ids] * np.cross(lever, self.model.opt.gravity)).sum(axis=1)
        return step - weight / self.model.actuator_gainprm[[robot.actuator(j) for j in term["joints"]], 0]

    def _draw_command(self, command: dict[str, Any]) -> np.ndarray:
        kind, random = command["kind"], self.random
        if kind == "velocity":
            low, high = np.array([command[axis] for axis in ("lin_x", "lin_y", "ang_z")]).T
            value, chance = random.uniform(low, high), random.uniform()
            if chance < command["standing_share"]:
                return np.zeros(3)
            if chance < command["standing_share"] + command["forward_share"]:
                return np.array([max(abs(value[0]), command["forward_min"]), 0.0, 0.0])
            return value
        if kind not in ("uniform", "place"):
            raise unknown("command", kind)
        value = random.uniform(command["low"], command["high"])
        if kind == "place" and random.uniform() < command["low_share"]:
            value[2] = command["low"][2]
        return value

    def _events(self, mode: str) -> list[dict[str, Any]]:
        events = self.metadata["episode"]["events"]
        return [{"name": name, **event} for name, event in events.items() if event["mode"] == mode]

    def _happen(self, event: dict[str, Any]) -> None:
        params, uniform = dict(event["params"]), self.random.uniform
        moved, qpos, qvel = self.entity(params.pop("entity", None)), self.data.qpos, self.data.qvel
        joints, first, speed = len(moved.joint_names), moved.free_qpos, moved.free_qvel
        if event["term"] == "jitter_joints":
            qpos[moved.qpos_ids] = moved.default_joint_pos + uniform(-params["pos"], params["pos"], joints)
            qvel[moved.qvel_ids] = uniform(-params["vel"], params["vel"], joints)
        elif event["term"] == "push_joint":
            [joint] = moved.joints(params["joint"])
            qvel[moved.qvel_ids[joint]] = uniform(-params["velocity"], params["velocity"])
        elif event["term"] == "push_root":
            qvel[speed : speed + 2] = uniform(-params["xy"], params["xy"], 2)
            qvel[speed + 5] = uniform(-params["yaw"], params["yaw"])
            if params["z"]:
                qvel[speed + 2] = uniform(-params["z"], params["z"])
            if params["tilt"]:
                qvel[speed + 3 : speed + 5] = uniform(-params["tilt"], params["tilt"], 2)
        elif event["term"] == "place_object":
            qpos[first : first + 2] += uniform(-params["xy"], params["xy"], 2)
        elif event["term"] == "place_root":
            start = np.array(self._starts[self._episodes % len(self._starts)])
            place = start[:2] + uniform(-params["xy"], params["xy"], 2)
            angle = uniform(-params["yaw"], params["yaw"])
            qpos[first : first + 2] += place
            qpos[first + 2] += self.ground_height(qpos[first], qpos[first + 1])
            qpos[first + 3 : first + 7] = [np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]
        else:
            raise unknown("event", event["term"] or event["function"])
        self.update()

    def _start_clock(self, name: str, seconds: list[float] | None) -> None:
        self._clocks[name] = np.inf if seconds is None else self.random.uniform(*seconds)

    def _is_due(self, name: str, seconds: list[float] | None) -> bool:
        self._clocks[name] -= self.control_dt
        if self._clocks[name] > 0.0:
            return False
        self._start_clock(name, seconds)
        return True
