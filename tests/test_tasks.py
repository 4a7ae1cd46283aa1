"""The pendulums are the ones that were specified, and not easier ones."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from genelab.core.registry import find, tasks
from genelab.envs import ManagerBasedRlEnv
from genelab.scene.scene import Scene

SINGLE = "GeneLab-Inverted-Pendulum-v0"
DOUBLE = "GeneLab-Double-Inverted-Pendulum-v0"


def pendulum(task_id: str, num_envs: int = 8) -> ManagerBasedRlEnv:
    cfg = find(task_id).env_cfg(play=True)
    cfg.num_envs = num_envs
    return ManagerBasedRlEnv(cfg)


@pytest.fixture(params=[SINGLE, DOUBLE])
def env(request: pytest.FixtureRequest) -> Iterator[ManagerBasedRlEnv]:
    made = pendulum(request.param)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("task_id", "limits"),
    [(SINGLE, {"slide": 3.0, "hinge": 1.2}), (DOUBLE, {"slide": 3.0, "hinge": 1.2, "hinge_2": 1.5})],
)
def test_joint_limits_are_the_specified_ones_in_metres_and_radians(task_id: str, limits: dict[str, float]) -> None:
    model = Scene(find(task_id).env_cfg().scene, 0.005).model
    for joint, limit in limits.items():
        np.testing.assert_allclose(model.joint(f"robot/{joint}").range, (-limit, limit))


def test_a_pole_that_nobody_balances_falls(env: ManagerBasedRlEnv) -> None:
    fallen = torch.zeros(env.num_envs, dtype=torch.bool)
    for _ in range(300):
        _, _, terminated, _, _ = env.step(torch.zeros(env.num_envs, 1))
        fallen |= terminated
    assert bool(fallen.all())


@pytest.mark.parametrize(
    ("task_id", "steps"), [(SINGLE, 1000), (DOUBLE, 1200), ("GeneLab-Inverted-Pendulum-Memory-v0", 100)]
)
def test_episodes_have_the_specified_length(task_id: str, steps: int) -> None:
    assert find(task_id).env_cfg().max_episode_length == steps


@pytest.mark.parametrize(("task_id", "size"), [(SINGLE, 8), (DOUBLE, 10), ("GeneLab-Inverted-Pendulum-Memory-v0", 9)])
def test_observations_have_the_specified_size(task_id: str, size: int) -> None:
    env = pendulum(task_id, num_envs=2)
    assert {group: tuple(value.shape) for group, value in env.obs.items()} == {"policy": (2, size), "critic": (2, size)}
    env.close()


@pytest.mark.parametrize("task_id", sorted(tasks()))
def test_pushes_happen_in_training_only(task_id: str) -> None:
    assert "push" not in find(task_id).env_cfg(play=True).events
