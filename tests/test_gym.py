"""Tasks as gymnasium environments."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env
from torch import Tensor

from genelab import EventTermCfg, ManagerBasedRlEnvCfg, TaskSpec, mdp
from genelab.clients import gym
from genelab.core.errors import UserError
from genelab.core.registry import find
from task_sample import SAMPLE

IDS = [f"genelab/{task}" for task in SAMPLE]


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


PENDULUM, FRANKA = "genelab/GeneLab-Inverted-Pendulum-v0", "genelab/GeneLab-Franka-Pick-And-Place-v0"
SHORT = {"env.episode_length_s": 0.05}


@pytest.mark.parametrize("name", IDS)
def test_an_environment_as_made_passes_the_checker_of_stable_baselines3(name: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker.check_env(gymnasium.make(name))


def test_only_goal_tasks_have_compute_reward() -> None:
    for name in (PENDULUM, FRANKA):
        assert hasattr(gymnasium.make(name), "compute_reward") == (name == FRANKA)
        assert hasattr(gymnasium.make_vec(name, num_envs=1), "compute_reward") == (name == FRANKA)


def test_environments_without_a_seed_are_different_and_say_their_seed() -> None:
    resets = [gymnasium.make_vec(PENDULUM, num_envs=2).reset() for _ in range(2)]
    assert not np.array_equal(resets[0][0], resets[1][0])
    seed = int(resets[0][1]["seed"][0])
    np.testing.assert_array_equal(gymnasium.make_vec(PENDULUM, num_envs=2).reset(seed=seed)[0], resets[0][0])
    obs, info = gymnasium.make(PENDULUM).reset()
    np.testing.assert_array_equal(gymnasium.make(PENDULUM).reset(seed=info["seed"])[0], obs)


def test_the_seed_of_a_reset_decides_what_start_up_events_draw(offer: Callable[..., None]) -> None:
    def masses(seed: int | None) -> Tensor:
        env = gym.make("Start-Up-v0")
        env.reset(seed=seed)
        return env.env.engine.model_field("body_mass").clone()

    offer(TaskSpec(id="Start-Up-v0", env=f"{__name__}:start_up", summary="Random masses."))
    assert torch.equal(masses(1), masses(1))
    assert not torch.equal(masses(1), masses(2))
    assert not torch.equal(masses(None), masses(None))


def start_up(play: bool = False) -> ManagerBasedRlEnvCfg:
    """The pendulum with masses of its own in every environment."""
    cfg = find("GeneLab-Inverted-Pendulum-v0").env_cfg(play=play)
    masses = {"bodies": ".*", "low": 0.5, "high": 1.5, "operation": "scale"}
    cfg.events["masses"] = EventTermCfg(mdp.randomize_mass, mode="startup", params=masses)
    return cfg


def test_every_seed_of_a_list_counts() -> None:
    envs = gym.make_vector("GeneLab-Inverted-Pendulum-v0", num_envs=2)
    seeds = [envs.reset(seed=given)[1]["seed"][0] for given in ([1, 2], [1, 2], [1, 3])]
    assert seeds[0] == seeds[1] != seeds[2]
    with pytest.raises(UserError, match="3 seeds for 2 worlds"):
        envs.reset(seed=[1, 2, 3])


def test_a_step_before_the_first_reset_is_refused() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        gymnasium.make(PENDULUM).step(np.zeros(1, np.float32))
    envs = gymnasium.make_vec(PENDULUM, num_envs=2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((2, 1), np.float32))


def ends(mode: str) -> tuple[Any, list[Any]]:
    """An environment with episodes of five steps, and what its steps five and six return."""
    envs = gymnasium.make_vec(PENDULUM, num_envs=3, overrides=SHORT, autoreset_mode=mode)
    envs.reset(seed=0)
    steps = [envs.step(np.full((3, 1), 0.1, np.float32)) for _ in range(6)]
    return envs, steps[4:]


def test_with_next_step_the_last_observation_comes_first_and_the_reset_a_step_later() -> None:
    envs, (last, first) = ends("NEXT_STEP")
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    assert last[3].all()
    assert "final_obs" not in last[4]
    assert not first[1].any()
    assert not first[3].any()
    assert (first[0][:, -1] == 0.0).all()  # no action yet
    assert (last[0][:, -1] != 0.0).all()


def test_with_autoreset_disabled_worlds_wait_for_a_reset_of_their_own() -> None:
    envs, (last, _) = ends("DISABLED")
    assert last[3].all()
    mask = np.array([True, False, False])
    obs, _ = envs.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(obs[:, -1] == 0.0, mask)


def test_gymnasiums_normalisation_of_observations_works() -> None:
    envs = gymnasium.make_vec(PENDULUM, num_envs=4, overrides=SHORT, autoreset_mode="NEXT_STEP")
    normal = gymnasium.wrappers.vector.NormalizeObservation(envs)
    normal.reset(seed=0)
    for _ in range(12):
        obs, *_ = normal.step(normal.action_space.sample())
    assert np.isfinite(obs).all()


def test_presets_are_arguments_of_make() -> None:
    env = gymnasium.make("genelab/Genelab-Velocity-Flat-Unitree-Go1-v0", preset="cpu")
    assert env.unwrapped.env.cfg.decimation == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"preset": "cpuu"}, "did you mean 'cpu'"),
        ({"autoreset_mode": "NEXT"}, "autoreset_mode 'NEXT'"),
        ({"overrides": {"agent.max_iterations": 3}}, "a gymnasium environment has no agent"),
    ],
)
def test_a_wrong_argument_is_a_users_error(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gymnasium.make_vec(PENDULUM, num_envs=1, **kwargs)


def test_options_of_reset_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UserError, match="reset has no option 'level'"):
        gymnasium.make(PENDULUM).reset(options={"level": 3})
    envs = gymnasium.make_vec(PENDULUM, num_envs=2)
    with pytest.raises(UserError, match="did you mean 'reset_mask'"):
        envs.reset(options={"reset_mas": [True, False]})
    with pytest.raises(UserError, match="reset_mask must be 2 booleans"):
        envs.reset(options={"reset_mask": [1, 0, 1]})
