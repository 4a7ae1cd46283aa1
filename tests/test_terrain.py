"""Terrain: the ground that is seen is the ground that is walked on, and robots move to the level they have earned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import torch
from tensordict import TensorDict

from genelab import mdp
from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.overrides import apply, validate
from genelab.core.registry import find
from genelab.core.stored_config import from_dict
from genelab.engines import make_engine
from genelab.engines.base import Engine
from genelab.engines.pictures import Painter
from genelab.envs import CurriculumTermCfg, ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.rl.evaluator import RandomPolicy, evaluate
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.scene.robots.go1 import go1
from genelab.scene.scene import GroundCfg, Scene, SceneCfg
from genelab.scene.terrain import MIXED, Terrain, TerrainCfg
from genelab.scene.terrain_shapes import LARGE_SIZES, SHAPES, SIZES, size_name
from genelab.tasks.velocity.go1 import rough, rough_ppo

ROUGH = "Genelab-Velocity-Rough-Unitree-Go1-v0"
ALL_SHAPES = tuple(SHAPES)


def small(**changes: Any) -> TerrainCfg:
    """A grid of a few small cells."""
    return TerrainCfg(
        **{"rows": 4, "columns": ("stairs_up", "rough"), "cell": 6.0, "border": 2.0, "platform": 2.0, **changes}
    )


def rough_env(num_envs: int = 8, play: bool = False, terrain: TerrainCfg | None = None) -> ManagerBasedRlEnv:
    cfg = rough(play)
    cfg.num_envs = num_envs
    cfg.scene.terrain = terrain or small(spread=play)
    cfg.simulation.dt, cfg.decimation = 0.005, 4
    return ManagerBasedRlEnv(cfg, seed=3)


def bare(terrain: TerrainCfg | None, num_envs: int = 1) -> Engine:
    """Worlds with nothing on the ground: the robot is high in the sky."""
    robot = go1()
    robot.pos = (0.0, 0.0, 50.0)
    return make_engine("mujoco", Scene(SceneCfg(terrain=terrain, robots={"robot": robot}), 0.005), num_envs)


def cell(terrain: Terrain, level: int, column: int) -> np.ndarray:
    """The vertices of one cell."""
    cfg = terrain.cfg
    n, border = round(cfg.cell / cfg.horizontal), round(cfg.border / cfg.horizontal)
    y, x = border + column * n, border + level * n
    return terrain.heights[y : y + n + 1, x : x + n + 1]


@pytest.fixture(scope="module")
def every_shape() -> Terrain:
    return Terrain(small(columns=ALL_SHAPES, rows=3, sizes=LARGE_SIZES))


@pytest.fixture(scope="module")
def reference() -> Terrain:
    return Terrain(TerrainCfg(border=1.0))


# The height field


def test_the_height_at_any_point_is_where_a_ray_meets_the_ground(every_shape: Terrain) -> None:
    engine = bare(every_shape.cfg)
    half = torch.tensor([(n - 1) * 0.05 for n in reversed(every_shape.heights.shape)])
    xy = (2 * torch.rand(1, 20000, 2, generator=torch.Generator().manual_seed(0)) - 1) * (half - 1e-3)
    above = torch.cat((xy, torch.full((1, 20000, 1), 4.0)), dim=-1)
    distance = engine.ray(above, torch.tensor([0.0, 0.0, -1.0]).expand_as(above).contiguous())
    assert bool((distance > 0).all())
    torch.testing.assert_close(every_shape.height(xy), 4.0 - distance, atol=1e-4, rtol=0.0)
    engine.close()


def test_the_height_beyond_the_border_is_that_of_its_edge(every_shape: Terrain) -> None:
    assert every_shape.height(torch.tensor([[1e3, 0.0], [0.0, -1e3], [-1e3, 1e3]])).tolist() == [0.0, 0.0, 0.0]


def test_the_ground_is_one_height_field_with_the_grounds_friction() -> None:
    model = Scene(SceneCfg(terrain=small(), ground=GroundCfg(friction=0.7)), dt=0.005).model
    ground = model.geom("ground")
    assert model.ngeom == 1
    assert ground.type[0] == mujoco.mjtGeom.mjGEOM_HFIELD.value
    assert (ground.friction[0], ground.contype[0], ground.conaffinity[0]) == (0.7, 1, 1)
    untouchable = Scene(SceneCfg(terrain=small(), ground=GroundCfg(collide=False)), dt=0.005).drawn.geom("ground")
    assert (untouchable.contype[0], untouchable.conaffinity[0]) == (0, 0)


def test_the_same_seed_makes_the_same_ground_and_another_one_another() -> None:
    first, second, other = (Terrain(small(seed=seed)).heights for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_cell_does_not_depend_on_the_other_columns() -> None:
    alone, beside = Terrain(small(columns=("rough",))), Terrain(small(columns=("rough", "boxes")))
    np.testing.assert_array_equal(cell(alone, 3, 0), cell(beside, 3, 0))


def test_heights_are_multiples_of_the_vertical_resolution(every_shape: Terrain) -> None:
    in_steps = every_shape.heights / 0.005
    np.testing.assert_allclose(in_steps, np.round(in_steps), atol=1e-6)


def test_cells_meet_at_height_zero_and_have_a_level_middle(every_shape: Terrain) -> None:
    for level in range(3):
        for column in range(len(ALL_SHAPES)):
            heights = cell(every_shape, level, column)
            edge = np.concatenate((heights[0], heights[-1], heights[:, 0], heights[:, -1]))
            assert not edge.any(), ALL_SHAPES[column]
            assert np.ptp(heights[20:41, 20:41]) == 0.0, ALL_SHAPES[column]


# The reference grid


def test_the_reference_grid_has_the_specified_cells(reference: Terrain) -> None:
    assert reference.cfg.rows == 10
    pairs = ("stairs_up", "stairs_down", "boxes", "rough")
    assert reference.cfg.columns == (*np.repeat(pairs, 2), "slope_up", "slope_down")
    assert reference.heights.shape == (821, 821)
    origins = reference.origin(torch.tensor([0, 9]), torch.tensor([0, 9]))
    torch.testing.assert_close(origins[:, :2], torch.tensor([[-36.0, -36.0], [36.0, 36.0]]))


def test_level_zero_is_flat_and_the_others_are_not(reference: Terrain) -> None:
    for column in range(10):
        assert not cell(reference, 0, column).any()
        assert all(cell(reference, level, column).any() for level in range(1, 10))


@pytest.mark.parametrize("level", [1, 9])
def test_shapes_have_the_specified_sizes(reference: Terrain, level: int) -> None:
    d = level / 9
    up, down, boxes, rough, slope = (cell(reference, level, column) for column in (0, 2, 4, 6, 8))
    stair = 0.03 + 0.10 * d
    np.testing.assert_allclose(down[40, 40], 10 * stair, atol=0.0026)
    np.testing.assert_allclose(up, -down, atol=1e-9)
    treads = np.diff(down[40, :41])
    assert (treads > 0.0).sum() == 10
    assert np.diff(np.flatnonzero(treads)).tolist() == [3] * 9  # 0.3 m apart
    assert 0.0 < boxes.max() <= 0.03 + 0.08 * d + 0.0025
    assert boxes.min() == 0.0
    assert 0.8 * (0.02 + 0.05 * d) < np.abs(rough).max() <= 0.02 + 0.05 * d + 0.0025
    np.testing.assert_allclose(slope[40, 40], -0.3 * d * 3.0, atol=0.0026)


def test_large_robots_get_larger_sizes() -> None:
    assert LARGE_SIZES["stairs"] == (0.05, 0.23)
    assert {name for name in SIZES if LARGE_SIZES[name] != SIZES[name]} == {"stairs", "boxes", "rough", "slope"}


def test_stairs_up_lead_up_and_stairs_down_lead_down_from_the_middle(reference: Terrain) -> None:
    heights = reference.origin(torch.tensor(5), torch.arange(10))[:, 2]
    assert bool((heights[:2] < 0).all() and (heights[2:4] > 0).all())
    assert heights[8] < 0 < heights[9]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ("stairs_upp",)}, "did you mean 'stairs_up'"),
        ({"columns": ("wave",), "sizes": {"rough": (0.0, 0.1)}}, "sizes has no entry 'wave'"),
        ({"cell": 1.0}, "cell must be larger than platform"),
        ({"rows": 0}, "rows must be at least 1"),
    ],
)
def test_a_wrong_grid_is_an_error_that_says_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        validate({"terrain": small(**changes)})


def test_the_grid_is_part_of_the_config_and_can_be_overridden() -> None:
    cfg = rough()
    apply({"env": cfg}, [("env.scene.terrain.sizes.stairs", "0.1,0.2"), ("env.scene.terrain.flat_rows", "0")])
    assert cfg.scene.terrain is not None
    assert cfg.scene.terrain.sizes["stairs"] == (0.1, 0.2)
    assert from_dict(ManagerBasedRlEnvCfg, to_dict(cfg, ManagerBasedRlEnvCfg)) == cfg


# Where robots start


def test_in_training_all_worlds_start_on_level_zero_with_equal_shares_of_the_columns() -> None:
    env = rough_env(8)
    assert env.spawn.level.tolist() == [0] * 8
    assert env.spawn.column.tolist() == [0, 1] * 4
    env.close()


def test_in_play_every_level_has_the_same_number_of_worlds_and_five_of_them_meet_every_shape() -> None:
    terrain = TerrainCfg(border=1.0, spread=True)
    env = rough_env(50, play=True, terrain=terrain)
    for level in range(10):
        columns = env.spawn.column[env.spawn.level == level].tolist()
        assert {size_name(MIXED[column]) for column in columns} == {"stairs", "boxes", "rough", "slope"}
        assert len(columns) == 5
    hundred = rough_env(100, play=True, terrain=terrain)
    cells = set(zip(hundred.spawn.level.tolist(), hundred.spawn.column.tolist(), strict=True))
    assert len(cells) == 100
    assert not env.cfg.curriculum
    env.close()
    hundred.close()


def test_robots_are_placed_around_the_middle_of_their_cell_at_their_height_above_the_ground() -> None:
    env = rough_env(16, play=True, terrain=small(spread=True, columns=("stairs_up", "stairs_down")))
    pos = env.robot.root_pos
    assert float((pos - env.spawn.origin)[:, :2].abs().max()) <= 0.5
    torch.testing.assert_close(env.height_above_ground(pos), torch.full((16,), 0.42))
    assert float((pos[:, 2] - 0.42).abs().max()) > 0.3  # in pits and on pyramids, not on a plane
    torch.testing.assert_close(env.spawn.start, pos)
    env.close()


def test_the_height_reward_is_about_the_height_above_the_ground() -> None:
    env = rough_env(8, play=True)
    torch.testing.assert_close(mdp.base_height_l2(env, 0.34), torch.full((8,), 0.08**2), atol=1e-5, rtol=0.0)
    env.close()


def test_robots_stand_on_the_hardest_level_and_their_feet_feel_their_weight() -> None:
    env = rough_env(4, play=True, terrain=small(spread=True, rows=2, flat_rows=0))
    for _ in range(100):
        env.step(torch.zeros(4, 12))
    weight = float(env.scene.model.body_mass.sum() * 9.81)
    feet = env.sensors["feet"].data.force[..., 2].sum(dim=1)
    torch.testing.assert_close(feet, torch.full((4,), weight), rtol=0.05, atol=0.0)
    assert not bool(env.robot.projected_gravity[:, 2].gt(-0.9).any())
    env.close()


# Curriculum


def finish(env: ManagerBasedRlEnv, walked: float, asked: float, fell: bool = False, lived: float = 1.0) -> int:
    """The level after one world's episode, which began on level 2 and ended `walked` metres from its start."""
    world = torch.tensor([0])
    env.spawn.move(world, torch.tensor([2]))
    env.reset(env_ids=world)
    env.spawn.move(world, torch.tensor([2]))
    pos = env.spawn.start[world].clone()
    pos[:, 0] += walked
    env.robot.write_root(world, pos=pos)
    env.command_manager.terms["velocity"].course[world, :2] = torch.tensor([0.0, asked])  # type: ignore[attr-defined]
    env.episode_length_buf[0] = int(lived * env.max_episode_length)
    env.terminated[0] = fell
    env.reset(env_ids=world)
    env.terminated[0] = False
    return int(env.spawn.level[0])


