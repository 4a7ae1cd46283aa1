"""Terrain: a grid of cells, harder row by row, as one height field that every engine shares.

Rows (levels) follow each other along x and columns along y, around the world's origin. All cells meet at height zero
and have a flat middle, where robots start; a flat border surrounds the grid.
"""

from dataclasses import dataclass, field
from typing import Annotated

import mujoco
import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError, require_known
from genelab.core.ranges import NonNegative, NotEmpty, Positive, Range, Seed
from genelab.core.rng import derive_seed
from genelab.scene.terrain_shapes import SHAPES, SIZES, Square, size_name

MIXED = (
    *("stairs_up", "stairs_up", "stairs_down", "stairs_down", "boxes", "boxes"),
    *("rough", "rough", "slope_up", "slope_down"),
)
"""The columns of the reference grid."""
Height = Annotated[float, Range(0, 100)]
MOST_SAMPLES = 25_000_000
"""Of a height field: 100 MB."""


@dataclass(kw_only=True)
class TerrainCfg:
    """A grid of cells. The size of what is in a cell grows from row to row."""

    columns: Annotated[tuple[str, ...], NotEmpty(100)] = MIXED
    """Shape of each column, by name; see `genelab.scene.terrain_shapes`."""
    rows: Annotated[int, Range(1, 100)] = 10
    """Number of levels. Row r has difficulty r / (rows - 1)."""
    flat_rows: Annotated[int, Range(0, 100)] = 1
    """First rows that are flat, to learn to walk on. Rows above them keep the sizes that go with their difficulty."""
    sizes: dict[str, tuple[Height, Height]] = field(default_factory=lambda: dict(SIZES))
    """Size of each shape at difficulty 0 and 1, metres, or rise over run; see `genelab.scene.terrain_shapes`."""
    cell: Annotated[float, Range(0.1, 1000)] = 8.0
    """Side of a cell, metres."""
    platform: NonNegative = 2.0
    """Side of the flat middle of a cell, metres."""
    border: Annotated[float, Range(0, 1000)] = 20.0
    """Width of the flat ground around the grid, metres. Beyond it a robot falls."""
    horizontal: Positive = 0.1
    """Distance between two samples of the height field, metres."""
    vertical: Positive = 0.005
    """Heights are multiples of this, metres."""
    seed: Seed = 0
    """Fixes boxes and rough ground. Not the seed of the run, so that runs with different seeds see the same ground."""
    spread: bool = False
    """Worlds stay on cells spread evenly over all levels, as in an evaluation; else all start on level 0."""

    @property
    def extent(self) -> tuple[float, float]:
        """Size of the whole ground along x and y, metres."""
        return self.rows * self.cell + 2 * self.border, len(self.columns) * self.cell + 2 * self.border

    def unused_fields(self) -> dict[str, str]:
        needed = {size_name(shape) for shape in self.columns}
        unused = {f"sizes.{name}": f"no column of the terrain has {name}" for name in self.sizes if name not in needed}
        return unused if self.flat_rows < self.rows else {"sizes": "all rows are flat"}

    def validate(self) -> None:
        if not self.cell > self.platform:
            raise UserError(f"cell must be larger than platform, not {self.cell} and {self.platform}")
        along, across = (round(side / self.horizontal) for side in self.extent)
        if along * across > MOST_SAMPLES:
            raise UserError(f"horizontal is too small: the height field would have {along} x {across} samples")
        for shape in self.columns:
            require_known("shape in columns", shape, SHAPES)
            if shape != "flat" and size_name(shape) not in self.sizes:
                raise UserError(f"sizes has no entry '{size_name(shape)}', which column '{shape}' needs")


