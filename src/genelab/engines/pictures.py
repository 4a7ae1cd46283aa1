"""Pictures of one world by MuJoCo's renderer, whichever engine simulates it."""

import copy
import itertools
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from genelab.core.graphics import no_pictures

AROUND = 15.0
"""Metres of a height field that are drawn around the robot: all of the reference terrain takes a CPU half a second."""
SLACK = 5.0
"""How far the robot may go until another part is drawn."""
SHADOW_SIZE = 2048
"""Pixels of a shadow's edge: on MuJoCo's own 4096, and four samples a pixel, a CPU spends half of a picture's time."""

Point = Sequence[float]
Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class Arrow:
    """Something that only pictures show: an arrow along points, world frame, metres. Two are straight, more a bend."""

    points: Sequence[Point]
    colour: Colour
    width: float = 0.012
    """Radius of the shaft."""


@dataclass(frozen=True)
class Ball:
    """Something that only pictures show: a ball around a point, world frame, metres."""

    centre: Point
    radius: float
    colour: Colour


Mark = Arrow | Ball

_BALL, _ARROW = mujoco.mjtGeom.mjGEOM_SPHERE.value, mujoco.mjtGeom.mjGEOM_ARROW.value
_STROKE, _DECORATION = mujoco.mjtGeom.mjGEOM_CAPSULE.value, mujoco.mjtCatBit.mjCAT_DECOR.value


def add_marks(scene: mujoco.MjvScene, marks: Iterable[Mark]) -> None:
    """Put marks into a scene that is about to be drawn. They are no part of the physics."""
    for mark in marks:
        if isinstance(mark, Ball):
            _add_geom(scene, _BALL, mark.colour, mark.centre, mark.radius)
            continue
        legs = list(itertools.pairwise(mark.points))
        for number, (start, end) in enumerate(legs, start=1):
            kind = _ARROW if number == len(legs) else _STROKE
            geom = _add_geom(scene, kind, mark.colour, start)
            mujoco.mjv_connector(geom, kind, mark.width, np.asarray(start, np.float64), np.asarray(end, np.float64))


def _add_geom(scene: mujoco.MjvScene, kind: int, colour: Colour, pos: Point, size: float = 0.0) -> Any:
    geom = scene.geoms[scene.ngeom]
    place, colours = np.asarray(pos, np.float64), np.asarray(colour, np.float32)
    mujoco.mjv_initGeom(geom, kind, np.full(3, size), place, np.eye(3).flatten(), colours)
    geom.category = _DECORATION
    scene.ngeom += 1
    return geom


class Painter:
    """Draws worlds of one model at one size."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int):
        self._model, self._size = model, (height, width)
        self._renderer: mujoco.Renderer | None = None
        static = np.flatnonzero((model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD) & (model.geom_bodyid == 0)).tolist()
        large = (geom for geom in static if (model.hfield_size[model.geom_dataid[geom], :2] > AROUND).all())
        self._terrain = next(large, None)
        """The static geom with a height field of which only a part is to be drawn."""
        self.centre = np.full(2, np.inf)
        """Where on the terrain the middle of the part is that is drawn."""

    @property
    def drawn(self) -> mujoco.MjModel | None:
        """The model that the last picture was made from, with a part of a large terrain."""
        return None if self._renderer is None else self._renderer.model

    def paint(self, world: Any, camera: str | None, marks: Iterable[Mark] = ()) -> np.ndarray:
        """One RGB frame, (height, width, 3) uint8. Moves the terrain of `world` to where the drawn part lies."""
        if self._terrain is None:
            renderer = self._renderer or self._use(self._model)
        else:
            renderer = self._look_at(world.subtree_com[0, :2])
            world.geom_xpos[self._terrain, :2] = self.centre
        renderer.update_scene(world, camera=-1 if camera is None else camera)
        add_marks(renderer.scene, marks)
        return renderer.render()

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _use(self, model: mujoco.MjModel) -> mujoco.Renderer:
        self.close()
        model.vis.quality.shadowsize = min(SHADOW_SIZE, model.vis.quality.shadowsize)
        model.vis.quality.offsamples = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is an error a moment later
                self._renderer = mujoco.Renderer(model, *self._size)
        except ValueError:  # the size
            raise
        except Exception as error:  # OpenGL can be missing in many ways
            raise no_pictures(error) from error
        return self._renderer

    def _look_at(self, point: np.ndarray) -> mujoco.Renderer:
        """A renderer of the terrain around a point: the last one, unless the point is far from its middle."""
        if self._renderer is not None and np.abs(point - self.centre).max() < SLACK:
            return self._renderer
        model, geom = copy.deepcopy(self._model), self._terrain
        k = int(model.geom_dataid[geom])
        rows, columns, start = int(model.hfield_nrow[k]), int(model.hfield_ncol[k]), int(model.hfield_adr[k])
        half = model.hfield_size[k, :2].copy()
        step = 2 * half / (columns - 1, rows - 1)
        count = 2 * np.round(AROUND / step).astype(int) + 1
        middle = np.round((point - model.geom_pos[geom, :2] + half) / step).astype(int)
        first = np.clip(middle - count // 2, 0, (columns, rows) - count)
        heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns)
        part = heights[first[1] : first[1] + count[1], first[0] : first[0] + count[0]].copy()
        model.hfield_ncol[k], model.hfield_nrow[k] = count
        model.hfield_data[start : start + part.size] = part.flatten()
        model.hfield_size[k, :2] = (count - 1) / 2 * step
        self.centre = model.geom_pos[geom, :2] - half + (first + (count - 1) / 2) * step
        return self._use(model)
