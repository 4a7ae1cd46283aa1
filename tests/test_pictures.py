"""What pictures show beside the bodies of a world, and what they cost."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import pytest
import torch

from genelab.core.registry import find
from genelab.engines.pictures import SHADOW_SIZE, Arrow, Ball, Painter
from genelab.envs import ManagerBasedRlEnv

GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
FRANKA = "GeneLab-Franka-Pick-And-Place-v0"


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    cfg = find(GO1).env_cfg(play=True)
    cfg.num_envs = 2
    return ManagerBasedRlEnv(cfg)


def command(env: ManagerBasedRlEnv, *velocities: float) -> None:
    """Ask world 0 for these velocities, and world 1 to stand."""
    env.command_manager["velocity"][0] = torch.tensor(velocities)
    env.command_manager["velocity"][1] = 0.0


def face(env: ManagerBasedRlEnv, heading: float) -> None:
    """Turn the robots, at rest."""
    pose = env.robot.default_root_pose.repeat(2, 1)
    pose[:, 3:] = torch.tensor([math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2)])
    env.robot.write_root(torch.arange(2), pose[:, :3], pose[:, 3:], torch.zeros(2, 6))


@pytest.mark.parametrize("heading", [0.0, 2.0])
@pytest.mark.parametrize(("forward", "left"), [(1.0, 0.0), (0.0, 0.5), (-0.6, -0.6)])
def test_an_arrow_points_where_the_robot_is_asked_to_go(
    env: ManagerBasedRlEnv, heading: float, forward: float, left: float
):
    face(env, heading)
    command(env, forward, left, 0.0)
    [arrow] = env.marks(0)
    assert isinstance(arrow, Arrow)
    (x, y, z), (tip_x, tip_y, tip_z) = arrow.points
    robot = env.robot.root_pos[0].tolist()
    assert (x, y) == pytest.approx(robot[:2], abs=1e-6)
    assert z == tip_z > robot[2]
    expected = heading + math.atan2(left, forward)
    assert math.cos(math.atan2(tip_y - y, tip_x - x) - expected) == pytest.approx(1.0)


def test_an_arrow_is_as_long_as_the_speed(env: ManagerBasedRlEnv):
    lengths = []
    for speed in (0.5, 1.0):
        command(env, speed, 0.0, 0.0)
        [arrow] = env.marks(0)
        assert isinstance(arrow, Arrow)
        lengths.append(math.dist(*arrow.points))
    assert lengths[1] == pytest.approx(2 * lengths[0])


@pytest.mark.parametrize("turn", [0.7, -0.4])
def test_an_arrow_goes_round_the_way_the_robot_is_asked_to_turn(env: ManagerBasedRlEnv, turn: float):
    face(env, 0.0)
    command(env, 0.0, 0.0, turn)
    [arc] = env.marks(0)
    assert isinstance(arc, Arrow)
    x, y, _ = env.robot.root_pos[0].tolist()
    angles = [math.atan2(point[1] - y, point[0] - x) for point in arc.points]
    assert angles[0] == pytest.approx(0.0, abs=1e-5)
    assert angles[-1] == pytest.approx(turn, abs=1e-5)


def test_a_robot_that_is_asked_to_stand_has_no_arrow(env: ManagerBasedRlEnv):
    command(env, 1.0, 0.0, 0.0)
    assert env.marks(1) == []


def test_a_picture_shows_the_command_and_the_physics_does_not_know(env: ManagerBasedRlEnv):
    command(env, 0.0, 0.0, 0.0)
    before, geoms = env.engine.qpos.clone(), env.engine.model.ngeom
    standing = env.render(0, 160, 120)
    command(env, 1.0, 0.0, 0.5)
    walking = env.render(0, 160, 120)
    green = (walking.astype(int)[..., 1] - walking.astype(int)[..., 0]) > 60
    assert green.sum() > 20
    assert not ((standing.astype(int)[..., 1] - standing.astype(int)[..., 0]) > 60).any()
    assert torch.equal(env.engine.qpos, before)
    assert env.engine.model.ngeom == geoms


def test_a_place_without_an_object_that_shows_it_is_shown_as_a_ball():
    cfg = find(FRANKA).env_cfg(play=True)
    cfg.num_envs = 1
    [name] = cfg.commands
    cfg.commands[name].marker = ""  # type: ignore[attr-defined]
    env = ManagerBasedRlEnv(cfg)
    [ball] = env.marks(0)
    assert isinstance(ball, Ball)
    assert ball.centre == pytest.approx(env.command_manager[name][0].tolist())


def test_pictures_are_drawn_with_settings_that_a_cpu_can_bear(env: ManagerBasedRlEnv):
    painter = Painter(env.engine.model, 64, 48)
    painter.paint(env.engine.world_data(0), None)
    assert painter.drawn is not None
    assert painter.drawn.vis.quality.offsamples == 0
    assert painter.drawn.vis.quality.shadowsize <= SHADOW_SIZE
    painter.close()


def test_a_video_is_wide_enough_to_see_something(cli: Callable[..., Any], tmp_path: Path):
    video = tmp_path / "film.mp4"
    outcome = cli("play", "GeneLab-Inverted-Pendulum-v0", "--steps", 3, "--video", video)
    assert outcome.code == 0, outcome.err
    assert next(imageio_ffmpeg.read_frames(str(video)))["size"][0] >= 640
