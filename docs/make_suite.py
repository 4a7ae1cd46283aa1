"""Draw all tasks of the control suite on one sheet: python docs/make_suite.py"""

from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from genelab.core.registry import TaskSpec
from genelab.envs import ManagerBasedRlEnv
from genelab.tasks.suite import ROWS, TASKS

PICTURE = Path(__file__).parent / "images/suite.png"
COLUMNS, WIDTH, HEIGHT, TITLE = 5, 232, 174, 20
STEPS = 12
"""Control steps with random actions before a picture is taken."""


def tile(spec: TaskSpec, name: str, seed: int) -> Image.Image:
    """One task in the middle of things, with its name."""
    cfg = spec.env_cfg(play=True)
    cfg.num_envs = 1
    env = ManagerBasedRlEnv(cfg, seed)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        env.step(torch.rand(1, env.num_actions, generator=generator) * 2.0 - 1.0)
    large = env.render(0, 2 * WIDTH, 2 * HEIGHT)  # made smaller, so that edges are smooth
    env.close()
    small = large.reshape(HEIGHT, 2, WIDTH, 2, 3).mean(axis=(1, 3)) // 6 * 6  # fewer shades, smaller file
    sheet = Image.new("RGB", (WIDTH, HEIGHT + TITLE), "white")
    sheet.paste(Image.fromarray(small.astype(np.uint8)), (0, TITLE))
    ImageDraw.Draw(sheet).text((4, 3), name, fill=(40, 50, 60), font=ImageFont.load_default(13))
    return sheet


if __name__ == "__main__":
    tiles = [tile(spec, row.name, seed) for seed, (spec, row) in enumerate(zip(TASKS, ROWS, strict=True))]
    rows = -(-len(tiles) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * (WIDTH + 6) - 6, rows * (HEIGHT + TITLE)), "white")
    for i, picture in enumerate(tiles):
        whole.paste(picture, (i % COLUMNS * (WIDTH + 6), i // COLUMNS * (HEIGHT + TITLE)))
    whole.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
