"""Film the bundled policy of the Go1 for the README: MUJOCO_GL=egl python docs/make_gif.py"""

import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg

from genelab.cli.main import run
from genelab.experiment.bundle import bundled_checkpoint

TASK = "Genelab-Velocity-Flat-Unitree-Go1-v0"
FILM = Path(__file__).parent / "images/go1.gif"
FILTER = "fps=12.5,scale=320:-1,crop=iw:ih*0.6,split[a][b];[a]palettegen=max_colors=32[p];[b][p]paletteuse=dither=none"

with tempfile.TemporaryDirectory() as directory:
    video = Path(directory) / "go1.mp4"
    who = ["--checkpoint", str(bundled_checkpoint(TASK)), "--seed", "0"]
    run(["play", TASK, *who, "--steps", "300", "--video", str(video)])
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    subprocess.run([ffmpeg, "-y", "-loglevel", "error", "-i", video, "-filter_complex", FILTER, FILM], check=True)
print(f"{FILM.name}: {FILM.stat().st_size / 1024:.0f} KiB")
