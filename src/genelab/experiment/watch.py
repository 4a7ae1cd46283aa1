"""Following a run while it trains: each new checkpoint plays, and the curves grow."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from genelab.core.errors import UserError
from genelab.core.json_data import finite
from genelab.core.run_files import METRICS_FILE, RUN_FILE
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.inference import load_policy
from genelab.experiment.play import PlayRequest, Say, ZeroPolicy, show
from genelab.experiment.run.directory import Run
from genelab.experiment.run.reading import RunData, read_run
from genelab.experiment.setup import evaluation_cfg
from genelab.rl.checkpoint import read_checkpoint, saved_checkpoints
from genelab.viewer.session import Session

CURVES = {"Return": "return_mean", "Episode length": "length_mean"}
"""Titles of the plots, and what they show of each iteration."""
LOOK_S = 1.0
"""Seconds between two looks at the run's directory."""


@dataclass(frozen=True)
class WatchRequest:
    """What the user asked to follow."""

    directory: Path
    num_envs: int = 4
    max_steps: int | None = None
    host: str = "127.0.0.1"
    port: int | None = None


def watch(request: WatchRequest, say: Say = print) -> int:
    """Show a run until the page is closed; returns the number of steps played."""
    run = Run.open(request.directory)
    task = run.meta["task"]
    env_cfg, _ = run.configs()
    cfg = evaluation_cfg(task, run.meta["env_changes"], env_cfg.simulation)
    cfg.num_envs, cfg.simulation.vis, cfg.simulation.threads = request.num_envs, True, 1
    os.nice(19)  # the training, which may run on this machine, comes first
    env = ManagerBasedRlEnv(cfg, seed=0)
    session = Session(env, {"zero": lambda: ZeroPolicy(env)}, "zero")
    follower = Follower(request.directory, task, session)
    play = PlayRequest(task, max_steps=request.max_steps, viewer="web", host=request.host, port=request.port)
    return show(session, play, say, follower)


class Follower:
    """Looks at a run's directory, and gives a session what is new there."""

    def __init__(self, directory: Path, task: str, session: Session):
        self.directory, self._task = directory, task
        self._session = session
        self._seen: tuple[Path, int] | None = None
        self._recorded: list[int] = []
        self._looked_at = -LOOK_S
        self._data: RunData | None = None
        session.message = "waiting for the first checkpoint"
        self.look()

    def look(self) -> None:
        """See what was written since the last look."""
        if time.monotonic() - self._looked_at < LOOK_S:
            return
        self._looked_at = time.monotonic()
        try:
            self._read_records()
            self._use_newest()
        except (UserError, OSError) as error:  # the run may be writing, or may be removed
            self._session.message = str(error)

    def plots(self) -> dict[str, tuple[np.ndarray, ...]]:
        """The learning curves over iterations."""
        rows = self._data.rows if self._data is not None else []
        plots = {}
        for title, key in CURVES.items():
            points = [(float(row["iteration"]), y) for row in rows if (y := finite(row.get(key))) is not None]
            plots[title] = tuple(np.array(points or [(0.0, 0.0)]).T.copy())
        return plots

    def _read_records(self) -> None:
        recorded = [_changed_at(self.directory / name) for name in (METRICS_FILE, RUN_FILE)]
        if recorded != self._recorded:
            self._data, self._recorded = read_run(self.directory, notes=[]), recorded

    def _use_newest(self) -> None:
        saved = saved_checkpoints(self.directory)
        if not saved or self._seen == (newest := (saved[-1], _changed_at(saved[-1]))):
            return
        self._seen = newest
        env, path = self._session.rl, saved[-1]
        assert env is not None
        policy = load_policy(env, read_checkpoint(path, self._task))
        self._session.agents[path.name] = lambda: policy
        self._session.use(path.name)


def _changed_at(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
