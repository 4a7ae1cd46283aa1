"""Probing a policy with fixed commands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from genelab.experiment.paired import PairedEnv
from genelab.experiment.probe import SETTLE_S, directions, measure, rollout
from genelab.mdp import VelocityCommandCfg
from genelab.rl.backends.base import Policy
from genelab.tasks.velocity.go1 import flat

FLAT = "Genelab-Velocity-Flat-Unitree-Go1-v0"
SMALL = {"agent__actor__hidden_dims": "8", "agent__critic__hidden_dims": "8", "agent__num_steps_per_env": 4}


class Still(Policy):
    """Keeps the default pose; falls over where it is told to."""

    def __init__(self, fallers: Tensor):
        self._action = torch.zeros(len(fallers), 12)
        self._action[fallers] = torch.tensor([8.0, 0.0, 0.0] * 4)  # all legs to one side

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        return self._action

    @property
    def module(self) -> nn.Module:
        raise NotImplementedError


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., Any]) -> Path:
    directory = tmp_path_factory.mktemp("go1") / "run"
    train_tiny(directory, FLAT, env__num_envs=2, agent__max_iterations=1, **SMALL)
    return directory / "model_final.pt"


def test_commands_go_both_ways_along_each_axis_at_full_and_half_the_tasks_range() -> None:
    commands = directions(VelocityCommandCfg(lin_x=(-1.0, 2.0), lin_y=(0.0, 0.0), ang_z=(-0.5, 0.5)))
    assert [c[0] for c in commands if c[0]] == [2.0, 1.0, -0.5, -1.0]
    assert [c[2] for c in commands if c[2]] == [0.5, 0.25, -0.25, -0.5]
    assert commands[-1] == (0.0, 0.0, 0.0)
    assert len(commands) == 9


def test_the_median_is_over_robots_that_did_not_fall() -> None:
    velocity = torch.tensor([[0.4, 0.0, 0.0], [0.5, 0.1, 0.0], [0.6, 0.0, 0.0], [-9.0, 0.0, 0.0]])
    upright = torch.tensor([True, True, True, False])
    row = measure((0.5, 0.0, 0.0), velocity, upright)
    assert (row["direction"], row["achieved"], row["falls"], row["worlds"]) == ("vx +0.5", 0.5, 1, 4)
    assert row["ratio"] == pytest.approx(1.0)
    assert measure((0.0, 0.0, -1.0), velocity, torch.zeros(4, dtype=torch.bool))["ratio"] is None
    still = measure((0.0, 0.0, 0.0), velocity[:1], upright[:1])
    assert (still["direction"], still["ratio"]) == ("stand", None)
    assert still["achieved"] == pytest.approx(0.4)


def test_a_robot_that_fell_counts_once_and_stays_down() -> None:
    cfg = flat(play=True)
    cfg.num_envs, cfg.episode_length_s, cfg.simulation.dt, cfg.decimation = 3, 3.0, 0.005, 4
    env = PairedEnv(cfg, seed=0)
    velocity, upright = rollout(env, Still(torch.tensor([False, True, False])), seed=0)
    assert upright.tolist() == [True, False, True]
    assert float(velocity[[0, 2]].abs().max()) < 0.05
    assert float(env.robot.projected_gravity[1, 2]) > -0.35  # nobody has put it back on its feet
    assert env.step_count == round(3.0 / env.step_dt) > round(SETTLE_S / env.step_dt)
    env.close()


def test_a_probe_prints_a_table_and_writes_the_numbers(
    cli: Callable[..., Any], checkpoint: Path, tmp_path: Path
) -> None:
    out = tmp_path / "probe.json"
    outcome = cli("probe", FLAT, checkpoint, "--num-envs", 2, "--seconds", 1.2, "--out", out)
    assert outcome.code == 0, outcome.err
    record = json.loads(out.read_text())
    rows = record["directions"]
    assert [row["direction"] for row in rows] == [
        *("vx +1", "vx +0.5", "vx -0.5", "vx -1", "vy +1", "vy +0.5", "vy -0.5", "vy -1"),
        *("wz +1", "wz +0.5", "wz -0.5", "wz -1", "stand"),
    ]
    assert all(row["worlds"] == 2 for row in rows)
    assert record["falls"] == sum(row["falls"] for row in rows)
    assert all(row["direction"] in outcome.out for row in rows)
    pushed = record["random_with_pushes"]
    assert (pushed["worlds"], pushed["seconds"]) == (2, 20.0)
    (line,) = [line for line in outcome.out.splitlines() if "random, pushed, 20 s" in line]
    assert f"{pushed['falls']}/2" in line


def test_a_probe_is_the_same_every_time(cli: Callable[..., Any], checkpoint: Path) -> None:
    first, second = (cli("probe", FLAT, checkpoint, "--num-envs", 1, "--seconds", 1.2).out for _ in range(2))
    assert first == second


def test_a_task_without_velocity_command_cannot_be_probed(mistake: Callable[..., str], trained_run: Path) -> None:
    line = mistake("probe", "GeneLab-Inverted-Pendulum-v0", trained_run / "model_final.pt")
    assert "task 'GeneLab-Inverted-Pendulum-v0' has no velocity command" in line


def test_what_a_probe_does_not_read_cannot_be_overridden(mistake: Callable[..., str], checkpoint: Path) -> None:
    assert "fixed commands" in mistake("probe", FLAT, checkpoint, "--env.commands.velocity.standing_share", "0")
    assert "at least one world" in mistake("probe", FLAT, checkpoint, "--num-envs", 0)
