"""Agents of other libraries train in our tasks with their own programs."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from genelab import clients
from genelab.rl.backends import BACKENDS

ROOT = Path(__file__).parent.parent
SHORT = {"env.episode_length_s": 0.05}


def test_stable_baselines3_trains_in_its_vector_environment() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import VecNormalize

    from genelab.clients import Sb3VecEnv

    envs = Sb3VecEnv("GeneLab-Inverted-Pendulum-v0", num_envs=4, overrides=SHORT)
    agent = sb3.PPO("MlpPolicy", VecNormalize(envs), n_steps=16, batch_size=32, n_epochs=1, seed=1)
    agent.learn(128)
    assert agent.num_timesteps == 128
    envs.reset()
    for _ in range(5):
        _, _, dones, infos = envs.step(np.zeros((4, 1), np.float32))
    assert dones.all()
    assert all(info["TimeLimit.truncated"] and info["terminal_observation"].shape == (8,) for info in infos)


def test_hindsight_of_stable_baselines3_reaches_the_reward_of_the_goal() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from genelab.clients import Sb3VecEnv

    envs = Sb3VecEnv("GeneLab-Franka-Pick-And-Place-v0", num_envs=2, overrides={"env.episode_length_s": 0.5})
    settings = {"learning_starts": 40, "buffer_size": 200, "batch_size": 8, "seed": 1}
    agent = sb3.SAC("MultiInputPolicy", envs, replay_buffer_class=sb3.HerReplayBuffer, **settings)
    agent.learn(60)
    assert agent.num_timesteps >= 60


def test_ppo_of_stable_baselines3_learns_to_balance() -> None:
    pytest.importorskip("stable_baselines3")
    assert return_of("sb3_ppo", steps=30_720) > 30.0


def test_ppo_of_skrl_trains() -> None:
    pytest.importorskip("skrl")
    assert return_of("skrl_ppo", steps=3_072) > 0.0


def return_of(example: str, steps: int) -> float:
    """What an example prints at its end."""
    command = [sys.executable, str(ROOT / f"examples/{example}.py"), "12", str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-3])


def test_skrl_takes_its_own_wrapper() -> None:
    pytest.importorskip("skrl")
    from genelab.clients import SkrlEnv

    envs = SkrlEnv("GeneLab-Inverted-Pendulum-v0", num_envs=3, overrides=SHORT)
    obs, _ = envs.reset()
    assert (envs.num_envs, tuple(obs.shape)) == (3, (3, 8))
    for _ in range(5):
        obs, rewards, terminated, truncated, extras = envs.step(torch.zeros(3, 1))
    assert rewards.shape == terminated.shape == truncated.shape == (3, 1)
    assert bool(truncated.all())
    assert not torch.equal(extras["final_obs"], obs)
    assert envs.render() is None  # asked for after every step


def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "sb3", dataclasses.replace(BACKENDS["sb3"], requires="no_such_library"))
    with pytest.raises(ImportError, match=r"pip install genelab\[sb3\]"):
        _ = clients.Sb3VecEnv