class Terrain:
    """The height field, its height at any point, and the place in each cell where robots start."""

    def __init__(self, cfg: TerrainCfg):
        self.cfg = cfg
        self.heights = _heights(cfg)
        """(ny, nx) metres, one row per y, as MuJoCo stores height fields."""
        ny, nx = self.heights.shape
        self._half = ((nx - 1) * cfg.horizontal / 2, (ny - 1) * cfg.horizontal / 2)
        self._planes = _triangles(torch.tensor(self.heights, dtype=torch.float32, device="cpu"))
        self._origins = torch.zeros(cfg.rows, len(cfg.columns), 3, device="cpu")
        self._origins[..., 0] = _centres(cfg.rows, cfg.cell).unsqueeze(1)
        self._origins[..., 1] = _centres(len(cfg.columns), cfg.cell)
        self._origins[..., 2] = self.height(self._origins)

    def to(self, device: str) -> "Terrain":
        """Move what look-ups need to a device."""
        self._planes, self._origins = self._planes.to(device), self._origins.to(device)
        return self

    def origin(self, level: Tensor, column: Tensor) -> Tensor:
        """Middle of a cell, on the ground, world frame.  (…), (…) -> (…, 3)"""
        return self._origins[level, column]

    def height(self, points: Tensor) -> Tensor:
        """Height of the ground below points (…, 2 or more), metres; see `height_at`."""
        return self.height_at(points[..., 0], points[..., 1])

    def height_at(self, x: Tensor, y: Tensor) -> Tensor:
        """Height of the ground at x, y, metres, on MuJoCo's own triangles; beyond the border, as nearest on it."""
        ny, nx = self.heights.shape
        u = (x + self._half[0]).div_(self.cfg.horizontal).clamp_(0.0, nx - 1)  # in samples from the lower edge
        v = (y + self._half[1]).div_(self.cfg.horizontal).clamp_(0.0, ny - 1)
        column, row = u.int().clamp_(max=nx - 2), v.int().clamp_(max=ny - 2)
        u, v = u.sub_(column).flatten(), v.sub_(row).flatten()
        triangle = row.mul_(nx - 1).add_(column).mul_(2).flatten().add_(v > u)
        plane = self._planes.index_select(0, triangle)
        return torch.addcmul(plane[:, 0], plane[:, 1], u).addcmul_(plane[:, 2], v).view(x.shape)

    def add_to(self, spec: mujoco.MjSpec, name: str) -> "mujoco.MjsGeom":
        """Add the height field to a world as one static geom; returns the geom."""
        ny, nx = self.heights.shape
        low, high = float(self.heights.min()), float(self.heights.max())
        # The compiler scales the data to 0..1; the geom's size and position turn it back into metres.
        size, heights = [*self._half, max(high - low, 1e-3), 0.1], self.heights.flatten().tolist()
        spec.add_hfield(name=name, nrow=ny, ncol=nx, size=size, userdata=heights)
        kind = mujoco.mjtGeom.mjGEOM_HFIELD
        return spec.worldbody.add_geom(name=name, type=kind, hfieldname=name, pos=[0.0, 0.0, low])


def _heights(cfg: TerrainCfg) -> np.ndarray:
    n, border = round(cfg.cell / cfg.horizontal), round(cfg.border / cfg.horizontal)
    square = Square(n, cfg.horizontal, cfg.platform / 2)
    heights = np.zeros((len(cfg.columns) * n + 2 * border + 1, cfg.rows * n + 2 * border + 1))
    for column, shape in enumerate(cfg.columns):
        for row in range(min(cfg.flat_rows, cfg.rows), cfg.rows):
            low, high = cfg.sizes.get(size_name(shape), (0.0, 0.0))
            size = low + (high - low) * row / max(1, cfg.rows - 1)
            rng = np.random.default_rng(derive_seed(cfg.seed, f"terrain/{shape}/{row}/{column}"))
            y, x = border + column * n, border + row * n
            heights[y : y + n + 1, x : x + n + 1] += SHAPES[shape](square, size, rng)
    return np.round(heights / cfg.vertical) * cfg.vertical


def _triangles(heights: Tensor) -> Tensor:
    """(2 C, 3) height at the first corner and slopes per interval of the two triangles of C squares, as MuJoCo cuts."""
    a, b, c, d = heights[:-1, :-1], heights[:-1, 1:], heights[1:, :-1], heights[1:, 1:]
    below = torch.stack((a, b - a, d - b), dim=-1)  # the triangle along x first, then y
    above = torch.stack((a, d - c, c - a), dim=-1)
    return torch.stack((below, above), dim=2).reshape(-1, 3)


def _centres(cells: int, side: float) -> Tensor:
    return (torch.arange(cells, device="cpu") - (cells - 1) / 2) * side
