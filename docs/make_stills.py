"""Draw a picture of every task for its page: MUJOCO_GL=egl python docs/make_stills.py [TASK …]

A task that comes with a policy is drawn while that acts, a scene while it plays itself, any other task after a few
random actions.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from make_gif import frames
from PIL import Image

from genelab.core.registry import TaskSpec, find, tasks
from genelab.envs import ManagerBasedEnv, ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.experiment.inference import bundled_checkpoint

STILLS = Path(__file__).parent / "images/tasks"
WIDTH, HEIGHT = 400, 300
RANDOM_STEPS, TRAINED_STEPS, SCENE_STEPS = 12, 45, 230
"""Control steps before a picture is taken."""


def still(spec: TaskSpec, width: int, height: int, seed: int = 0) -> Image.Image:
    """One task in the middle of things."""
    if bundled_checkpoint(spec.id):
        (large,) = frames(spec.id, seed, range(TRAINED_STEPS, TRAINED_STEPS + 1))
    else:
        large = _after_random_actions(spec, 2 * width, 2 * height, seed)
    small = Image.fromarray(large).resize((width, height), Image.Resampling.BOX)  # so that edges are smooth
    return Image.fromarray((np.asarray(small) // 6 * 6).astype(np.uint8))  # fewer shades, smaller file


def _after_random_actions(spec: TaskSpec, width: int, height: int, seed: int) -> np.ndarray:
    cfg = spec.env_cfg(play=True)
    cfg.num_envs = 1
    learns = isinstance(cfg, ManagerBasedRlEnvCfg)
    env = ManagerBasedRlEnv(cfg, seed) if learns else ManagerBasedEnv(cfg, seed)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(RANDOM_STEPS if learns else SCENE_STEPS):
        if isinstance(env, ManagerBasedRlEnv):
            env.step(torch.rand(1, env.num_actions, generator=generator) * 2.0 - 1.0)
        else:
            env.play_step()
    picture = env.render(0, width, height)
    env.close()
    return picture


if __name__ == "__main__":
    STILLS.mkdir(exist_ok=True)
    for spec in map(find, sys.argv[1:] or tasks()):
        path = STILLS / f"{spec.id}.png"
        still(spec, WIDTH, HEIGHT).quantize(64).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")
