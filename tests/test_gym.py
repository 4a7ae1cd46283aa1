"""Tasks as gymnasium environments."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import genelab  # noqa: F401  (registers the ids)
from genelab.core.registry import tasks

IDS = [f"genelab/{task}" for task in tasks()]


@pytest.mark.parametrize("name", IDS)
def test_a_single_world_passes_gymnasiums_checker(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unbounded observations are only a warning
        check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_a_vector_environment_has_the_spaces_it_says(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=3)
    obs, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(obs)
    obs, rewards, terminated, truncated, _ = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(obs)
    assert rewards.shape == terminated.shape == truncated.shape == (3,)
    envs.close()


def test_the_same_seed_gives_the_same_episodes() -> None:
    def rollout() -> np.ndarray:
        envs = gymnasium.make_vec(IDS[0], num_envs=2)
        envs.action_space.seed(3)
        observations = [envs.reset(seed=7)[0]]
        observations += [envs.step(envs.action_space.sample())[0] for _ in range(30)]
        return np.stack(observations)

    np.testing.assert_array_equal(rollout(), rollout())


def test_worlds_reset_in_the_step_in_which_they_end_and_hand_over_the_last_observation() -> None:
    short = {"env.episode_length_s": 0.05}
    envs = gymnasium.make_vec("genelab/GeneLab-Inverted-Pendulum-v0", num_envs=4, overrides=short)
    envs.reset(seed=0)
    for _ in range(5):
        obs, _, _, truncated, infos = envs.step(np.zeros((4, 1), np.float32))
    assert truncated.all()
    assert infos["_final_obs"].all()
    assert not np.array_equal(np.stack(infos["final_obs"]), obs)


@pytest.mark.parametrize("order", ["import genelab, gymnasium", "import gymnasium, genelab"])
def test_importing_genelab_before_or_after_gymnasium_registers_the_tasks(order: str) -> None:
    code = f"{order}; print(gymnasium.spec('{IDS[0]}').id)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == IDS[0]
