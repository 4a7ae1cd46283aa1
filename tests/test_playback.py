"""Scenes that play themselves: the cube is exact, the hand follows its recording, and nothing can be learnt in them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from genelab.core.math import quat_apply
from genelab.core.registry import find
from genelab.envs import ManagerBasedEnv
from genelab.experiment.play import PlayRequest, run_playback
from genelab.tasks.playback import hand, rubiks

CUBE, HAND = "GeneLab-Rubiks-Play-v0", "GeneLab-Wuji-Hand-Playback-v0"
HOMES = np.array(rubiks.CUBIES)


def places(turned: np.ndarray) -> np.ndarray:
    return np.einsum("...cij,cj->...ci", turned, HOMES)


@pytest.fixture(scope="module")
def cube() -> Iterator[ManagerBasedEnv]:
    cfg = find(CUBE).env_cfg(play=True)
    cfg.num_envs = 2
    env = ManagerBasedEnv(cfg)
    yield env
    env.close()


def test_every_turn_moves_nine_cubies_and_leaves_all_on_the_grid() -> None:
    assert len(HOMES) == 26
    for before, after, turn in zip(rubiks.rests(), rubiks.rests()[1:], rubiks.script(), strict=False):
        moved = (before != after).any(axis=(1, 2))
        assert moved.sum() == (9 if turn.quarters else 0)
        assert {tuple(place) for place in places(after).tolist()} == set(rubiks.CUBIES)
        assert (np.linalg.det(after).round() == 1).all()


def test_the_solution_undoes_the_scramble() -> None:
    solved, scrambled = rubiks.rests()[0], rubiks.rests()[rubiks.PAUSES + len(rubiks.SCRAMBLE.split())]
    assert (rubiks.rests()[-1] == solved).all()
    assert (places(scrambled) != places(solved)).any(axis=1).sum() > 15


def test_faces_turn_clockwise_as_seen_from_outside() -> None:
    right = rubiks.script()[rubiks.PAUSES]  # R: the front comes up
    assert rubiks.SCRAMBLE.startswith("R ")
    front = rubiks.CUBIES.index((1, -1, 0))
    assert right == (0, 1, -1)
    assert places(rubiks.rests()[rubiks.PAUSES + 1])[front].tolist() == [1, 0, 1]


def test_after_each_turn_the_engine_has_every_cubie_where_the_script_has_it(cube: ManagerBasedEnv) -> None:
    steps = round(rubiks.TURN_S / cube.step_dt)
    homes = torch.tensor(HOMES, dtype=torch.float32)
    for turned in rubiks.rests()[1 : rubiks.PAUSES + 4]:
        for _ in range(steps):
            cube.play_step()
        found = quat_apply(cube.engine.qpos.view(2, -1, 4), homes.expand(2, -1, -1))
        np.testing.assert_allclose(found.numpy(), np.tile(places(turned), (2, 1, 1)), atol=1e-6)


def test_between_two_turns_only_one_layer_is_off_the_grid(cube: ManagerBasedEnv) -> None:
    cube.cfg.playback(cube, round((rubiks.PAUSES + 0.5) * rubiks.TURN_S / cube.step_dt))
    off = (cube.engine.qpos.view(2, -1, 4)[0, :, 0] - 1.0).abs() > 1e-3
    assert off.sum() == 9
    assert (HOMES[off.numpy(), 0] == 1).all()


def test_the_hand_follows_its_recording_and_begins_it_anew() -> None:
    env = ManagerBasedEnv(find(HAND).env_cfg(play=True))
    names, samples = hand.recording()
    assert names == env.robot.joint_names
    assert torch.equal(samples[0], samples[-1])
    assert (samples - samples.clamp(*env.robot.joint_limits.unbind(dim=1))).abs().max() < 1e-3
    every = round(1.0 / (hand.RATE * env.step_dt))
    for sample in samples[1 : 1 + 3 * int(hand.RATE)]:
        for _ in range(every):
            env.play_step()
        torch.testing.assert_close(env.robot.joint_pos[0], sample, atol=0.15, rtol=0.0)
    env.cfg.playback(env, every * (len(samples) - 1) + 9)
    later = env.engine.ctrl.clone()
    env.cfg.playback(env, 9)
    torch.testing.assert_close(env.engine.ctrl, later, atol=1e-4, rtol=0.0)
    env.close()


@pytest.mark.parametrize(("flags", "steps"), [(["--steps", "4"], 4), (["--steps", "9", "--max-steps", "3"], 3)])
def test_steps_and_max_steps_bound_a_scene_without_a_window(
    cli: Callable[..., Any], flags: list[str], steps: int
) -> None:
    outcome = cli("play", CUBE, *flags)
    assert outcome.code == 0
    assert f"played {steps} steps" in outcome.out


def test_who_acts_is_ignored_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    request = PlayRequest(HAND, [("env.simulation.steps", "2")], "trained", Path("none.pt"), num_envs=3, prof=True)
    assert run_playback(request, said.append) == 2
    warned = [line.split()[1] for line in said if line.startswith("warning:")]
    assert warned == ["--agent", "--checkpoint", "--num-envs", "--prof"]


@pytest.mark.parametrize("command", [("train",), ("eval", "x.pt"), ("export", "x.pt"), ("probe", "x.pt")], ids=str)
def test_commands_that_need_learning_say_so_in_one_line(cli: Callable[..., Any], command: tuple[str, ...]) -> None:
    name, *checkpoint = command
    outcome = cli(name, CUBE, *checkpoint)
    assert outcome.code == 2
    assert "has no agent config: it can be played, not trained" in outcome.err
    assert outcome.err.count("\n") == 1
