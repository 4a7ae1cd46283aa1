"""Where commands run: a launcher gets a command and the directory it works in, and reports back when it has ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from genelab.core.ranges import Count, check
from genelab.experiment import provenance
from genelab.experiment.run.lock import holder

LAUNCHERS = ("local", "ray")
POLL_S = 0.2
"""Time between two looks at what runs."""
NextCommand = Callable[[Path], list[str] | None]
"""What a directory needs next; None if it needs no more."""


class Launcher(Protocol):
    """Runs genelab commands, at most one at a time in a directory.

    `ended` returns what has ended since the last call, with its exit code, or None if someone else had started it.
    `stop` asks all that runs to save its work, and waits until it has.
    """

    def start(self, command: list[str], directory: Path) -> None: ...
    def ended(self) -> dict[Path, int | None]: ...
    def stop(self) -> None: ...


class Watch:
    """Is told what happens: a command begins, commands run (a few times a second), a command has ended."""

    def begin(self, directory: Path, command: list[str]) -> None: ...
    def follow(self, running: Iterable[Path]) -> None: ...
    def end(self, directory: Path, code: int | None) -> None: ...


class LocalProcesses:
    """Processes on this machine, each with a log beside its directory. What an earlier one trains is waited for."""

    def __init__(self, threads: int | None = None):
        """`threads`: of each process; None leaves it all cores."""
        self._environment = dict(os.environ)
        if threads is not None:
            self._environment.setdefault("OMP_NUM_THREADS", str(threads))
        self._running: dict[Path, subprocess.Popen[bytes] | None] = {}

    def start(self, command: list[str], directory: Path) -> None:
        if holder(directory) is not None:
            self._running[directory] = None
            return
        words, err = [sys.executable, "-m", "genelab", *command], subprocess.STDOUT
        directory.parent.mkdir(parents=True, exist_ok=True)
        with log_file(directory).open("ab") as log:
            # In a session of its own, so that Ctrl-C reaches it once, through `stop`: twice would stop it unsaved.
            process = subprocess.Popen(words, stdout=log, stderr=err, env=self._environment, start_new_session=True)
        self._running[directory] = process

    def ended(self) -> dict[Path, int | None]:
        found: dict[Path, int | None] = {}
        for directory, process in list(self._running.items()):
            code = None if process is None else process.poll()
            if process is not None and code is None:
                continue
            if code != 0 and holder(directory) is not None:  # another process was first
                self._running[directory] = None
                continue
            del self._running[directory]
            found[directory] = code
        return found

    def stop(self) -> None:
        ours = [process for process in self._running.values() if process is not None]
        for process in ours:
            process.terminate()
        for process in ours:
            process.wait()


def log_file(directory: Path) -> Path:
    """Where the output of the commands that worked in a directory is."""
    return directory.with_name(f"{directory.name}.log")


def threads_each(parallel: int, count: int) -> int | None:
    """Threads for each of `count` commands, `parallel` at once, so that none fight for cores; None if one has all."""
    check("--parallel", parallel, Count)
    return max(1, provenance.cores() // min(parallel, max(1, count))) if parallel > 1 else None


def work_through(
    directories: Iterable[Path], next_command: NextCommand, launcher: Launcher, parallel: int, watch: Watch
) -> bool:
    """Run what each directory needs until it needs no more or fails, `parallel` at once. False: the user stopped it."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in previous.items():  # stop the commands as Ctrl-C does
        if handler != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    waiting, running, last = list(directories), set(), {}
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                directory = waiting.pop(0)
                command = next_command(directory)
                if command is not None and command != last.get(directory):  # done once, it would do no more again
                    launcher.start(command, directory)
                    running.add(directory)
                    last[directory] = command
                    watch.begin(directory, command)
            time.sleep(POLL_S)
            for directory, code in launcher.ended().items():
                running.remove(directory)
                watch.end(directory, code)
                if code is None:
                    del last[directory]
                if code in (0, None):
                    waiting.insert(0, directory)
            watch.follow(running)
    except KeyboardInterrupt:
        launcher.stop()
        return False
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return True
