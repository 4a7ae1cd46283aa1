"""Runs an exported policy against plain MuJoCo, without genelab and without torch.

    genelab export GeneLab-Inverted-Pendulum-v0 model_final.pt --format onnx --out policy.onnx
    python examples/deploy/mujoco_onnx.py policy.onnx

Needs numpy, onnxruntime and mujoco. All numbers (sizes, order, gains, noise, rewards, resets) come from
policy.onnx.metadata.json, the robot from policy.onnx.scene.xml. What the functions named in the metadata compute is
written out below for the pendulums; a real robot replaces `World` by its drivers and keeps `Policy` and `Observer`.
"""

import argparse
import json
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import onnxruntime


class Policy:
    """The ONNX file: one raw observation in, one action out. Carries the state of a recurrent policy along."""

    def __init__(self, path: Path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the network is far too small to share
        self._session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        self._ports = self._session.get_inputs()[1:]
        self.reset()

    def reset(self) -> None:
        """Start an episode."""
        self._state = {port.name: np.zeros((port.shape[0], 1, port.shape[2]), np.float32) for port in self._ports}

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        actions, *state = self._session.run(None, {"obs": obs[None].astype(np.float32), **self._state})
        self._state = dict(zip(self._state, state, strict=True))
        return actions[0]


class World:
    """One robot in MuJoCo, driven as the metadata says."""

    def __init__(self, metadata: dict[str, Any], folder: Path):
        self.metadata = metadata
        self.model = mujoco.MjModel.from_xml_path(str(folder / metadata["scene"]["file"]))
        self.model.opt.timestep = metadata["physics_dt"]
        self.data = mujoco.MjData(self.model)
        self.robot = metadata["robot"]
        self.joint_names: list[str] = self.robot["joint_names"]
        joints = [self.model.joint(f"{self.robot['name']}/{name}") for name in self.joint_names]
        self._qpos = [joint.qposadr[0] for joint in joints]
        self._qvel = [joint.dofadr[0] for joint in joints]
        self.default_joint_pos = np.array(self.robot["default_joint_pos"])
        self.action = self.previous_action = np.zeros(metadata["action_dim"])
        self.steps = 0

    @property
    def joint_pos(self) -> np.ndarray:
        return self.data.qpos[self._qpos]

    @property
    def joint_vel(self) -> np.ndarray:
        return self.data.qvel[self._qvel]

    def joints(self, patterns: str | list[str]) -> list[int]:
        """Indices of joints by regular expressions."""
        patterns = [patterns] if isinstance(patterns, str) else patterns
        return [i for i, name in enumerate(self.joint_names) if any(re.fullmatch(p, name) for p in patterns)]

    def angular_velocity(self, body: str) -> np.ndarray:
        """Of a body, in the world frame."""
        return self.data.cvel[self.model.body(f"{self.robot['name']}/{body}").id, :3]

    def reset(self, joint_pos: np.ndarray, joint_vel: np.ndarray) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.metadata["scene"]["default_qpos"]
        self.data.qpos[self._qpos], self.data.qvel[self._qvel] = joint_pos, joint_vel
        mujoco.mj_forward(self.model, self.data)
        self.action = self.previous_action = np.zeros(self.metadata["action_dim"])
        self.steps = 0

    def step(self, action: np.ndarray) -> None:
        """One control step: targets of the position servos, then physics."""
        self.previous_action, self.action = self.action, action.copy()
        for term in self.metadata["actions"]:
            if term["kind"] != "JointPositionAction":
                raise SystemExit(f"this example does not know actions of kind {term['kind']}")
            columns = slice(term["start"], term["start"] + term["dim"])
            self.action[columns] = np.clip(action[columns], *term["clip"])
            targets = np.array(term["offset"]) + term["scale"] * self.action[columns]
            for joint, target in zip(term["joints"], targets, strict=True):
                actuator = self.robot["actuators"][self.joint_names.index(joint)]
                self.data.actuator(f"{self.robot['name']}/{actuator}").ctrl = target
        mujoco.mj_step(self.model, self.data, self.metadata["decimation"])
        mujoco.mj_forward(self.model, self.data)  # velocities of bodies are those of the state before otherwise
        self.steps += 1


OBSERVATIONS: dict[str, Callable[..., np.ndarray]] = {
    "joint_pos_rel": lambda world: world.joint_pos - world.default_joint_pos,
    "joint_vel": lambda world: world.joint_vel,
    "body_ang_vel": lambda world, body: world.angular_velocity(body),
    "last_action": lambda world: world.action,
}
REWARDS: dict[str, Callable[..., float]] = {
    "alive": lambda world: 1.0,
    "cos_joint": lambda world, joint: np.cos(world.joint_pos[world.joints(joint)]).item(),
    "cos_pole_chain": lambda world, joints: np.cos(world.joint_pos[world.joints(joints)].cumsum()).mean(),
    "joint_pos_l2": lambda world, joints: np.square(world.joint_pos[world.joints(joints)]).sum(),
    "joint_vel_l2": lambda world, joints: np.square(world.joint_vel[world.joints(joints)]).sum(),
    "joint_difference_l2": lambda world, joint_a, joint_b: np.square(
        world.joint_pos[world.joints(joint_a)] - world.joint_pos[world.joints(joint_b)]
    ).item(),
    "action_rate_l2": lambda world: np.square(world.action - world.previous_action).sum(),
}
ENDS: dict[str, Callable[..., bool]] = {
    "time_out": lambda world: world.steps >= world.metadata["episode"]["max_steps"],
    "joint_beyond": lambda world, joint, limit: abs(world.joint_pos[world.joints(joint)].item()) > limit,
}


def evaluate(table: dict[str, Callable[..., Any]], term: dict[str, Any], world: World) -> Any:
    """The value of a term of the metadata: its function, by name, with its parameters."""
    name = term["function"].partition(":")[2]
    if name not in table:
        raise SystemExit(f"this example does not know '{term['function']}': add it to the tables")
    params = dict(term["params"])
    if params.pop("entity", None) not in (None, world.robot["name"]):
        raise SystemExit(f"this example knows one robot, and {name} is about another entity")
    return table[name](world, **params)


class Observer:
    """Builds the flat raw observation: terms side by side, then frames side by side. The policy scales and clips."""

    def __init__(self, metadata: dict[str, Any], noise: np.random.Generator | None = None):
        """With `noise`, sensors are as inaccurate as in training."""
        self._groups: list[dict[str, Any]] = sorted(metadata["obs_groups"].values(), key=lambda group: group["start"])
        self._frames = [deque[np.ndarray](maxlen=group["history"]) for group in self._groups]
        self._noise = noise

    def reset(self) -> None:
        """Start an episode."""
        for frames in self._frames:
            frames.clear()

    def __call__(self, world: World) -> np.ndarray:
        for group, frames in zip(self._groups, self._frames, strict=True):
            frame = np.concatenate([self._value(term, world) for term in group["terms"]])
            frames.extend([frame] * (1 if frames else group["history"]))  # the first frame fills the history
        return np.concatenate([frame for frames in self._frames for frame in frames])

    def _value(self, term: dict[str, Any], world: World) -> np.ndarray:
        value = evaluate(OBSERVATIONS, term, world)
        if self._noise is None or term["noise"] == 0.0:
            return value
        return value + self._noise.uniform(-term["noise"], term["noise"], value.shape)


def run_episode(world: World, policy: Policy, observer: Observer) -> tuple[float, int]:
    """Let the policy act from the world's present state until the episode ends. Returns its return and its length."""
    episode = world.metadata["episode"]
    unit = world.metadata["control_dt"] if episode["scale_rewards_by_dt"] else 1.0
    policy.reset()
    observer.reset()
    total, done = 0.0, False
    while not done:
        world.step(policy(observer(world)))
        total += unit * sum(r["weight"] * evaluate(REWARDS, r, world) for r in episode["rewards"].values())
        done = any(evaluate(ENDS, end, world) for end in episode["terminations"].values())
    return float(total), world.steps


def random_start(world: World, random: np.random.Generator) -> None:
    """Put the world where the task's episodes start."""
    position, velocity = world.default_joint_pos.copy(), np.zeros(len(world.joint_names))
    for event in world.metadata["episode"]["events"].values():
        if event["mode"] != "reset":
            continue
        if not event["function"].endswith(":jitter_joints"):
            raise SystemExit(f"this example does not know '{event['function']}'")
        position += random.uniform(-event["params"]["pos"], event["params"]["pos"], position.shape)
        velocity += random.uniform(-event["params"]["vel"], event["params"]["vel"], velocity.shape)
    world.reset(position, velocity)


def load(policy: Path, noise: np.random.Generator | None = None) -> tuple[World, Policy, Observer]:
    """Everything an episode needs, from a policy file and what lies beside it."""
    metadata = json.loads(policy.with_name(f"{policy.name}.metadata.json").read_text())
    return World(metadata, policy.parent), Policy(policy), Observer(metadata, noise)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", type=Path, help="an ONNX file of 'genelab export'")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-noise", action="store_true", help="exact sensors")
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    world, policy, observer = load(arguments.policy, None if arguments.no_noise else random)
    returns, lengths = [], []
    for _ in range(arguments.episodes):
        random_start(world, random)
        total, length = run_episode(world, policy, observer)
        returns.append(total)
        lengths.append(length)
    interval = 1.96 * np.std(returns, ddof=1) / np.sqrt(len(returns)) if len(returns) > 1 else np.nan
    print(
        f"return_mean {np.mean(returns):.3f} ± {interval:.3f} (95 %), length_mean {np.mean(lengths):.1f}, "
        f"{len(returns)} episodes, noise {'off' if arguments.no_noise else 'on'}"
    )


if __name__ == "__main__":
    main()
