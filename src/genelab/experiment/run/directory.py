"""A run on disk (`genelab.core.run_files` lists its files): what a training writes, and what it is resumed from."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import torch

from genelab.core.config import to_dict
from genelab.core.errors import RunStopped, UserError, about
from genelab.core.files import read_json, write_atomic, write_json
from genelab.core.ranges import CountOrZero
from genelab.core.run_files import AGENT_FILE, ENV_FILE, LOCK_FILE, RUN_FILE, SPARE_FILE, STATE_FILE
from genelab.core.stored_config import check_record, from_dict, stored
from genelab.envs import ManagerBasedRlEnvCfg
from genelab.experiment.run.logs import Logs, count_lines
from genelab.experiment.run.reading import CONTINUED_BY, RECORD
from genelab.rl.backends import stored_agent_cfg
from genelab.rl.checkpoint import read_tensors, saved_checkpoints


def new_directory(backend: str, task: str, root: Path = Path("logs")) -> Path:
    """``logs/<backend>/<task>/<date_time>``, with a number behind it if that exists."""
    stem = root / backend / task / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    candidates = (stem if number == 1 else stem.with_name(f"{stem.name}_{number}") for number in count(1))
    return next(path for path in candidates if not path.exists())


class Run:
    """One training run on disk."""

    def __init__(self, directory: Path, meta: dict[str, Any]):
        self.directory, self.meta = directory, meta
        self.stop_requested = False
        self.tracker: Any = None
        """A run at Weights & Biases beside TensorBoard, while one is open."""
        self._logs: Logs | None = None
        self._created = False

    @classmethod
    def create(cls, directory: Path, meta: dict[str, Any], env_cfg: Any, agent_cfg: Any) -> "Run":
        """Make the directory and write down what is about to be run."""
        if (directory / RUN_FILE).exists():
            remedy = "continue it with --resume, or choose another --log-dir"
            raise UserError(f"'{directory}' already holds a run: {remedy}")
        run = cls(directory, meta)
        run._created = all(path.name == LOCK_FILE for path in directory.glob("*"))
        try:
            from_dict(type(env_cfg), to_dict(env_cfg))  # what could not be read back is an error before the training
            write_json(directory / ENV_FILE, to_dict(env_cfg))
            write_json(directory / AGENT_FILE, to_dict(agent_cfg))
            run.mark_running()
        except (OSError, RunStopped) as error:
            reason = error.strerror if isinstance(error, OSError) else "no room for its first files"
            raise UserError(f"cannot write to '{directory}': {reason}") from error
        return run

    @classmethod
    def open(cls, directory: Path) -> "Run":
        """A run that was started before."""
        path = directory / RUN_FILE
        if not path.is_file():
            raise UserError(f"no run at '{directory}' (there is no {RUN_FILE})")
        meta = read_json(path)
        check_record(f"'{path}' is not the record of a genelab run", meta, RECORD, CONTINUED_BY)
        return cls(directory, meta)

    def configs(self) -> tuple[Any, Any]:
        """The environment and agent configs the run was started with."""
        env_path, agent_path = self.directory / ENV_FILE, self.directory / AGENT_FILE
        env_data, agent_data = read_json(env_path), read_json(agent_path)
        with about(env_path):
            env_cfg = from_dict(ManagerBasedRlEnvCfg, env_data, "env")
        with about(agent_path):
            return env_cfg, stored_agent_cfg(agent_data)

    def keep_agent_config(self, agent_cfg: Any) -> None:
        """Store an agent config that a resume has changed."""
        self._write_json(AGENT_FILE, to_dict(agent_cfg))

    def mark_running(self) -> None:
        """Write down that the run is under way."""
        self.meta.pop("lines", None)
        self._write_json(SPARE_FILE, {**self.meta, "status": "failed"})
        self.update_meta(status="running")

    def update_meta(self, **changes: Any) -> None:
        self.meta |= changes
        self._write_json(RUN_FILE, self.meta)

    def log(self, iteration: int, total_iterations: int, metrics: dict[str, float], unit: str = "iteration") -> None:
        """Record one iteration; `unit` is what these are counted in."""
        with self._writing():
            if self._logs is None:
                self._logs = Logs(self.directory, iteration - 1, total_iterations, unit, self.tracker)
            self._logs.write(iteration, metrics)

    def save_checkpoint(self, name: str, data: dict[str, Any]) -> Path:
        """Store a checkpoint under a file name."""
        path = self.directory / name
        with self._writing():
            write_atomic(path, lambda temporary: _save_tensors(data, temporary))
        return path

    def save_state(self, data: dict[str, Any]) -> None:
        """Store what exact resume needs, replacing the previous state."""
        with self._writing():
            if self._logs is not None:
                self._logs.sync()
        self.save_checkpoint(STATE_FILE, data)

    def load_state(self) -> dict[str, Any] | None:
        """The last stored state, or None if the run starts from nothing."""
        path = self.directory / STATE_FILE
        if not path.exists():
            return None
        state = read_tensors(path, "state of a run")
        stored(stored(state, "checkpoint", Any, f"'{path}'"), "iter", CountOrZero, f"'{path}'")
        return state

    def close(self, status: str) -> None:
        """Flush the logs and write down how the run ended."""
        try:
            if self._logs is not None:
                self._logs.close()
            if self.tracker is not None:
                self.tracker.finish()
            self.update_meta(status=status, lines=count_lines(self.directory))
            (self.directory / SPARE_FILE).unlink(missing_ok=True)
        except (OSError, RunStopped) as error:
            with suppress(OSError):
                (self.directory / SPARE_FILE).replace(self.directory / RUN_FILE)
            if status != "failed":  # the error that made it fail says more
                raise self.write_failed(error) if isinstance(error, OSError) else error from error

    def discard(self) -> None:
        """Remove a run that was refused before it began, so that the request can be repeated."""
        if self._created and not any(self.directory.glob("model*")):
            shutil.rmtree(self.directory)

    def _write_json(self, name: str, data: Any) -> None:
        with self._writing():
            write_json(self.directory / name, data)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.write_failed(error) from error

    def write_failed(self, error: OSError) -> RunStopped:
        """The error of a run that cannot write its files."""
        reason = error.strerror or str(error)
        saved = saved_checkpoints(self.directory)
        kept = f"{saved[-1].name} and the state to resume from are intact" if saved else "nothing had been saved yet"
        return RunStopped(f"cannot write to '{self.directory}': {reason}; {kept}")


def _save_tensors(data: dict[str, Any], path: Path) -> None:
    """As torch does, but an error of the disk is an `OSError`."""
    with path.open("wb") as file:
        try:
            torch.save(data, file)
        except RuntimeError as error:  # torch complains that its archive cannot be finished
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise
