"""The worlds as viser shows them: shapes of bodies as meshes, ground, commands, contact forces and height scans."""

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import mujoco
import numpy as np
import torch

from genelab.core.math import quat_apply
from genelab.engines.pictures import Arrow, Ball
from genelab.sensors.contact import ContactSensor
from genelab.sensors.height_scan import HeightScan
from genelab.viewer.session import Session

MOST_WORLDS = 64
"""Of more worlds, the first are shown."""
NEAR = 9.0
"""Height fields are sent as far as this around each robot, metres."""
FORCE_M = 0.4
"""Length of the arrow of a force as large as the weight of everything, metres."""
COMMAND, FORCE, SCAN, GROUND = (38, 178, 76), (220, 60, 50), (30, 110, 200), (165, 172, 180)
ROOT = "/worlds"
GROUPS = 3
"""Geoms of the first groups are shown, as MuJoCo's own viewer does."""
TILE = 80
"""Height fields are cut into squares of this many intervals, so that only what lies near a robot is sent."""
Mesh = tuple[np.ndarray, np.ndarray]
"""Vertices (V, 3) and faces (F, 3)."""
Colour = tuple[float, ...]
_KIND = mujoco.mjtGeom


class Part(NamedTuple):
    """All geoms of one colour on one body, in the body's frame; or a site that goes its own ways, in its own."""

    body: int
    colour: Colour
    """Red, green, blue, opacity."""
    mesh: Mesh
    site: int | None = None


def parts(model: mujoco.MjModel, sites: set[int]) -> list[Part]:
    """What is to be drawn of a model, but for planes and height fields. Of sites, only those that are named."""
    found: dict[tuple[int, Colour], list[Mesh]] = {}
    for i in range(model.ngeom):
        kind, colour = int(model.geom_type[i]), _colour(model, i)
        if model.geom_group[i] < GROUPS and colour[3] > 0 and kind not in (_KIND.mjGEOM_PLANE, _KIND.mjGEOM_HFIELD):
            mesh = _mesh(model, i) if kind == _KIND.mjGEOM_MESH else _solid(kind, model.geom_size[i])
            placed = _place(mesh, model.geom_pos[i], model.geom_quat[i])
            found.setdefault((int(model.geom_bodyid[i]), colour), []).append(placed)
    bodies = [Part(body, colour, _merge(meshes)) for (body, colour), meshes in found.items()]
    return bodies + [
        Part(0, tuple(model.site_rgba[i].tolist()), _solid(int(model.site_type[i]), model.site_size[i]), i)
        for i in sorted(sites)
    ]


def tiles(model: mujoco.MjModel) -> Iterator[tuple[str, Mesh]]:
    """The model's height fields in squares, by name, world frame."""
    for geom in np.flatnonzero(model.geom_type == _KIND.mjGEOM_HFIELD).tolist():
        k = int(model.geom_dataid[geom])
        rows, columns, start = int(model.hfield_nrow[k]), int(model.hfield_ncol[k]), int(model.hfield_adr[k])
        half_x, half_y, high, _ = model.hfield_size[k]
        z = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * high
        xs, ys = np.meshgrid(np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows))
        points = np.stack((xs, ys, z), axis=-1)
        for r in range(0, rows - 1, TILE):
            for c in range(0, columns - 1, TILE):
                square = points[r : r + TILE + 1, c : c + TILE + 1]
                mesh = square.reshape(-1, 3), _triangles(*square.shape[:2])
                yield f"ground_{geom}_{r}_{c}", _place(mesh, model.geom_pos[geom], model.geom_quat[geom])