def test_robots_change_levels_by_how_far_they_came() -> None:
    env = rough_env(2)
    assert finish(env, walked=4.1, asked=20.0) == 3
    assert finish(env, walked=3.9, asked=7.7) == 2
    assert finish(env, walked=3.9, asked=8.0) == 1
    assert finish(env, walked=0.1, asked=0.1) == 2  # someone who is to stand need not walk
    assert finish(env, walked=0.6, asked=1.0, fell=True, lived=0.1) == 1
    assert finish(env, walked=4.1, asked=5.0, fell=True, lived=0.5) == 3
    env.close()


def test_levels_end_at_the_ends_of_the_grid_and_moved_worlds_start_in_their_new_cell() -> None:
    env = rough_env(2)
    worlds = torch.tensor([0, 1])
    env.spawn.move(worlds, torch.tensor([9, -3]))
    assert env.spawn.level.tolist() == [3, 0]
    env.engine.failed.zero_()
    env.reset(env_ids=worlds)
    middles = env.terrain.origin(env.spawn.level, env.spawn.column)
    assert float((env.robot.root_pos - middles)[:, :2].abs().max()) <= 0.5
    env.close()


def test_a_world_whose_physics_broke_down_keeps_its_level() -> None:
    env = rough_env(4)
    env.engine.qvel[1] = float("nan")
    env.engine.set_state(torch.tensor([1]), env.engine.qpos[1:2], env.engine.qvel[1:2])
    env.step(torch.zeros(4, 12))
    assert env.failed_worlds == 1
    assert env.spawn.level.tolist() == [0] * 4
    env.close()


