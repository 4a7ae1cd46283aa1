"""Observation groups of images: shapes, histories, noise, scale, and who can read them."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from genelab import mdp
from genelab.clients import gym
from genelab.core.errors import UserError
from genelab.core.registry import TaskSpec, find, register, unregister
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, ObservationGroupCfg, ObservationTermCfg
from genelab.rl.backends import load_policy
from genelab.rl.cfg import Sb3AgentCfg, SkrlAgentCfg
from genelab.rl.methods.base import batch_of

PENDULUM = "GeneLab-Inverted-Pendulum-v0"
IMAGES = "Test-Images-v0"


def age_image(env: ManagerBasedRlEnv, channels: int = 1, height: int = 4, width: int = 6) -> Tensor:
    """Pictures of the age of each world's episode, and of the number of the channel.  (N, C, H, W)"""
    age = env.episode_length_buf.float().view(-1, 1, 1, 1)
    return (age + 100.0 * torch.arange(channels).view(1, -1, 1, 1)).expand(-1, channels, height, width)


def picture(**settings: Any) -> ObservationTermCfg:
    return ObservationTermCfg(age_image, **settings)


def with_group(terms: dict[str, ObservationTermCfg], group: str = "camera", **settings: Any) -> ManagerBasedRlEnvCfg:
    cfg = find(PENDULUM).env_cfg(play=True)
    cfg.num_envs, cfg.simulation.threads = 2, 1
    cfg.observations[group] = ObservationGroupCfg(terms=terms, **settings)
    return cfg


def image_task(play: bool = False) -> ManagerBasedRlEnvCfg:
    """The inverted pendulum, of which the policy sees pictures only."""
    return with_group({"picture": picture()}, group="policy")


def run(env: ManagerBasedRlEnv, steps: int) -> dict[str, Tensor]:
    for _ in range(steps):
        env.step(torch.zeros(env.num_envs, env.num_actions))
    return env.obs


def test_an_image_stays_an_image():
    env = ManagerBasedRlEnv(with_group({"picture": picture()}))
    group = env.observation_manager.groups["camera"]
    assert (group.shape, group.dim) == ((1, 4, 6), 24)
    assert torch.equal(run(env, 3)["camera"], torch.full((2, 1, 4, 6), 3.0))
    assert env.observation_manager.groups["critic"].shape == (8,)


def test_images_of_one_size_are_stacked_channel_upon_channel():
    env = ManagerBasedRlEnv(with_group({"a": picture(params={"channels": 2}), "b": picture()}))
    assert env.obs["camera"].shape == (2, 3, 4, 6)
    assert env.obs["camera"][0, :, 0, 0].tolist() == [0.0, 100.0, 0.0]


def test_frames_of_a_history_follow_each_other_in_the_channels_oldest_first():
    env = ManagerBasedRlEnv(with_group({"picture": picture(params={"channels": 2})}, history=3))
    assert env.observation_manager.groups["camera"].shape == (6, 4, 6)
    assert env.obs["camera"][0, :, 1, 1].tolist() == [0, 100, 0, 100, 0, 100]
    assert run(env, 4)["camera"][0, :, 1, 1].tolist() == [2, 102, 3, 103, 4, 104]
    env.episode_length_buf[1] = env.max_episode_length - 1
    obs = run(env, 1)["camera"]
    assert obs[0, :, 1, 1].tolist() == [3, 103, 4, 104, 5, 105]
    assert obs[1, :, 1, 1].tolist() == [0, 100, 0, 100, 0, 100]


def test_noise_scale_and_clip_are_per_image():
    terms = {"clean": picture(scale=0.5, clip=(0.0, 1.0)), "noisy": picture(noise=0.1)}
    env = ManagerBasedRlEnv(with_group(terms, noise=True))
    obs = run(env, 4)["camera"]
    assert obs[:, 0].unique().tolist() == [1.0]
    assert 0.0 < float((obs[:, 1] - 4.0).abs().max()) <= 0.1001
    with env.observation_manager.raw(["camera"]) as [group]:
        raw = run(env, 1)["camera"]
    assert raw[:, 0].unique().tolist() == [5.0]
    assert group.process_raw(raw)[:, 0].unique().tolist() == [1.0]


def test_a_restored_environment_has_the_images_of_its_history():
    env, other = (ManagerBasedRlEnv(with_group({"picture": picture()}, history=2), seed) for seed in (0, 1))
    run(env, 3)
    other.load_state_dict(env.state_dict())
    assert torch.equal(run(env, 1)["camera"], run(other, 1)["camera"])


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (
            {"picture": picture(), "joints": ObservationTermCfg(mdp.joint_vel)},
            r"'camera' mixes vectors and images: 'picture' is \(1, 4, 6\), 'joints' is \(2,\)",
        ),
        (
            {"small": picture(), "large": picture(params={"width": 8})},
            r"'camera' has images of different sizes: 'small' is \(1, 4, 6\), 'large' is \(1, 4, 8\)",
        ),
    ],
)
def test_terms_that_do_not_go_together_are_an_error_that_names_them(terms: dict[str, Any], message: str):
    with pytest.raises(UserError, match=message):
        ManagerBasedRlEnv(with_group(terms))


def test_a_table_of_observations_shows_the_shapes_of_images():
    env = ManagerBasedRlEnv(with_group({"picture": picture()}, history=2))
    table = env.observation_manager.groups["camera"].table()
    assert table.title == "observations: camera (1 x 4 x 6 x 2 frames)"
    assert table.rows[0][:2] == ("picture", (1, 4, 6))


# Readers --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def task_id() -> Iterator[str]:
    register(TaskSpec(id=IMAGES, env=f"{__name__}:image_task", summary="The pendulum in pictures."))
    yield IMAGES
    unregister(IMAGES)


def test_gymnasium_spaces_have_the_shape_of_the_image(task_id: str):
    env, envs = gym.make(task_id), gym.make_vector(task_id, num_envs=3)
    assert env.observation_space.shape == (1, 4, 6)
    assert env.observation_space.contains(env.reset(seed=0)[0])
    assert envs.observation_space.shape == (3, 1, 4, 6)
    assert envs.observation_space.contains(envs.reset(seed=0)[0])


def test_rsl_rl_gets_images_as_images():
    env = ManagerBasedRlEnv(with_group({"picture": picture()}))
    assert batch_of(env, env.obs)["camera"].shape == (2, 1, 4, 6)


@pytest.mark.parametrize(
    ("library", "agent"),
    [
        ("skrl", SkrlAgentCfg(obs_groups={"actor": ("policy", "camera"), "critic": ("critic",)})),
        ("stable_baselines3", Sb3AgentCfg(obs_groups=("policy", "camera"))),
    ],
)
def test_libraries_whose_networks_read_vectors_refuse_images_by_name(library: str, agent: Any):
    pytest.importorskip(library)
    env = ManagerBasedRlEnv(with_group({"picture": picture()}))
    message = rf"observation group 'camera' has the shape \(1, 4, 6\), but the networks of a {type(agent).__name__}"
    with pytest.raises(UserError, match=message):
        load_policy(env, agent, {})
