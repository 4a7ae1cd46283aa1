"""Draw the demonstrator at work: python docs/make_pick_and_place.py"""

from pathlib import Path

import numpy as np
from PIL import Image

from genelab.envs import ManagerBasedRlEnv
from genelab.tasks.manipulation.demonstrator import PickAndPlaceDemonstrator
from genelab.tasks.manipulation.franka import pick_and_place

PICTURE = Path(__file__).parent / "images/pick-and-place.png"
WIDTH, HEIGHT = 400, 320
STEPS = (6, 16, 60)
"""Above the cube, about to lift it, at the goal."""


def picture() -> np.ndarray:
    """Frames of one episode side by side, with fewer shades for a smaller file."""
    cfg = pick_and_place(play=True)
    cfg.num_envs = 1
    env = ManagerBasedRlEnv(cfg, seed=4)
    demonstrator = PickAndPlaceDemonstrator(env)
    frames = []
    for step in range(max(STEPS) + 1):
        if step in STEPS:
            large = env.render(0, 2 * WIDTH, 2 * HEIGHT)  # made smaller, so that edges are smooth
            frames.append(large.reshape(HEIGHT, 2, WIDTH, 2, 3).mean(axis=(1, 3)))
        env.step(demonstrator.act(env.obs))
    return (np.concatenate(frames, axis=1) // 8 * 8).astype(np.uint8)


if __name__ == "__main__":
    Image.fromarray(picture()).save(PICTURE, optimize=True)