def test_the_mean_level_is_logged_and_building_an_environment_moves_nobody() -> None:
    env = rough_env(4)
    assert env.pop_episode_stats()["curriculum/terrain_level"] == 0.0
    env.close()


def test_terrain_levels_without_terrain_is_an_error_at_build_time() -> None:
    cfg = find("Genelab-Velocity-Flat-Unitree-Go1-v0").env_cfg(play=True)
    cfg.num_envs = 1
    cfg.curriculum = {"levels": CurriculumTermCfg(mdp.terrain_levels, params={"command": "velocity"})}
    with pytest.raises(UserError, match="curriculum term 'levels': the scene has no terrain"):
        ManagerBasedRlEnv(cfg)


def test_an_environment_with_terrain_continues_bit_for_bit_from_its_state() -> None:
    first, second = rough_env(6), rough_env(6)
    first.cfg.episode_length_s = 0.2
    first.max_episode_length = second.max_episode_length = 10
    act = torch.Generator().manual_seed(0)
    for _ in range(15):
        first.step(torch.randn(6, 12, generator=act))
    first.spawn.move(torch.arange(6), torch.tensor([0, 1, 2, 3, 2, 1]))
    second.load_state_dict(first.state_dict())
    for _ in range(15):
        action = torch.randn(6, 12, generator=act)
        obs, reward, *_ = first.step(action)
        other_obs, other_reward, *_ = second.step(action)
        assert torch.equal(reward, other_reward)
        assert torch.equal(obs["policy"], other_obs["policy"])
    assert torch.equal(first.spawn.level, second.spawn.level)
    first.close()
    second.close()