def _triangles(rows: int, columns: int) -> np.ndarray:
    """Two for each square of a grid, cut as MuJoCo cuts them."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1, 1)
    return np.concatenate((a, a + 1, a + columns + 1, a, a + columns + 1, a + columns), axis=1).reshape(-1, 3)


def _solid(kind: int, size: np.ndarray) -> Mesh:
    """A primitive of MuJoCo around its own origin: rings from its lower to its upper end. A box has rings of four."""
    box, flat = kind == _KIND.mjGEOM_BOX, kind in (_KIND.mjGEOM_BOX, _KIND.mjGEOM_CYLINDER)
    sides, upper = 4 if box else 24, np.linspace(0.0, math.pi / 2, 7)
    angles = np.concatenate((-upper[::-1], upper[0 if kind == _KIND.mjGEOM_CAPSULE else 1 :]))  # it has two middles
    radius, height = (np.array((0, 1, 1, 0)), np.array((-1, -1, 1, 1))) if flat else (np.cos(angles), np.sin(angles))
    turns = math.pi / 4 + np.arange(sides) * 2 * math.pi / sides
    ring = np.stack((np.cos(turns), np.sin(turns)), axis=1) * (math.sqrt(2) if box else 1)  # of a box, its corners
    rings = np.dstack((radius[:, None, None] * ring, np.broadcast_to(height[:, None], (len(height), sides))))
    if kind == _KIND.mjGEOM_CAPSULE:
        rings = rings * size[0] + np.repeat((-1, 1), len(upper))[:, None, None] * (0, 0, size[1])
    elif kind in (_KIND.mjGEOM_BOX, _KIND.mjGEOM_ELLIPSOID):
        rings = rings * size
    else:
        rings = rings * ((size[0], size[0], size[1]) if kind == _KIND.mjGEOM_CYLINDER else size[0])
    vertices, faces = rings.reshape(-1, 3), _triangles(len(rings), sides + 1)
    faces = faces // (sides + 1) * sides + faces % (sides + 1) % sides  # the end of a ring is its beginning
    if flat:
        vertices = vertices[faces].reshape(-1, 3)  # of its own for every face, so that edges are sharp
        faces = np.arange(len(vertices)).reshape(-1, 3)
    return vertices, faces


def _mesh(model: mujoco.MjModel, geom: int) -> Mesh:
    k = int(model.geom_dataid[geom])
    vertices = model.mesh_vert[model.mesh_vertadr[k] :][: model.mesh_vertnum[k]]
    return vertices, model.mesh_face[model.mesh_faceadr[k] :][: model.mesh_facenum[k]]


def _place(mesh: Mesh, pos: np.ndarray, quat: np.ndarray) -> Mesh:
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, quat)
    return mesh[0] @ turn.reshape(3, 3).T + pos, mesh[1]


def _merge(meshes: list[Mesh]) -> Mesh:
    first = np.cumsum([0, *(len(vertices) for vertices, _ in meshes[:-1])])
    faces = [faces + offset for (_, faces), offset in zip(meshes, first, strict=True)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)


def _colour(model: mujoco.MjModel, geom: int) -> Colour:
    """A geom's own colour, or its material's if it has the default one."""
    own, material = model.geom_rgba[geom], int(model.geom_matid[geom])
    return tuple((model.mat_rgba[material] if material >= 0 and np.allclose(own, (0.5, 0.5, 0.5, 1)) else own).tolist())


class Stage:
    """Draws a session into a viser scene. To follow a robot, all else moves: the camera is the visitor's."""

    def __init__(self, scene: Any, session: Session):
        self._scene, self._session, env = scene, session, session.env
        self._model = env.scene.drawn
        self.shown = min(env.num_envs, MOST_WORLDS)
        self._offsets = np.zeros((self.shown, 3)) if env.terrain is not None else self._side_by_side()
        self._middle = min(1, self._model.nbody - 1)
        """The body that a picture is centred on: the first robot's root."""
        self.visible = {"commands": True, "contact forces": True, "height scan": True}
        """What is shown beside the worlds."""
        self._tiles = {name: (mesh[0][:, :2].mean(axis=0), mesh) for name, mesh in tiles(self._model)}
        self._root = scene.add_frame(ROOT, show_axes=False)
        self._labels = [
            scene.add_label(f"{ROOT}/label_{world}", f"world {world}", anchor="bottom-center", font_screen_scale=0.8)
            for world in range(self.shown if self.shown > 1 else 0)
        ]
        found = parts(self._model, set(env.engine.markers))
        self._parts = [(part, self._add_part(f"{ROOT}/part_{i}", part)) for i, part in enumerate(found)]
        grid = partial(scene.add_grid, width=400.0, height=400.0, fade_distance=40.0, plane_color=GROUND)
        for geom in np.flatnonzero(self._model.geom_type == _KIND.mjGEOM_PLANE).tolist():
            placed = {"position": self._model.geom_pos[geom], "wxyz": self._model.geom_quat[geom]}
            grid(f"{ROOT}/plane_{geom}", plane_opacity=1.0, **placed)
        lines, points = np.zeros((0, 2, 3)), np.zeros((0, 3))
        self._tips = scene.add_arrows(f"{ROOT}/tips", lines, COMMAND, shaft_radius=0.015, head_radius=0.04)
        self._bends = scene.add_line_segments(f"{ROOT}/bends", lines, COMMAND, thickness=0.03)
        dots = partial(scene.add_point_cloud, points=points, point_shape="circle", precision="float32")
        self._balls = dots(f"{ROOT}/balls", colors=COMMAND, point_size=0.05)
        self._forces = scene.add_arrows(f"{ROOT}/forces", lines, FORCE, shaft_radius=0.01, head_radius=0.025)
        self._scans = dots(f"{ROOT}/scans", colors=SCAN, point_size=0.03)

    def show(self) -> None:
        """Bring the scene to the present state."""
        engine, n = self._session.env.engine, self.shown
        pos = engine.body_pos[:n].cpu().numpy() + self._offsets[:, None]
        quat = engine.body_quat[:n].cpu().numpy()
        for part, handle in self._parts:
            if part.site is not None:
                handle.batched_positions = engine.markers[part.site][:n].cpu().numpy() + self._offsets
            elif self._model.body_weldid[part.body]:  # what is fixed to the world stays where it is
                handle.batched_positions, handle.batched_wxyzs = pos[:, part.body], quat[:, part.body]
        robots, tops = pos[:, self._middle, :2], pos[..., 2].max(axis=1)
        if self._session.follow and self._session.world < n:
            below = torch.tensor((*robots[self._session.world], 0.0), device=self._session.env.device)
            self._root.position = (*-robots[self._session.world], float(self._session.env.height_above_ground(below)))
        for label, place, top in zip(self._labels, robots, tops, strict=False):
            label.position = (*place, top + 0.25)
        near = [name for name, (at, _) in self._tiles.items() if (np.abs(robots - at).max(axis=1) < NEAR).any()]
        for name in near:  # squares of height fields that came near a robot. They stay.
            _, mesh = self._tiles.pop(name)
            self._scene.add_mesh_simple(f"{ROOT}/{name}", *mesh, color=GROUND, flat_shading=True, side="double")
        self._show_commands()
        self._show_sensors()

    def camera(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Where to look from, and at what, at the beginning."""
        height = float(self._session.env.engine.body_pos[0, :, 2].max()) / 2
        away = min(self._model.stat.extent, 2.0)
        return (1.3 * away, -1.6 * away, 0.8 * away + height), (0.0, 0.0, height)

    def _side_by_side(self) -> np.ndarray:
        """(N, 3) places of worlds behind the first, as the camera sees it at the beginning."""
        columns = math.ceil(math.sqrt(self.shown))
        spacing = 1.5 * self._model.stat.extent, 1.5 * min(self._model.stat.extent, 3.0), 0.0
        return np.array([(-(i // columns), i % columns, 0) for i in range(self.shown)]) * spacing

    def _add_part(self, name: str, part: Part) -> Any:
        turned = np.tile((1.0, 0.0, 0.0, 0.0), (self.shown, 1))
        *colour, opacity = part.colour
        look = {"batched_colors": tuple(round(255 * value) for value in colour), "lod": "off", "side": "double"}
        look["opacity"] = opacity if opacity < 1.0 else None
        return self._scene.add_batched_meshes_simple(name, *part.mesh, turned, self._offsets, **look)

    def _show_commands(self) -> None:
        """Commands of all worlds. Of an arrow with several legs, the last has a head."""
        bends, tips, balls = [], [], []
        for world, offset in enumerate(self._offsets if self.visible["commands"] else ()):
            for mark in self._session.env.marks(world):
                if isinstance(mark, Arrow):
                    *legs, tip = itertools.pairwise(np.asarray(mark.points) + offset)
                    bends += legs
                    tips.append(tip)
                elif isinstance(mark, Ball):
                    balls.append(np.asarray(mark.centre) + offset)
        self._bends.points, self._tips.points = (np.array(x, np.float32).reshape(-1, 2, 3) for x in (bends, tips))
        self._balls.points = np.array(balls, np.float32).reshape(-1, 3)

    def _show_sensors(self) -> None:
        """Contact forces and height scans of the world that is looked at."""
        env, world = self._session.env, self._session.world
        arrows, points = [np.zeros((0, 2, 3))], [np.zeros((0, 3))]
        offset = self._offsets[world] if world < self.shown else np.full(3, np.nan)
        for sensor in env.sensors.values() if world < self.shown else ():
            if isinstance(sensor, ContactSensor) and self.visible["contact forces"]:
                weight = float(self._model.body_mass.sum()) * 9.81
                force = sensor.data.force[world].cpu().numpy() * (FORCE_M / weight)
                bodies, arms = sensor.places
                frames = env.engine.body_pos[world, bodies], env.engine.body_quat[world, bodies]
                start = (frames[0] + quat_apply(frames[1], arms)).cpu().numpy()
                arrows.append(np.stack((start, start + force), axis=1)[np.linalg.norm(force, axis=1) > 0.01])
            if isinstance(sensor, HeightScan) and self.visible["height scan"]:
                points.append(sensor.points()[world].cpu().numpy())
        self._forces.points = (np.concatenate(arrows) + offset).astype(np.float32)
        self._scans.points = (np.concatenate(points) + offset).astype(np.float32)
