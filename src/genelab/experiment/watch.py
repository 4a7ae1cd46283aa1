"""Following a run while it trains: each new checkpoint plays, and the curves grow."""

import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from genelab.core.errors import UserError
from genelab.core.ranges import finite
from genelab.core.run_files import METRICS_FILE
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.inference import Say, load_policy
from genelab.experiment.play import PlayRequest, ZeroPolicy, show
from genelab.experiment.run.directory import Run
from genelab.experiment.run.reading import RunData
from genelab.experiment.setup import evaluation_cfg
from genelab.rl.checkpoint import read_checkpoint, saved_checkpoints
from genelab.viewer.server import announced
from genelab.viewer.session import Plots, Session

CURVES = {"Return": "return_mean", "Episode length": "length_mean"}
"""Titles of the plots, and what they show of each iteration."""
LOOK_S = 1.0
"""Seconds between two looks at the run's directory."""


def watch(directory: Path, num_envs: int, max_steps: int | None, host: str, port: int | None, say: Say) -> int:
    """Show a run until the page is closed, or for so many steps; returns the number of steps played."""
    run = Run.open(directory)
    task = run.meta["task"]
    cfg = evaluation_cfg(task, run.meta["env_changes"], run.configs()[0].simulation)
    cfg.num_envs, cfg.simulation.vis, cfg.simulation.threads = num_envs, True, 1
    with suppress(OSError):  # the training may be on this machine: run in the time that it leaves, if that can be had
        if hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        else:
            os.nice(19)
    with announced(task, host, port, say) as page:
        env = ManagerBasedRlEnv(cfg)
        session = Session(env, {"zero": lambda: ZeroPolicy(env)}, "zero")
        request = PlayRequest(task, max_steps=max_steps, page=page)
        return show(session, request, say, Follower(directory, session, env, task))


class Follower:
    """Looks at a run's directory: lets a session use each new checkpoint, and reads the curves."""

    def __init__(self, directory: Path, session: Session, env: ManagerBasedRlEnv, task: str):
        self._directory, self._session, self._env, self._task = directory, session, env, task
        self._looked_at = -LOOK_S
        self._seen: dict[Path, int] = {}
        """When files were changed that have been read."""
        self._plots: Plots = {title: {"iteration": np.zeros(1), title: np.zeros(1)} for title in CURVES}
        session.message = "waiting for the first checkpoint"

    def __call__(self) -> Plots:
        """The learning curves."""
        if time.monotonic() - self._looked_at >= LOOK_S:
            self._looked_at = time.monotonic()
            try:
                self._look()
            except (UserError, OSError) as error:  # the run may be writing, or may be removed
                self._session.message = str(error)
        return self._plots

    def _look(self) -> None:
        if self._is_new(self._directory / METRICS_FILE):
            rows = RunData(self._directory, notes=[]).rows
            for title, key in CURVES.items():
                points = [(row["iteration"], y) for row in rows if (y := finite(row.get(key))) is not None]
                x, y = np.array(points or [(0, 0)], np.float64).T.copy()
                self._plots[title] = {"iteration": x, title: y}
        saved = saved_checkpoints(self._directory)
        if saved and self._is_new(saved[-1]):
            policy = load_policy(self._env, read_checkpoint(saved[-1], self._task))
            self._session.agents = {"zero": self._session.agents["zero"], saved[-1].name: lambda: policy}
            self._session.use(saved[-1].name)

    def _is_new(self, path: Path) -> bool:
        """Whether a file has changed since this was last asked."""
        before, now = self._seen.get(path), path.stat().st_mtime_ns if path.exists() else None
        self._seen |= {path: now} if now is not None else {}
        return before != now
