"""Film the bundled policy of the Go1 for the README: MUJOCO_GL=egl python docs/make_gif.py"""

import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg

from genelab.cli.main import run
from genelab.experiment.bundle import bundled_checkpoint

TASK = "Genelab-Velocity-Flat-Unitree-Go1-v0"
FILM = Path(__file__).parent / "images/go1.gif"
FILTER = "fps=15,scale=400:-1,crop=iw:ih*0.7,split[a][b];[a]palettegen=max_colors=48[p];[b][p]paletteuse=dither=none"

with tempfile.TemporaryDirectory() as directory:
    video = Path(directory) / "go1.mp4"
    run(
        [
            "play",
            TASK,
            "--checkpoint",
            str(bundled_checkpoint(TASK)),
            "--steps",
            "400",
            "--seed",
            "3",
            "--video",
            str(video),
        ]
    )
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    subprocess.run([ffmpeg, "-y", "-loglevel", "error", "-i", video, "-filter_complex", FILTER, FILM], check=True)
print(f"{FILM.name}: {FILM.stat().st_size / 1024:.0f} KiB")