# The task


def test_the_rough_task_observes_what_was_specified_with_noise_on_the_actors_scan_only() -> None:
    env = rough_env(64)
    actor, critic = env.obs["policy"], env.obs["critic"]
    assert (actor.shape[1], critic.shape[1]) == (232, 235)
    torch.testing.assert_close(critic[:, 45:232], torch.full((64, 187), 0.42))
    noise = actor[:, 45:] - 0.42
    assert 0.099 < float(noise.abs().max()) <= 0.1001
    assert list(env.cfg.rewards) == list(find("Genelab-Velocity-Flat-Unitree-Go1-v0").env_cfg().rewards)
    env.close()


def test_the_rough_agents_standard_deviation_depends_on_the_state_and_stays_within_its_bounds() -> None:
    cfg = rough_ppo()
    assert (cfg.algorithm.entropy_coef, cfg.algorithm.desired_kl) == (0.0, 0.02)
    cfg.actor.hidden_dims = cfg.critic.hidden_dims = (8,)
    env = rough_env(4)
    learner = RslRlLearner(env, cfg, infos={})
    actor: Any = learner.method.networks()["actor"]
    obs = TensorDict(env.obs, batch_size=[4])
    actor(obs, stochastic_output=True)
    torch.testing.assert_close(actor.output_std, torch.ones(4, 12))
    head = actor.mlp[-2]
    torch.nn.init.normal_(head.weight, std=10.0)
    actor(obs, stochastic_output=True)
    std = actor.output_std.detach()
    assert (float(std.min()), float(std.max())) == pytest.approx((0.3, 2.0))
    assert bool((std[0] != std[1]).any())
    assert learner.policy(4).act(env.obs).shape == (4, 12)
    env.close()


