"""Runs an exported policy of any task in plain MuJoCo, without genelab and without torch.

    genelab export GeneLab-Inverted-Pendulum-v0 model_final.pt --format onnx --out policy.onnx
    python examples/deploy/mujoco_onnx.py policy.onnx

Needs numpy, onnxruntime and mujoco. All numbers (sizes, order, gains, noise, rewards, resets) come from
policy.onnx.metadata.json, the robot from policy.onnx.scene.xml. What the words in the metadata mean is written out in
terms.py and world.py; a real robot replaces `World` by its drivers and keeps `Policy` and `Observer`.
"""

import argparse
import hashlib
import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from terms import ENDS, OBSERVATIONS, REWARDS, evaluate
from world import World


class Policy:
    """The ONNX file: one raw observation in, one action out. Carries the state of a recurrent policy along."""

    def __init__(self, model: bytes):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the network is far too small to share
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._ports = self._session.get_inputs()[1:]
        self.reset()

    def reset(self) -> None:
        """Start an episode."""
        self._state = {port.name: np.zeros((port.shape[0], 1, port.shape[2]), np.float32) for port in self._ports}

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        actions, *state = self._session.run(None, {"obs": obs[None].astype(np.float32), **self._state})
        self._state = dict(zip(self._state, state, strict=True))
        return actions[0]


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


def run_episode(world: World, policy: Policy, observer: Observer, max_steps: int | None = None) -> tuple[float, int]:
    """Let the policy act from the world's present state until the episode ends. Returns its return and its length."""
    episode = world.metadata["episode"]
    unit = world.control_dt if episode["scale_rewards_by_dt"] else 1.0
    policy.reset()
    observer.reset()
    total, done = 0.0, False
    while not done and (max_steps is None or world.steps < max_steps):
        world.step(policy(observer(world)))
        total += unit * sum(r["weight"] * evaluate(REWARDS, r, world) for r in episode["rewards"].values())
        done = any(evaluate(ENDS, end, world) for end in episode["terminations"].values())
    return float(total), world.steps


def load(path: Path, random: np.random.Generator, noise: bool = False) -> tuple[World, Policy, Observer]:
    """Everything an episode needs, from a policy file and what lies beside it."""
    metadata = read_metadata(metadata_of(path))
    model, scene = path.read_bytes(), path.parent / metadata["scene"]["file"]
    for file, content, expected in (
        (path, model, metadata["sha256"]),
        (scene, scene.read_bytes(), metadata["scene"]["sha256"]),
    ):
        if hashlib.sha256(content).hexdigest() != expected:
            raise SystemExit(f"'{file}' is damaged, or its metadata are of another file: the sha256 differs")
    return World(metadata, path.parent, random), Policy(model), Observer(metadata, random if noise else None)


def metadata_of(path: Path) -> Path:
    """Where the metadata of a policy file are."""
    return path.with_name(f"{path.name}.metadata.json")


def read_metadata(path: Path) -> dict[str, Any]:
    """What an export says of itself. Its last entry is a checksum of the others."""
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
        expected = metadata.pop("checksum")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise SystemExit(f"'{path}' is damaged, or no metadata of an export: {error!r}") from error
    if hashlib.sha256(json.dumps(metadata).encode()).hexdigest()[:16] != expected:
        raise SystemExit(f"'{path}' is damaged or was changed: its checksum does not fit")
    return metadata


def run(path: Path, episodes: int, seed: int, noise: bool) -> tuple[list[float], list[int]]:
    """Returns and lengths of episodes."""
    world, policy, observer = load(path, np.random.default_rng(seed), noise)
    returns, lengths = [], []
    for _ in range(episodes):
        world.random_start()
        total, length = run_episode(world, policy, observer)
        returns.append(total)
        lengths.append(length)
    return returns, lengths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", type=Path, help="an ONNX file of 'genelab export'")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-noise", action="store_true", help="exact sensors")
    arguments = parser.parse_args()
    try:
        returns, lengths = run(arguments.policy, arguments.episodes, arguments.seed, not arguments.no_noise)
    except OSError as error:
        raise SystemExit(f"cannot read '{error.filename}': {error.strerror}") from error
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        place = metadata_of(arguments.policy)
        raise SystemExit(f"'{place}' does not describe a policy that this program knows: {error!r}") from error
    interval = 1.96 * np.std(returns, ddof=1) / np.sqrt(len(returns)) if len(returns) > 1 else np.nan
    print(
        f"return_mean {np.mean(returns):.3f} ± {interval:.3f} (95 %), length_mean {np.mean(lengths):.1f}, "
        f"{len(returns)} episodes, noise {'off' if arguments.no_noise else 'on'}"
    )


if __name__ == "__main__":
    main()
