"""What a run logs: metrics.jsonl and evaluations.jsonl, one checked line per record, and the same for loggers."""

import importlib.util
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError, reason, require_known
from genelab.core.files import json_line, read_json, write_text
from genelab.core.registry import NotInstalledError
from genelab.core.run_files import BEST_META_FILE, EVALUATIONS_FILE, METRICS_FILE, read_iterations
from genelab.experiment.console import describe, open_display

LINE_FILES = (METRICS_FILE, EVALUATIONS_FILE)
LOGGERS = ("tensorboard", "wandb")
"""Where metrics can go besides metrics.jsonl. TensorBoard's files are always written."""


class Logs:
    """metrics.jsonl, TensorBoard events and the progress display."""

    def __init__(self, directory: Path, iteration: int, total: int, unit: str, tracker: Any = None):
        """Continue after `iteration`, dropping the lines of later ones. What TensorBoard is told, `tracker` is too."""
        from torch.utils.tensorboard.writer import SummaryWriter

        path = directory / METRICS_FILE
        if path.exists():
            kept = [record for record in read_iterations(path) if record["iteration"] <= iteration]
            write_text(path, "".join(map(json_line, kept)))
        self._file = path.open("a", buffering=1, encoding="utf-8")
        threading.excepthook = _quietly
        self._writer = SummaryWriter(str(directory), purge_step=iteration + 1)
        self._tracker = tracker
        self._display = open_display()
        self._progress = self._display.row("training", total, unit, start=iteration)

    def write(self, iteration: int, metrics: dict[str, float]) -> None:
        self._file.write(json_line({"iteration": iteration, **metrics}))
        named = {name if "/" in name else f"train/{name}": value for name, value in metrics.items()}
        for name, value in named.items():
            self._writer.add_scalar(name, value, iteration)
        if self._tracker is not None:
            self._tracker.log(named, step=iteration)
        with suppress(OSError):  # a terminal or pipe that has gone is no reason to stop
            self._progress.update(iteration, describe(metrics))

    def sync(self) -> None:
        """Bring what was recorded to the disk: a state that is saved later must not be ahead of it."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        with suppress(OSError):
            self._display.close()
        self._writer.close()
        self._file.close()


def open_wandb(directory: Path, meta: dict[str, Any]) -> Any:
    """A run at Weights & Biases; with WANDB_MODE=offline, in the run's directory. A resumed run goes on there too."""
    import wandb

    identity = "".join(c for c in f"{meta['started_at']}{meta['config_hash']}" if c.isalnum())
    where = {"project": meta["task"], "name": directory.name, "dir": str(directory.resolve())}
    try:
        settings = wandb.Settings(console="off", silent=True)
        return wandb.init(**where, id=identity, resume="allow", config=meta, settings=settings)
    except wandb.Error as error:
        remedy = "log in with 'wandb login', or set WANDB_MODE=offline"
        raise UserError(f"Weights & Biases cannot be used ({reason(error)}): {remedy}") from error


def check_logger(name: str) -> None:
    """Raise a `UserError` if there is no such logger, or if it is not installed."""
    require_known("logger", name, LOGGERS)
    if name == "wandb" and importlib.util.find_spec("wandb") is None:
        raise NotInstalledError("logger 'wandb' is not installed: pip install 'genelab[wandb]'")


def _quietly(failure: threading.ExceptHookArgs) -> None:
    """No traceback of a thread that cannot write: TensorBoard's raises the error again at the next line."""
    if not issubclass(failure.exc_type, OSError):
        threading.__excepthook__(failure)


def count_lines(directory: Path) -> dict[str, int]:
    """How many complete lines the files have, for those who must notice that some are lost."""
    paths = (directory / name for name in LINE_FILES)
    return {path.name: path.read_bytes().count(b"\n") for path in paths if path.exists()}


def lines_written(meta: dict[str, Any]) -> dict[str, int]:
    """How many lines each file had when the run ended, if it has."""
    return meta.get("lines", {}) if meta.get("status") != "running" else {}


def check_records(directory: Path, meta: dict[str, Any], iteration: int) -> None:
    """An error if a record of a run whose saved state is at `iteration` is damaged or lost."""
    for path in filter(Path.exists, (directory / name for name in LINE_FILES)):
        records = read_iterations(path)
        lost = len(records) < lines_written(meta).get(path.name, 0)
        if path.name == METRICS_FILE and iteration > 0:
            lost |= not records or records[-1]["iteration"] < iteration
        if lost:
            raise UserError(f"'{path}' has lost lines: restore it from a copy, or remove it to go on without it")
    if (best := directory / BEST_META_FILE).exists():
        read_json(best)
