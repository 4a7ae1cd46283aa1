"""One process at a time writes to a run directory: it locks a file that names it until it ends, however it ends."""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genelab.core.errors import UserError
from genelab.core.files import remove_orphans, require_plain_name, writing
from genelab.core.run_files import LOCK_FILE

LOOKS = 3
"""How often a lock is asked for before it counts as taken."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Make `directory` if need be and keep other processes from training in it. An error names the one that does."""
    path = directory / LOCK_FILE
    require_plain_name(directory)
    with writing(directory, "cannot write to"):
        directory.mkdir(parents=True, exist_ok=True)
        file = _take(path)
    if file is None:
        other = _holder(path)
        raise UserError(f"'{directory}' is in use by {other}: wait for it or stop it, or choose another directory")
    try:
        for folder in (directory, directory / "params", directory / "state"):
            remove_orphans(folder)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def holder(directory: Path) -> str | None:
    """The process that works in a directory, None if there is none."""
    path = directory / LOCK_FILE
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(path)
    except OSError:
        pass  # there is none, or it is not for everyone
    return None


def _take(path: Path) -> int | None:
    """The open lock file, or None if another process has it."""
    looks = 0
    while looks < LOOKS:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.stat()):
                os.truncate(file, 0)
                os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                return file
        except FileNotFoundError:
            pass  # its last holder removed it in between: what is locked now has no name any more
        except BlockingIOError:
            looks += 1
            time.sleep(0.01)  # `holder` has it for a moment when it looks whether someone else does
        except BaseException:
            os.close(file)
            raise
        os.close(file)
    return None


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or "another process"
    except OSError:
        return "another process"
