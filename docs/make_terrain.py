"""Draw the reference terrain from above: python docs/make_terrain.py

Light falls from the upper left; low ground is blue, high ground is brown. Levels from left to right, columns from the
bottom up, as x and y.
"""

import struct
import zlib
from pathlib import Path

import numpy as np

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


def png(image: np.ndarray) -> bytes:
    """An RGB image as a PNG file."""
    height, width, _ = image.shape
    lines = b"".join(b"\0" + row.tobytes() for row in image)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    terrain = Terrain(TerrainCfg(border=1.0))
    PICTURE.write_bytes(png(picture(terrain.heights, terrain.cfg.horizontal)))
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
