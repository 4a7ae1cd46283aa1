"""Draw the reference terrain from above: python docs/make_terrain.py

Light falls from the upper left; low ground is blue, high ground is brown. Levels from left to right, columns from the
bottom up, as x and y.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from genelab.scene.terrain import Terrain, TerrainCfg

PICTURE = Path(__file__).parent / "images/terrain.png"
LIGHT = np.array([-0.5, 0.5, 0.7]) / np.sqrt(0.99)
LOW, MIDDLE, HIGH = (np.array(colour) for colour in ((96, 125, 160), (214, 212, 204), (150, 105, 70)))
SHADES = 24


def picture(heights: np.ndarray, step: float) -> np.ndarray:
    """A shaded map (rows, columns, 3) of a height field, seen from above with y upwards."""
    slope_y, slope_x = np.gradient(heights, step)
    normal = np.stack((-slope_x, -slope_y, np.ones_like(heights)), axis=-1)
    light = (normal @ LIGHT / np.linalg.norm(normal, axis=-1)).clip(0.15)
    share = (heights / np.abs(heights).max())[..., None]
    colour = np.where(share < 0, MIDDLE + (LOW - MIDDLE) * -share, MIDDLE + (HIGH - MIDDLE) * share)
    shaded = colour * (light / LIGHT[2])[..., None]
    coarse = np.round(shaded.clip(0, 255) / 255 * SHADES) / SHADES  # fewer shades, smaller file
    return (coarse * 255).astype(np.uint8)[::-1]


if __name__ == "__main__":
    terrain = Terrain(TerrainCfg(border=1.0))
    Image.fromarray(picture(terrain.heights, terrain.cfg.horizontal)).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
