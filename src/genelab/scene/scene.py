"""The scene: configs of what stands in one world, and the compiled model with every name in it.

Joint, body and actuator order of the compiled `MjModel` is the order of every array in the project, on every engine.
Names of an entity's parts are prefixed with the entity's own name: joint ``hinge`` of robot ``robot`` is
``robot/hinge``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from genelab.core.config import HasParams
from genelab.core.errors import UserError, lookup, require_known
from genelab.core.ranges import NonNegative
from genelab.scene.layout import EntityLayout, name_parts
from genelab.scene.options import OptionCollector, PhysicsOptionsCfg
from genelab.scene.sensors import ContactSensorCfg, SensorCfg, columns
from genelab.scene.terrain import Terrain, TerrainCfg


@dataclass(kw_only=True)
class EntityCfg(HasParams):
    """A robot or an object: an MJCF fragment and where it stands."""

    model: Callable[..., mujoco.MjSpec]
    """Builds the MJCF; called with `params`."""
    params: dict[str, Any] = field(default_factory=dict)
    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the entity's root in the world, metres."""
    quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Orientation of the root, wxyz."""
    joint_pos: dict[str, float] = field(default_factory=dict)
    """Default joint positions by joint name; joints not named are where the keyframe, or the model's zero, has them."""
    keyframe: str | None = None
    """Keyframe of the model whose positions are the default pose, a free root's relative to `pos` and `quat`; None: the
    model's zero pose. Its velocities and controls are not used: episodes start at rest."""


@dataclass(kw_only=True)
class GroundCfg:
    """What robots stand on: an infinite plane at z = 0, or the scene's terrain. A geom called ``ground`` either way."""

    collide: bool = True
    """Whether anything can touch it. Switch off where nothing should: collision detection costs time."""
    friction: NonNegative = 1.0

    def unused_fields(self) -> dict[str, str]:
        return {} if self.collide else {"friction": "the ground collides with nothing (collide is false)"}


@dataclass(kw_only=True)
class SceneCfg:
    """Everything in one world."""

    robots: dict[str, EntityCfg] = field(default_factory=dict)
    """Actuated entities. Terms address the first one unless they say otherwise."""
    objects: dict[str, EntityCfg] = field(default_factory=dict)
    """Things robots act on."""
    ground: GroundCfg | None = field(default_factory=GroundCfg)
    """None: there is none, or the entities' models have their own."""
    terrain: TerrainCfg | None = None
    """Takes the place of the plane."""
    sensors: dict[str, SensorCfg] = field(default_factory=dict)
    """What is measured, by the names that terms read it by."""

    def validate(self) -> None:
        if self.terrain is not None and self.ground is None:
            raise UserError("terrain is the shape of the ground, but ground is none")


