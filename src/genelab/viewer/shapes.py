"""The shapes of a model as meshes, for viewers that are not MuJoCo's."""

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

GROUPS = 3
"""Geoms and sites of the first groups are shown, as MuJoCo's own viewer does."""
TILE = 80
"""Height fields are cut into squares of this many intervals, so that only what lies near a robot is sent."""

Mesh = tuple[np.ndarray, np.ndarray]
"""Vertices (V, 3) and faces (F, 3)."""
Colour = tuple[float, float, float, float]
_KIND = mujoco.mjtGeom


@dataclass(frozen=True)
class Part:
    """All shapes of one colour on one body, in the body's frame; or a site that moves by itself, in its own."""

    body: int
    colour: Colour
    mesh: Mesh
    site: int | None = None


def parts(model: mujoco.MjModel, loose_sites: set[int]) -> list[Part]:
    """What is to be drawn of a model, but for planes and height fields."""
    found: dict[tuple[int, Colour], list[Mesh]] = {}
    for i in range(model.ngeom):
        kind, colour = int(model.geom_type[i]), _colour(model, model.geom_rgba[i], int(model.geom_matid[i]))
        if model.geom_group[i] < GROUPS and colour[3] > 0 and kind not in (_KIND.mjGEOM_PLANE, _KIND.mjGEOM_HFIELD):
            mesh = _mesh(model, int(model.geom_dataid[i])) if kind == _KIND.mjGEOM_MESH else None
            solid = mesh or _solid(kind, model.geom_size[i])
            placed = _place(solid, model.geom_pos[i], model.geom_quat[i])
            found.setdefault((int(model.geom_bodyid[i]), colour), []).append(placed)
    loose = []
    for i in range(model.nsite):
        colour = _colour(model, model.site_rgba[i], int(model.site_matid[i]))
        if model.site_group[i] >= GROUPS or colour[3] == 0:
            continue
        solid, body = _solid(int(model.site_type[i]), model.site_size[i]), int(model.site_bodyid[i])
        if i in loose_sites:
            loose.append(Part(body, colour, solid, site=i))
        else:
            found.setdefault((body, colour), []).append(_place(solid, model.site_pos[i], model.site_quat[i]))
    return [Part(body, colour, _merge(meshes)) for (body, colour), meshes in found.items()] + loose


@dataclass(frozen=True)
class Tile:
    """A square of a height field, world frame."""

    centre: np.ndarray
    mesh: Mesh


def tiles(model: mujoco.MjModel) -> Iterator[tuple[str, Tile]]:
    """The model's height fields in squares."""
    for geom in np.flatnonzero(model.geom_type == _KIND.mjGEOM_HFIELD).tolist():
        k = int(model.geom_dataid[geom])
        rows, columns, start = int(model.hfield_nrow[k]), int(model.hfield_ncol[k]), int(model.hfield_adr[k])
        half_x, half_y, high, _ = model.hfield_size[k]
        z = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * high
        x, y = np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows)
        for r in range(0, rows - 1, TILE):
            for c in range(0, columns - 1, TILE):
                across, along = slice(r, r + TILE + 1), slice(c, c + TILE + 1)
                xs, ys = np.meshgrid(x[along], y[across])
                vertices = np.stack((xs, ys, z[across, along]), axis=-1)
                flat = _place((vertices.reshape(-1, 3), _grid(*xs.shape)), model.geom_pos[geom], model.geom_quat[geom])
                yield f"{geom}/{r}/{c}", Tile(flat[0].mean(axis=0)[:2], flat)


def _grid(rows: int, columns: int) -> np.ndarray:
    """Two triangles for each square of a grid, cut as MuJoCo cuts them."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1, 1)
    corners = np.concatenate((a, a + 1, a + columns + 1, a, a + columns + 1, a + columns), axis=1)
    return corners.reshape(-1, 3)


def _solid(kind: int, size: np.ndarray) -> Mesh:
    """A primitive of MuJoCo around its own origin."""
    from trimesh import creation

    a, b, _ = (float(value) for value in size)
    if kind == _KIND.mjGEOM_BOX:
        return _sharp(creation.box(extents=2 * size))
    if kind == _KIND.mjGEOM_CYLINDER:
        return _sharp(creation.cylinder(radius=a, height=2 * b, sections=32))
    if kind == _KIND.mjGEOM_CAPSULE:
        made = creation.capsule(radius=a, height=2 * b, count=(12, 16))
        return made.vertices - made.bounds.mean(axis=0), made.faces
    ball = creation.icosphere(subdivisions=2)
    return ball.vertices * (size if kind == _KIND.mjGEOM_ELLIPSOID else a), ball.faces


def _sharp(made: object) -> Mesh:
    """Corners of its own for every face, so that edges are not shaded as if they were round."""
    vertices = made.vertices[made.faces].reshape(-1, 3)  # type: ignore[attr-defined]
    return vertices, np.arange(len(vertices)).reshape(-1, 3)


def _mesh(model: mujoco.MjModel, k: int) -> Mesh:
    vertices = model.mesh_vert[model.mesh_vertadr[k] :][: model.mesh_vertnum[k]]
    return vertices, model.mesh_face[model.mesh_faceadr[k] :][: model.mesh_facenum[k]]


def _place(mesh: Mesh, pos: np.ndarray, quat: np.ndarray) -> Mesh:
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, np.asarray(quat, dtype=np.float64))
    return mesh[0] @ turn.reshape(3, 3).T + pos, mesh[1]


def _merge(meshes: list[Mesh]) -> Mesh:
    first = np.cumsum([0, *(len(vertices) for vertices, _ in meshes[:-1])])
    faces = [faces + offset for (_, faces), offset in zip(meshes, first, strict=True)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)


def _colour(model: mujoco.MjModel, own: np.ndarray, material: int) -> Colour:
    """A shape's own colour, else its material's."""
    rgba = model.mat_rgba[material] if material >= 0 and np.allclose(own, (0.5, 0.5, 0.5, 1.0)) else own
    red, green, blue, alpha = (float(value) for value in rgba)
    return red, green, blue, alpha
