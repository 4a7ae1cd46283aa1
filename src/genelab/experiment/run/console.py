"""What a running command shows: a progress bar on a terminal, plain lines in a pipe."""

import sys
import time
from typing import Protocol

PLAIN_INTERVAL_S = 5.0
"""Time between two lines of plain progress."""


class Progress(Protocol):
    """Shows how far a training is."""

    def update(self, iteration: int, metrics: dict[str, float]) -> None: ...

    def close(self) -> None: ...


def make_progress(total: int, start: int = 0) -> Progress:
    """A bar if standard output is a terminal, else lines."""
    return _Bar(total, start) if sys.stdout.isatty() else _Lines(total, start)


def describe(metrics: dict[str, float]) -> str:
    """Rate, return and episode length in a few words."""
    parts = [f"{metrics['steps_per_s'] / 1000:.1f}k steps/s"]
    if "return_mean" in metrics:
        parts += [f"return {metrics['return_mean']:.2f}", f"length {metrics['length_mean']:.0f}"]
    return ", ".join(parts)


class _Lines:
    def __init__(self, total: int, start: int):
        self._total, self._start = total, start
        self._begin = self._last = time.monotonic()

    def update(self, iteration: int, metrics: dict[str, float]) -> None:
        now = time.monotonic()
        if now - self._last < PLAIN_INTERVAL_S and iteration != self._total:
            return
        self._last = now
        left = (now - self._begin) / max(1, iteration - self._start) * max(0, self._total - iteration)
        print(f"iteration {iteration}/{self._total}  {describe(metrics)}, ETA {left:.0f} s", flush=True)

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, total: int, start: int):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as EtaColumn

        self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            EtaColumn(),
        )
        self._task = self._progress.add_task("training", total=total, completed=start, status="")
        self._progress.start()

    def update(self, iteration: int, metrics: dict[str, float]) -> None:
        self._progress.update(self._task, completed=iteration, status=describe(metrics))

    def close(self) -> None:
        self._progress.stop()