class Scene:
    """A compiled scene. `model` is the canonical description; engines reproduce it and check it by name.

    Shapes that can touch nothing are in `drawn` only. They move nothing, and placing them takes time in every step.
    """

    def __init__(self, cfg: SceneCfg, dt: float, options: PhysicsOptionsCfg | None = None):
        self.cfg = cfg
        self.terrain = None if cfg.terrain is None else Terrain(cfg.terrain)
        self.spec = mujoco.MjSpec.from_file(str(Path(__file__).with_name("world.xml")))
        if cfg.ground is not None:
            _add_ground(self.spec, cfg.ground, self.terrain)
        entities = {**cfg.robots, **cfg.objects}
        collected = OptionCollector(options or PhysicsOptionsCfg())
        for name, entity in entities.items():
            child = _build(name, entity)
            collected.take(child.option, name)
            if cfg.ground is None and child.stat.extent > 0.0:
                self.spec.stat.extent = child.stat.extent  # else cameras would be set up for the whole of its ground
            frame = self.spec.worldbody.add_frame(pos=list(entity.pos), quat=list(entity.quat))
            self.spec.attach(child, frame=frame, prefix=f"{name}/")
        collected.give(self.spec.option)
        self.spec.option.timestep = dt
        # Shadows are drawn around the point that the light shines at: it goes with the first body.
        kind, mode = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM
        body = self.spec.bodies[min(1, len(self.spec.bodies) - 1)]
        light = body.add_light(type=kind, mode=mode, pos=[-1.2, -2, 4], dir=[0.3, 0.5, -1])
        light.diffuse, light.specular = [0.45, 0.45, 0.45], [0.1, 0.1, 0.1]
        for name, sensor in cfg.sensors.items():
            sensor.add_to(self.spec, name)
        for body in self.spec.bodies:
            body.simple = 0  # MuJoCo's shortcut for "simple" bodies would forbid to move their centre of mass later
        whole = self.spec.copy()  # compiling takes shapes that are only to be seen out of the spec; their masses stay
        self.spec.compiler.discardvisual = True
        try:
            self.model, self.spec = self.spec.compile(), whole
        except ValueError as error:
            raise UserError(f"the scene does not compile: {' '.join(str(error).split())}") from error
        self.entities = {name: EntityLayout(self.model, name) for name in entities}
        self.default_qpos = self._default_qpos(entities)
        self.contact_sensors = {name: c for name, c in cfg.sensors.items() if isinstance(c, ContactSensorCfg)}
        compiled = {name: c.compiled_names(name) for name, c in self.contact_sensors.items()}
        self.contact_columns = {name: columns(self.model, parts) for name, parts in compiled.items()}
        """Where each contact sensor's forces stand in the compiled model's sensor data."""
        own = [f"{name}/{sensor}" for name, layout in self.entities.items() for sensor in layout.sensor_names]
        self.model_sensors = {name: columns(self.model, [name]) for name in own}
        """Where the sensors of the entities' own models stand in it."""

    @cached_property
    def drawn(self) -> mujoco.MjModel:
        """The model with all shapes, for pictures. Joints, bodies and sites are those of `model`."""
        model = self.spec.compile()
        model.stat.extent = max(model.stat.extent, 1.5)  # shadows of small robots come out speckled
        return model

    def _default_qpos(self, entities: dict[str, EntityCfg]) -> np.ndarray:
        qpos = self.model.qpos0.copy()
        for name, cfg in entities.items():
            located = self.entities[name]
            if cfg.keyframe is not None:
                self._set_keyframe(qpos, cfg, located)
            index = dict(zip(located.joint_names, located.qpos_ids, strict=True))
            for joint, value in cfg.joint_pos.items():
                qpos[lookup(f"joint of '{name}' in its joint_pos", joint, index)] = value
        return qpos

    def _set_keyframe(self, qpos: np.ndarray, cfg: EntityCfg, layout: EntityLayout) -> None:
        """Write an entity's positions in a keyframe of its model into `qpos`."""
        prefix = f"{layout.name}/"
        keys = [self.model.key(i).name for i in range(self.model.nkey)]
        own = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
        require_known(f"keyframe of '{layout.name}'", str(cfg.keyframe), own)
        key = self.model.key_qpos[keys.index(f"{prefix}{cfg.keyframe}")]
        for ids in (layout.qpos_ids, layout.ball_qpos):
            qpos[ids] = key[ids]
        if layout.free_qpos is not None:
            root = slice(layout.free_qpos, layout.free_qpos + 7)
            quat = np.array(cfg.quat) / np.linalg.norm(cfg.quat)
            mujoco.mju_mulPose(qpos[root][:3], qpos[root][3:], np.array(cfg.pos), quat, key[root][:3], key[root][3:])


def _add_ground(spec: mujoco.MjSpec, cfg: GroundCfg, terrain: Terrain | None) -> None:
    if terrain is None:
        geom = spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05])
    else:
        geom = terrain.add_to(spec, "ground")
        spec.stat.extent, spec.stat.center = 3.0, [0.0, 0.0, 0.3]  # else cameras would be set up for the whole grid
    geom.material = "ground"
    geom.contype = geom.conaffinity = int(cfg.collide)
    geom.friction = [cfg.friction, 0.005, 0.0001]


def _build(name: str, cfg: EntityCfg) -> mujoco.MjSpec:
    """An entity's own model, with a name for every part."""
    try:
        child = cfg.model(**cfg.params)
    except UserError as error:
        raise type(error)(f"entity '{name}': {error}") from error
    except Exception as error:  # whatever goes wrong in a builder, its entity is where to look
        raise UserError(f"entity '{name}' fails: {type(error).__name__}: {' '.join(str(error).split())}") from error
    name_parts(child, name)
    return child
