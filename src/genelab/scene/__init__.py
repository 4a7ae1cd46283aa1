"""One world as MJCF: robots, objects, ground and sensors, compiled once for every engine."""

import os
import sys

if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
    os.environ.setdefault("MUJOCO_GL", "egl")  # must be set before mujoco is imported for the first time
