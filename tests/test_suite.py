"""The control suite: every observation and reward is what dm_control's own code makes of the same state."""

import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv
from genelab.tasks.suite import ROWS

pytestmark = pytest.mark.suite
find_spec = importlib.util.find_spec
NAMES = [row.name for row in ROWS]
STATES = 12
"""In tests/data/suite.npz, of each task; made by make_suite.py beside it."""
SIZES = {
    "AcrobotSwingup": (6, 1, 0.01, 1),
    "AcrobotSwingupSparse": (6, 1, 0.01, 1),
    "BallInCup": (8, 2, 0.002, 10),
    "CartpoleBalance": (5, 1, 0.01, 1),
    "CartpoleBalanceSparse": (5, 1, 0.01, 1),
    "CartpoleSwingup": (5, 1, 0.01, 1),
    "CartpoleSwingupSparse": (5, 1, 0.01, 1),
    "CheetahRun": (17, 6, 0.01, 1),
    "FingerSpin": (9, 2, 0.005, 4),
    "FingerTurnEasy": (12, 2, 0.005, 4),
    "FingerTurnHard": (12, 2, 0.005, 4),
    "FishSwim": (24, 5, 0.002, 20),
    "HopperHop": (15, 4, 0.005, 4),
    "HopperStand": (15, 4, 0.005, 4),
    "HumanoidStand": (67, 21, 0.005, 5),
    "HumanoidWalk": (67, 21, 0.005, 5),
    "HumanoidRun": (67, 21, 0.005, 5),
    "PendulumSwingup": (3, 1, 0.01, 2),
    "PointMass": (4, 2, 0.02, 1),
    "ReacherEasy": (6, 2, 0.005, 4),
    "ReacherHard": (6, 2, 0.005, 4),
    "SwimmerSwimmer6": (25, 5, 0.003, 10),
    "WalkerRun": (24, 6, 0.0025, 10),
    "WalkerStand": (24, 6, 0.0025, 10),
    "WalkerWalk": (24, 6, 0.0025, 10),
}
"""Observations, actions, physics time step, and physics steps per control step, as published."""


@pytest.fixture(scope="module", params=NAMES)
def env(request: pytest.FixtureRequest) -> Iterator[ManagerBasedRlEnv]:
    """A task in as many worlds as there are states to compare; shared by the tests that follow."""
    cfg = find(f"Playground-{request.param}-v0").env_cfg()
    cfg.num_envs, cfg.simulation.threads = STATES, 1
    made = ManagerBasedRlEnv(cfg, seed=3)
    made.name = request.param  # type: ignore[attr-defined]
    yield made
    made.close()


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).with_name("data") / "suite.npz") as file:
        return dict(file)


def of(env: ManagerBasedRlEnv, key: str) -> torch.Tensor:
    """What dm_control recorded of a task, by state."""
    return torch.from_numpy(recorded()[f"{env.name}/{key}"])  # type: ignore[attr-defined]


def put(env: ManagerBasedRlEnv) -> None:
    """Put each world into one of the recorded states."""
    env.engine.set_state(torch.arange(STATES), of(env, "qpos"), of(env, "qvel"))
    env.engine.ctrl.copy_(of(env, "ctrl"))
    if "target" in env.command_manager.terms:
        env.command_manager["target"].copy_(of(env, "target"))


def test_observations_are_those_of_dm_control(env: ManagerBasedRlEnv) -> None:
    put(env)
    torch.testing.assert_close(env.observation_manager.compute()["policy"], of(env, "obs"), rtol=1e-4, atol=2e-4)


def test_rewards_are_those_of_dm_control(env: ManagerBasedRlEnv) -> None:
    put(env)
    expected = of(env, "reward")
    assert expected.max() > expected.min()
    torch.testing.assert_close(env.reward_manager.compute(), expected, rtol=1e-4, atol=2e-5)


def test_sizes_and_times_are_the_published_ones(env: ManagerBasedRlEnv) -> None:
    cfg = env.cfg
    sizes = (env.observation_manager.groups["policy"].dim, env.num_actions, cfg.simulation.dt, cfg.decimation)
    assert sizes == SIZES[env.name]  # type: ignore[attr-defined]
    assert env.max_episode_length == 1000


def test_random_actions_give_rewards_between_zero_and_one_and_end_nothing(env: ManagerBasedRlEnv) -> None:
    env.reset(seed=0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        obs, rewards, terminated, truncated, _ = env.step(
            2.0 * torch.randn(STATES, env.num_actions, generator=generator)
        )
        assert obs["policy"].isfinite().all()
        assert ((rewards >= 0.0) & (rewards <= 1.0)).all()
        assert not (terminated | truncated).any()
    assert env.engine.ctrl.abs().max() <= 1.0


def test_accelerations_are_those_of_dm_control(env: ManagerBasedRlEnv) -> None:
    """Masses, motors, fluid, tendons, contacts and solver: attached to a world, the model moves as in its own."""
    model = env.scene.model
    data, found = mujoco.MjData(model), []
    for qpos, qvel, ctrl in zip(*(of(env, key).numpy() for key in ("qpos", "qvel", "ctrl")), strict=True):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, ctrl
        mujoco.mj_forward(model, data)
        found.append(data.qacc.copy())
    expected = of(env, "qacc").numpy()
    # The scene takes MuJoCo's shortcut for bodies that only slide away, which softens contacts of the ball a little.
    apart = 1e-2 if env.name == "BallInCup" else 1e-3  # type: ignore[attr-defined]
    np.testing.assert_allclose(np.array(found), expected, rtol=apart, atol=apart * np.abs(expected).max())


def test_every_episode_of_the_same_seed_starts_the_same_and_others_do_not(env: ManagerBasedRlEnv) -> None:
    first, again, other = (env.reset(seed=seed)["policy"].clone() for seed in (1, 1, 2))
    torch.testing.assert_close(first, again, rtol=0.0, atol=0.0)
    still = env.name.startswith(("BallInCup", "Humanoid"))  # type: ignore[attr-defined]
    assert torch.equal(first, other) == still, "these two start in one pose, all others in random ones"
    assert (env.engine.qvel.abs() < 10.0).all()


def test_a_done_task_is_a_success() -> None:
    cfg = find("Playground-ReacherEasy-v0").env_cfg()
    cfg.num_envs, cfg.episode_length_s, cfg.simulation.threads = 2, 0.02, 1
    env = ManagerBasedRlEnv(cfg)
    finger = env.robot.body_pos[:, env.robot.body_names.index("finger")]
    env.command_manager["target"].copy_(finger + torch.tensor([[0.01, 0.0, 0.0], [0.2, 0.0, 0.0]]))
    *_, extras = env.step(torch.zeros(2, 2))
    assert extras["is_success"].tolist() == [True, False]


def test_targets_are_drawn_from_where_they_should_be() -> None:
    def places(name: str) -> torch.Tensor:
        cfg = find(f"Playground-{name}-v0").env_cfg()
        cfg.num_envs, cfg.simulation.threads = 4000, 1
        return ManagerBasedRlEnv(cfg).command_manager["target"]

    reacher = places("ReacherEasy")[:, :2].norm(dim=1)
    assert 0.05 <= reacher.min() < 0.06
    assert 0.19 < reacher.max() <= 0.2
    finger = places("FingerTurnEasy") - torch.tensor([0.2, 0.0, 0.4])
    torch.testing.assert_close(finger.norm(dim=1), torch.full((4000,), 0.13))
    assert finger[:, [0, 2]].mean(dim=0).abs().max() < 0.01, "all around"
    swimmer = places("SwimmerSwimmer6")
    near = (swimmer[:, :2].abs().amax(dim=1) <= 0.3).float().mean()
    assert near == pytest.approx(0.2 + 0.8 * 0.15**2, abs=0.03)
    assert 1.9 < swimmer.max() <= 2.0


def test_the_settled_cheetah_rests_on_the_ground() -> None:
    cfg = find("Playground-CheetahRun-v0").env_cfg()
    cfg.num_envs, cfg.simulation.threads = 64, 1
    env = ManagerBasedRlEnv(cfg)
    assert env.engine.qvel.abs().mean() < 0.1
    assert env.robot.joint_pos[:, 3:].std(dim=0).min() > 0.0


def test_without_dm_control_one_line_says_what_to_install(
    mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None if name == "dm_control" else find_spec(name))
    message = mistake("train", "Playground-CartpoleBalance-v0", "--max-iterations", 1)
    assert "pip install 'genelab[suite]'" in message


def test_a_ring_needs_a_distance_and_an_angle(mistake: Callable[..., str]) -> None:
    assert "not 3 values" in mistake(
        *("info", "Playground-ReacherEasy-v0", "--env.commands.target.low", "0,0,0"),
        *("--env.commands.target.high", "1,1,1"),
    )
