"""Videos, frame by frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np

from genelab.core.errors import UserError
from genelab.core.files import prepare_output

WIDTH, HEIGHT = 768, 576
"""Pixels, multiples of the encoder's 16. Without a GPU, 240 pictures take less than half a minute of two cores."""
FPS = 50


class VideoWriter:
    """An H.264 file that appears when it is closed. Frames come at `frame_s`, thinned to at most 50 per second."""

    def __init__(self, path: Path, frame_s: float):
        if path.suffix.lower() not in (".mp4", ".mkv", ".mov"):
            raise UserError(f"'{path}' is not a video file name: use one that ends in .mp4")
        prepare_output(path)
        self.path = path
        self._every = max(1, round(1.0 / (FPS * frame_s)))
        self._fps = 1.0 / (frame_s * self._every)
        self._seen = 0
        self._partial = path.with_name(f".{path.stem}.partial{path.suffix}")
        self._stream: Any = None

    def film(self, render: Callable[[], np.ndarray]) -> None:
        """Append the RGB frame of the present step, if it is one to be recorded."""
        self._seen += 1
        if (self._seen - 1) % self._every != 0:
            return
        frame = render()
        if self._stream is None:
            self._stream = imageio_ffmpeg.write_frames(
                str(self._partial),
                (frame.shape[1], frame.shape[0]),
                fps=self._fps,  # type: ignore[arg-type]  # ffmpeg takes fractions
                quality=7,
                output_params=["-preset", "veryfast"],  # half the time, for a file of the same size
            )
            self._stream.send(None)
        self._stream.send(np.ascontiguousarray(frame).tobytes())

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._partial.replace(self.path)
