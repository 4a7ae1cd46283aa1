"""Shapes of terrain cells: height maps of one square, metres, zero along its edge so that cells fit together.

A shape takes the square, its size (what grows with difficulty: see `SIZES`) and a random generator. Names say what a
robot meets that leaves the middle: ``stairs_up`` is a pit to climb out of, ``stairs_down`` a pyramid to come down from.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

STAIR_WIDTH = 0.3
NUM_BOXES, BOX_SIDE = 20, (0.4, 1.0)
ROUGH_STEP, ROUGH_FEATURE = 0.02, 0.2
STONE, HOLE_DEPTH, GAP_PERIOD = 0.6, 0.5, 1.0
WAVES, FADE = 4, 0.5
SIZES: dict[str, tuple[float, float]] = {
    "stairs": (0.03, 0.13),
    "boxes": (0.03, 0.11),
    "rough": (0.02, 0.07),
    "slope": (0.0, 0.3),
    "wave": (0.02, 0.15),
    "stones": (0.1, 0.4),
    "gaps": (0.1, 0.5),
}
"""At difficulty 0 and 1: height of a stair, highest box, largest offset of rough ground, rise over run of a slope,
half height of waves, distance between stepping stones, width of gaps. For robots of the size of a Go1."""
LARGE_SIZES = SIZES | {"stairs": (0.05, 0.23), "boxes": (0.05, 0.2), "rough": (0.02, 0.1), "slope": (0.0, 0.4)}
"""For robots of the size of a G1."""


@dataclass(frozen=True)
class Square:
    """The vertices of one cell: `n` intervals of `step` metres along each side."""

    n: int
    step: float
    platform: float
    """Half width of the flat middle, metres."""

    @property
    def ring(self) -> np.ndarray:
        """(n + 1, n + 1) intervals between a vertex and the nearest side."""
        along = np.minimum(np.arange(self.n + 1), np.arange(self.n, -1, -1))
        return np.minimum.outer(along, along)

    @property
    def radius(self) -> np.ndarray:
        """Distance from the middle, as the half width of a square around it, metres."""
        return (self.n / 2 - self.ring) * self.step

    def samples(self, length: float) -> int:
        """A length in intervals, at least one."""
        return max(1, round(length / self.step))


Shape = Callable[[Square, float, np.random.Generator], np.ndarray]


def flat(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    return np.zeros((square.n + 1, square.n + 1))


def stairs_down(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """Square rings of stairs, `size` high each."""
    width = square.samples(STAIR_WIDTH)
    most = (square.n // 2 - square.samples(square.platform)) // width
    return size * np.minimum(square.ring // width, most)


def boxes(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """Boxes of random sides, places and heights up to `size`."""
    heights = flat(square, size, rng)
    for _ in range(NUM_BOXES):
        width, depth = (square.samples(side) for side in rng.uniform(*BOX_SIDE, 2))
        x, y = rng.integers(1, square.n - width), rng.integers(1, square.n - depth)
        box = heights[y : y + depth, x : x + width]
        np.maximum(box, rng.uniform(0.0, size), out=box)
    return _level_middle(square, heights)


def rough(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """Random heights within ±size in steps of 2 cm, every 20 cm, with straight lines between."""
    every = square.samples(ROUGH_FEATURE)
    coarse = rng.choice(np.arange(-size, size + 1e-9, ROUGH_STEP), (square.n // every + 2,) * 2)
    at, known = np.arange(square.n + 1) / every, np.arange(coarse.shape[0])
    rows = np.stack([np.interp(at, known, row) for row in coarse])
    heights = np.stack([np.interp(at, known, column) for column in rows.T], axis=1)
    heights[square.ring == 0] = 0.0
    return _level_middle(square, heights)


def slope_down(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """A pyramid with sides of rise over run `size`."""
    return size * (square.n / 2 * square.step - np.maximum(square.radius, square.platform))


def wave(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """Waves along both sides, ±size."""
    along = np.sin(2 * np.pi * WAVES * np.arange(square.n + 1) / square.n)
    fade = np.minimum(square.ring * square.step, square.radius - square.platform) / FADE
    return size / 2 * np.add.outer(along, along) * fade.clip(0.0, 1.0)


def stones(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """Square stones, `size` apart, over a hole."""
    stone, gap = square.samples(STONE), square.samples(size)
    on_stone = (np.arange(square.n + 1) - 1) % (stone + gap) < stone
    heights = np.where(np.logical_and.outer(on_stone, on_stone) | (square.ring == 0), 0.0, -HOLE_DEPTH)
    return _level_middle(square, heights)


def gaps(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    """Trenches around the middle, `size` wide, a metre from each other."""
    period, gap = square.samples(GAP_PERIOD), square.samples(size)
    outwards = square.n // 2 - square.ring - square.samples(square.platform) - 1
    return np.where((outwards >= 0) & (outwards % period < gap) & (square.ring > 0), -HOLE_DEPTH, 0.0)


def stairs_up(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    return -stairs_down(square, size, rng)


def slope_up(square: Square, size: float, rng: np.random.Generator) -> np.ndarray:
    return -slope_down(square, size, rng)


def _level_middle(square: Square, heights: np.ndarray) -> np.ndarray:
    return np.where(square.radius <= square.platform + 1e-9, 0.0, heights)


_SHAPES = (flat, stairs_up, stairs_down, boxes, rough, slope_up, slope_down, wave, stones, gaps)
SHAPES: dict[str, Shape] = {shape.__name__: shape for shape in _SHAPES}


def size_name(shape: str) -> str:
    """Which entry of the size table a shape reads."""
    return shape.removesuffix("_up").removesuffix("_down")
