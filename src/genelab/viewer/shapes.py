"""The shapes of a model as meshes, for viewers that are not MuJoCo's."""

from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np

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
    """A primitive of MuJoCo around its own origin."""
    from trimesh import creation

    if kind == _KIND.mjGEOM_CAPSULE:
        made = creation.capsule(radius=size[0], height=2 * size[1], count=(12, 16))
        return made.vertices - made.bounds.mean(axis=0), made.faces
    if kind in (_KIND.mjGEOM_BOX, _KIND.mjGEOM_CYLINDER):
        box = kind == _KIND.mjGEOM_BOX
        made = creation.box(2 * size) if box else creation.cylinder(radius=size[0], height=2 * size[1])
        corners = made.vertices[made.faces].reshape(-1, 3)  # of its own for every face, so that edges are sharp
        return corners, np.arange(len(corners)).reshape(-1, 3)
    ball = creation.icosphere(subdivisions=2)
    return ball.vertices * (size if kind == _KIND.mjGEOM_ELLIPSOID else size[0]), ball.faces


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
