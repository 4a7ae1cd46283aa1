"""A task in words and tables, from its docstring and its config: what ``genelab info`` and docs/tasks.md show."""

import copy
import dataclasses
import inspect
from typing import Any

from genelab.core.registry import TaskSpec, load
from genelab.core.table import Table
from genelab.envs import ManagerBasedEnvCfg, ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.envs.managers.base import first_line
from genelab.scene.scene import EntityCfg, GroundCfg
from genelab.scene.terrain import TerrainCfg
from genelab.scene.terrain_shapes import size_name


def prose(spec: TaskSpec) -> str:
    """What the task is about, in words. Every number is in its tables."""
    return inspect.cleandoc(load(spec.env).__doc__ or spec.summary)


def tables(cfg: ManagerBasedEnvCfg) -> list[Table]:
    """Times, scene, terms and goal of an environment, of which one world is built."""
    cfg = copy.deepcopy(cfg)
    described = [_times(cfg), _scene(cfg)]
    if not isinstance(cfg, ManagerBasedRlEnvCfg):
        return described
    # The tables are the same in every engine, and this one is always there.
    cfg.num_envs, cfg.simulation.engine, cfg.simulation.gpu = 1, "mujoco", False
    env = ManagerBasedRlEnv(cfg)
    env.close()
    return [table for table in (*described, *env.tables(), _success(cfg)) if table.rows]


def _times(cfg: ManagerBasedEnvCfg) -> Table:
    rows = [
        ("worlds", f"{cfg.num_envs}"),
        ("control", f"{1.0 / cfg.control_dt:g} Hz"),
        ("physics", f"{cfg.decimation} steps of {cfg.simulation.dt:g} s per control step"),
    ]
    if isinstance(cfg, ManagerBasedRlEnvCfg):
        scale = "weight x value x control step" if cfg.scale_rewards_by_dt else "weight x value"
        rows += [("episode", f"{cfg.episode_length_s:g} s: {cfg.max_episode_length} steps"), ("reward", scale)]
    return Table(("what", "value"), rows, "settings")


def _scene(cfg: ManagerBasedEnvCfg) -> Table:
    scene = cfg.scene
    rows = [(name, *_entity(entity)) for name, entity in {**scene.robots, **scene.objects}.items()]
    if scene.ground.collide:
        rows.append(("ground", first_line(GroundCfg), {"friction": scene.ground.friction}))
    if scene.terrain is not None:
        rows.append(("terrain", first_line(TerrainCfg), _terrain(scene.terrain)))
    return Table(("name", "description", "parameters"), rows, "scene")


def _entity(entity: EntityCfg) -> tuple[str, dict[str, Any]]:
    moved = {
        field.name: getattr(entity, field.name)
        for field in dataclasses.fields(entity)
        if field.name in ("pos", "quat") and getattr(entity, field.name) != field.default
    }
    bent = {joint: value for joint, value in entity.joint_pos.items() if value != 0.0}
    return first_line(entity.model), {**entity.params, **moved, **bent}


def _terrain(cfg: TerrainCfg) -> dict[str, Any]:
    """The fields of a terrain, with the sizes of its own shapes only."""
    settings = {field.name: getattr(cfg, field.name) for field in dataclasses.fields(cfg) if field.name != "sizes"}
    used = {size_name(shape) for shape in cfg.columns}
    return {**settings, **{name: size for name, size in cfg.sizes.items() if name in used}}


def _success(cfg: ManagerBasedRlEnvCfg) -> Table:
    rows: list[tuple[str, str, dict[str, Any]]] = []
    if cfg.success is not None:
        rows.append(("success", first_line(cfg.success.func), cfg.success.params))
    if cfg.goal is not None:
        rows.append(("reward of a goal", first_line(cfg.goal.reward), cfg.goal.params))
    return Table(("name", "description", "parameters"), rows, "success")
