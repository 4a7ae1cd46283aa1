"""Film bundled policies for the README and the docs: MUJOCO_GL=egl python docs/make_gif.py [NAME …]

Every frame is drawn at twice its size and then made smaller, which is what makes edges smooth.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import imageio_ffmpeg
import numpy as np

from genelab.experiment.inference import bundled_checkpoint, setup_policy

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 960
"""Pixels that are drawn; the film has half of them in each direction."""


@dataclass(frozen=True)
class Film:
    """What is filmed, and how its frames are cut."""

    task: str
    seed: int
    start: int
    """The first control step that is shown."""
    frames: int
    every: int
    """Control steps between two frames."""
    fps: float
    crop: str
    """Width, height, left and top of what is shown, of the small picture."""
    colours: int = 96
    """Of a GIF."""
    form: str = "gif"
    """``gif``, or ``webp``, whose files are smaller."""

    def file(self, name: str) -> str:
        return f"{name}.{self.form}"


FILMS = {
    "go1": Film("Genelab-Velocity-Flat-Unitree-Go1-v0", 0, 10, 60, 4, 12.5, "640:360:0:90", colours=64),
    "g1": Film("Genelab-Velocity-Flat-Unitree-G1-v0", 0, 10, 60, 4, 12.5, "640:420:0:60", colours=64),
    "franka": Film("GeneLab-Franka-Pick-And-Place-v0", 4, 0, 90, 2, 10, "640:440:0:20"),
    "pendulum": Film("GeneLab-Inverted-Pendulum-v0", 0, 0, 60, 4, 25, "640:360:0:60", form="webp"),
    "double-pendulum": Film("GeneLab-Double-Inverted-Pendulum-v0", 0, 0, 60, 4, 25, "640:400:0:20", form="webp"),
    "go1-rough": Film("Genelab-Velocity-Rough-Unitree-Go1-v0", 0, 10, 60, 4, 12.5, "640:360:0:90", form="webp"),
    "humanoid": Film("Playground-HumanoidWalk-v0", 0, 10, 60, 4, 10, "640:420:0:30", form="webp"),
}


def frames(task: str, seed: int, steps: range) -> Iterator[np.ndarray]:
    """What the bundled policy of a task does, at these control steps."""
    checkpoint = bundled_checkpoint(task)
    assert checkpoint is not None
    _, inference, _ = setup_policy(task, checkpoint, [], seed=seed, num_envs=1, say=print)
    env, policy = inference.env, inference.policy
    for step in range(steps.stop):
        if step in steps:
            yield env.render(0, WIDTH, HEIGHT)
        _, _, _, _, extras = env.step(policy.act(env.obs))
        if extras["finished"] is not None:
            policy.reset(extras["finished"].env_ids)
    env.close()


def film(name: str) -> Path:
    """Let the bundled policy act and keep what it does."""
    what, target = FILMS[name], IMAGES / FILMS[name].file(name)
    graph = f"scale=iw/2:-1:flags=area,crop={what.crop}"
    if what.form == "gif":
        colours = f"palettegen=max_colors={what.colours}:stats_mode=diff"
        graph += f",split[a][b];[a]{colours}[p];[b][p]paletteuse=dither=none:diff_mode=rectangle"
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-framerate", f"{what.fps}", "-i", "-"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *raw, "-filter_complex", graph]
    command += ["-loop", "0", target]
    steps = range(what.start, what.start + what.frames * what.every, what.every)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as encoder:
        assert encoder.stdin is not None
        for frame in frames(what.task, what.seed, steps):
            encoder.stdin.write(np.ascontiguousarray(frame).tobytes())
    assert encoder.returncode == 0
    return target


if __name__ == "__main__":
    for name in sys.argv[1:] or FILMS:
        made = film(name)
        print(f"{made.name}: {made.stat().st_size / 1024:.0f} KiB")
