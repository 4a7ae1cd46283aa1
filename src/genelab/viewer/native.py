"""A window on one world."""

import time
import warnings
from typing import Any

from genelab.core.errors import UserError
from genelab.core.graphics import has_display
from genelab.envs import ManagerBasedEnv


def _opens_windows() -> bool:
    """Whether the display can be reached: MuJoCo's viewer ends the whole process if it cannot."""
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(glfw.init())


class NativeViewer:
    """MuJoCo's own window on world 0."""

    def __init__(self, env: ManagerBasedEnv, realtime: bool = False):
        """`realtime` slows the caller down to the speed of the simulated world."""
        if not (has_display() and _opens_windows()):
            others = "'play' also has --viewer web and --video FILE, and 'genelab watch' follows a training"
            raise UserError(f"there is no display to open a window on: use --headless; {others}")
        import mujoco.viewer

        self._engine = env.engine
        self._data = self._engine.world_data(0)
        self._frame_s = env.step_dt if realtime else 0.0
        self._next = time.monotonic()
        self._handle: Any = mujoco.viewer.launch_passive(self._engine.scene.drawn, self._data)

    @property
    def running(self) -> bool:
        return bool(self._handle.is_running())

    def sync(self) -> None:
        with self._handle.lock():
            self._engine.world_data(0, self._data)
        self._handle.sync()
        self._next += self._frame_s
        time.sleep(max(0.0, self._next - time.monotonic()) if self._frame_s else 0.0)

    def close(self) -> None:
        self._handle.close()
