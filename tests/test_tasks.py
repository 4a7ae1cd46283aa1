"""The pendulums are the ones that were specified, and not easier ones."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from genelab.core.registry import find
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
