"""Film bundled policies for the README and the docs: MUJOCO_GL=egl python docs/make_gif.py [NAME …]"""

import subprocess
import sys
import tempfile
from pathlib import Path

import imageio_ffmpeg

from genelab.cli.main import run
from genelab.experiment.bundle import PREFIX

FILMS = {
    "go1": ("Genelab-Velocity-Flat-Unitree-Go1-v0", 0, 300, "fps=12.5,scale=320:-1,crop=iw:ih*0.6"),
    "franka": ("GeneLab-Franka-Pick-And-Place-v0", 4, 200, "fps=10,scale=320:-1"),
}
"""Task, seed, control steps, and how the frames are cut."""
COLOURS = "split[a][b];[a]palettegen=max_colors=128[p];[b][p]paletteuse=dither=none"


def film(name: str) -> Path:
    """Play the bundled policy and keep what it does as a GIF."""
    task, seed, steps, frames = FILMS[name]
    target = Path(__file__).parent / f"images/{name}.gif"
    with tempfile.TemporaryDirectory() as directory:
        video = Path(directory) / "film.mp4"
        who = ["--checkpoint", f"{PREFIX}{task}", "--seed", str(seed)]
        run(["play", task, *who, "--steps", str(steps), "--video", str(video)])
        ffmpeg = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error"]
        subprocess.run([*ffmpeg, "-i", video, "-filter_complex", f"{frames},{COLOURS}", target], check=True)
    return target


if __name__ == "__main__":
    for name in sys.argv[1:] or FILMS:
        made = film(name)
        print(f"{made.name}: {made.stat().st_size / 1024:.0f} KiB")