def test_an_evaluation_reports_every_level() -> None:
    env = rough_env(8, play=True)
    env.max_episode_length = 10
    result = evaluate(env, RandomPolicy(env, 0), 2)
    levels = result["per_level"]
    assert [row["level"] for row in levels] == [0, 1, 2, 3]
    assert [row["episodes"] for row in levels] == [4] * 4
    mean = sum(row["return_mean"] for row in levels) / 4
    assert mean == pytest.approx(result["metrics"]["return_mean"])
    task = levels[2]["task"]
    assert task["speed_ratio"] == pytest.approx(task["achieved_speed"] / task["commanded_speed"])
    env.close()


def test_the_levels_are_in_the_file_and_in_the_table_of_an_evaluation(
    cli: Callable[..., Any], train_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    grid = {"env__scene__terrain__rows": 3, "env__scene__terrain__border": 1, "env__num_envs": 4}
    small_nets = {"agent__actor__hidden_dims": "8", "agent__critic__hidden_dims": "8", "agent__num_steps_per_env": 4}
    train_tiny(tmp_path / "run", ROUGH, agent__max_iterations=1, **grid, **small_nets)
    request = ("--episodes", 6, "--num-envs", 6, "--env.episode_length_s", "0.1", "--out", tmp_path / "eval.json")
    outcome = cli("eval", ROUGH, tmp_path / "run/model_final.pt", *request)
    assert outcome.code == 0, outcome.err
    record = json.loads((tmp_path / "eval.json").read_text())
    assert [row["episodes"] for row in record["per_level"]] == [2, 2, 2]
    assert "speed_ratio" in outcome.out


def test_a_picture_shows_the_part_of_a_large_terrain_that_the_robot_is_on() -> None:
    scene = Scene(SceneCfg(robots={"robot": go1()}, terrain=TerrainCfg(cell=4.0)), dt=0.005)
    model, world = scene.model, mujoco.MjData(scene.model)
    painter = Painter(model, 32, 24)
    for x, y in ((0.0, 0.0), (1.0, 2.0), (-15.3, 17.1), (23.9, -23.9)):
        world.qpos[:2] = x, y
        mujoco.mj_forward(model, world)
        painter.paint(world, None)
        drawn, middle, step = painter.drawn, painter.centre, 0.1
        assert drawn is not None
        assert np.abs(middle - world.qpos[:2]).max() < 15.0
        assert drawn.hfield_nrow[0] == drawn.hfield_ncol[0] == 301
        points = torch.tensor([[-3.0, 4.0], [0.0, 0.0], [7.0, -9.0]], dtype=torch.double)
        heights = drawn.hfield_data[: 301 * 301].reshape(301, 301) * drawn.hfield_size[0, 2] + drawn.geom_pos[0, 2]
        seen = [heights[150 + round(dy / step), 150 + round(dx / step)] for dx, dy in points.tolist()]
        there = points + torch.from_numpy(middle)
        expected = scene.terrain.height_at(there[:, 0].float(), there[:, 1].float())
        np.testing.assert_allclose(seen, expected.numpy(), atol=1e-4)
    painter.close()


@pytest.mark.parametrize(("worlds", "levels"), [(1, [2]), (2, [1, 3]), (5, [0, 1, 2, 3, 0])])
def test_few_worlds_are_shown_in_the_middle_of_the_levels(worlds: int, levels: list[int]) -> None:
    env = rough_env(worlds, play=True)
    assert env.spawn.level.tolist() == levels
    env.close()
