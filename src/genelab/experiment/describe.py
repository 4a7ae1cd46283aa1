"""A task in words and tables, from its docstring and its config: what ``genelab info`` and docs/tasks show."""

import copy
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from genelab.core.overrides import configs, leaves, show, type_name, variants
from genelab.core.ranges import rules_of
from genelab.core.registry import TaskSpec, load
from genelab.core.table import Table
from genelab.envs import ManagerBasedEnvCfg, ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.envs.managers.base import first_line
from genelab.experiment.setup import Setup
from genelab.rl.deployment import command_word, numbers_of
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
    if cfg.scene.terrain is not None:  # nor do they depend on how large the ground is, which takes time to build
        cfg.scene.terrain = dataclasses.replace(cfg.scene.terrain, rows=1, border=1.0)
    env = ManagerBasedRlEnv(cfg)
    env.close()
    return [table for table in (*described, *_with_units(env), _success(cfg)) if table.rows]


def preset(spec: TaskSpec, name: str, backend: str | None) -> Table:
    return Table(("path", "value"), [(path, show(value)) for path, value in spec.preset(name, backend).items()])


def overridable(setup: Setup) -> Table:
    """Every path that can be overridden, with its type, the values it may have, and the one it has."""
    rows: list[tuple[str, str, str, str]] = []
    for path, config in configs(setup.roots):
        if names := variants(config):
            chosen = next((name for name, cls in names.items() if cls.endswith(f":{type(config).__name__}")), "")
            rows.append((f"--{path}", "|".join(names), "", chosen))
    for leaf in leaves(setup.roots):
        rows.append((f"--{leaf.path}", type_name(leaf.type), rules_of(leaf.type), show(leaf.value)))
    return Table(("path", "type", "range", "value"), rows, "overrides")


def _with_units(env: ManagerBasedRlEnv) -> Iterator[Table]:
    """The tables of the managers, with what observations, actions and commands are measured in."""
    units: dict[str, list[Any]] = {
        group.table().title: [numbers_of(env, term)["unit"] for term in group.cfg.terms.values()]
        for group in env.observation_manager.groups.values()
    }
    units["commands"] = [command_word(term).unit for term in env.cfg.commands.values()]
    actions = env.action_manager.terms.values()
    for table in env.tables():
        if table.title in units:
            table = table.with_column("size", "unit", units[table.title])
        elif table.title == "actions":
            table = table.with_column("size", "range", [f"±{term.cfg.clip:g}" for term in actions])
            table = table.with_column("range", "unit of control", [term.unit for term in actions])
        yield table


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
    if scene.ground is not None and scene.ground.collide:
        rows.append(("ground", first_line(GroundCfg), {"friction": scene.ground.friction}))
    if scene.terrain is not None:
        rows.append(("terrain", first_line(TerrainCfg), _terrain(scene.terrain)))
    return Table(("name", "description", "parameters"), rows, "scene")


def _entity(entity: EntityCfg) -> tuple[str, dict[str, Any]]:
    placed = {"pos": entity.pos, "quat": entity.quat}
    moved = {name: value for name, value in placed.items() if value != getattr(type(entity), name)}
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
