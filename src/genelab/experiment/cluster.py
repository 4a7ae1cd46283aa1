"""A Ray cluster as the place where shards, or whole runs, are worked on.

A run works in a scratch directory of whichever node it is on, and what it writes is brought home every few seconds. A
node that leaves takes nothing with it: the run goes on elsewhere from what is at home, exactly.
"""

import io
import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import TEMPORARY, write_atomic
from genelab.core.run_files import LOCK_FILE
from genelab.experiment.launch import LocalProcesses, log_file

INTERVAL_S = 5.0
"""Time between two looks at what a run has written."""
ATTEMPTS = 5
"""Places that a run may lose: what takes each of them is in the run itself."""


def connect(address: str | None) -> Any:
    """Ray, connected to a cluster: the one at `address`, the one at ``RAY_ADDRESS``, or this machine alone."""
    try:
        import ray
    except ImportError:
        raise UserError("--launcher ray needs Ray: pip install genelab[ray]") from None
    if not ray.is_initialized():
        try:
            ray.init(address, include_dashboard=None, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UserError(f"no Ray cluster at '{address}': {' '.join(str(error).split())}") from None
    return ray


def workers(address: str | None) -> Any:
    """The kind of workers that collect on a cluster."""
    connect(address)
    from genelab.rl.shards.ray_actors import Actor

    return Actor


class Place:
    """A scratch directory on a node, in which commands run."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="genelab-"))
        self._sent: dict[str, tuple[int, int]] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def work(self, command: list[str], name: str, files: bytes, threads: int) -> tuple[int, bytes]:
        """Run a command on the directory `name`. Returns its exit code and all files that are new."""
        unpack(files, self._home)
        self.files()  # these are at home already
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with log_file(self._home / name).open("ab") as log:
            words, err = [sys.executable, "-m", "genelab", *command], subprocess.STDOUT
            self._process = subprocess.Popen(words, cwd=self._home, stdout=log, stderr=err, env=environment)
            code = self._process.wait()
        found = self.files()
        shutil.rmtree(self._home, ignore_errors=True)
        return code, found

    def files(self) -> bytes:
        """What has changed since the last call."""
        return pack(self._home, self._sent)

    def stop(self) -> None:
        """Let the command save its work and end."""
        if self._process is not None:
            self._process.terminate()


class RayRuns:
    """Runs commands on a cluster: a `Launcher`. What is not about one run is done here."""

    def __init__(self, address: str | None, needs: Callable[[Path], tuple[int, int]]):
        """`needs`: the cores and GPUs of the run in a directory."""
        self._ray, self._needs = connect(address), needs
        self._here = LocalProcesses()
        self._running: dict[Path, tuple[Any, Any]] = {}
        self._looks: dict[Path, tuple[float, Any]] = {}
        self._lost: Counter[Path] = Counter()

    def start(self, command: list[str], directory: Path) -> None:
        if command[0] not in ("train", "eval"):
            return self._here.start(command, directory)
        cpus, gpus = self._needs(directory)
        place = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_concurrency=3)(Place).remote()
        words = [word.replace(str(directory), directory.name) for word in command]
        files = pack(directory.parent, {}, (directory, log_file(directory)))
        self._running[directory] = place, place.work.remote(words, directory.name, files, cpus)
        self._looks[directory] = time.monotonic(), None

    def ended(self) -> dict[Path, int | None]:
        found = self._here.ended()
        for directory, (place, work) in list(self._running.items()):
            since, look = self._looks[directory]
            if self._ray.wait([work], timeout=0)[0]:
                found[directory] = self._end(directory)
            elif look is not None and self._ray.wait([look], timeout=0)[0]:
                self._bring_home(directory, look)
                self._looks[directory] = time.monotonic(), None
            elif look is None and time.monotonic() - since > INTERVAL_S:
                self._looks[directory] = since, place.files.remote()
        return found

    def stop(self) -> None:
        self._here.stop()
        asked = {place.stop.remote(): directory for directory, (place, _) in self._running.items()}
        for answer in self._ray.wait(list(asked), num_returns=len(asked), timeout=INTERVAL_S)[0] if asked else ():
            self._end(asked[answer])  # the others have not begun

    def _end(self, directory: Path) -> int | None:
        """Bring home what is left. Returns the exit code; None if the place is lost, and another one is to go on."""
        place, work = self._running.pop(directory)
        if (look := self._looks[directory][1]) is not None:  # what it has counts as sent
            self._bring_home(directory, look)
        code = self._bring_home(directory, work)
        self._ray.kill(place)
        self._lost[directory] += code is None
        return 1 if self._lost[directory] == ATTEMPTS else code

    def _bring_home(self, directory: Path, answer: Any) -> int | None:
        """Write down what a place sent. Returns the exit code in it, if there is one."""
        try:
            got = self._ray.get(answer)
        except self._ray.exceptions.RayError:
            return None
        code, files = got if isinstance(got, tuple) else (None, got)
        unpack(files, directory.parent)
        return code


def pack(root: Path, sent: dict[str, tuple[int, int]], paths: tuple[Path, ...] | None = None) -> bytes:
    """The files below `root`, or of these paths in it, that are not yet `sent` as they are.

    The state of a run comes before its metrics, so that they never miss an iteration that the state has.
    """
    found = [file for path in paths or (root,) for file in ([path] if path.is_file() else path.rglob("*"))]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in sorted(found, key=lambda file: (file.parent.name != "state", file)):
            with suppress(FileNotFoundError):  # replaced by a newer one in this moment
                status, name = file.stat(), str(file.relative_to(root))
                seen = (status.st_mtime_ns, status.st_size)
                if file.is_file() and file.name != LOCK_FILE and file.suffix != TEMPORARY and sent.get(name) != seen:
                    information, data = tarfile.TarInfo(name), file.read_bytes()
                    information.size = len(data)
                    archive.addfile(information, io.BytesIO(data))
                    sent[name] = seen
    return buffer.getvalue()


def unpack(files: bytes, root: Path) -> None:
    """Write files as `pack` has them below `root`, each complete or not at all."""
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        for member in archive:
            data = archive.extractfile(member)
            assert data is not None
            write_atomic(root / member.name, lambda file, data=data: file.write_bytes(data.read()))
