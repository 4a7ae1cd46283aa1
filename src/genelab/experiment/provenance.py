"""What a result was made with."""

import importlib.metadata
import os
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PACKAGES = (
    *("genelab", "torch", "mujoco", "numpy", "gymnasium"),
    *("rsl-rl-lib", "tensordict", "skrl", "stable-baselines3"),
)


def stamp(*more: str) -> dict[str, Any]:
    """Commit and versions, which every result carries."""
    return {"git_commit": git_commit(), "versions": versions(*more)}


def versions(*more: str) -> dict[str, str]:
    """Versions of Python and of the packages that results depend on, and of `more` packages."""
    found = {"python": platform.python_version()}
    for package in (*_PACKAGES, *more):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def machine() -> dict[str, Any]:
    """The kind of machine, without its name."""
    return {"system": platform.system(), "architecture": platform.machine(), "cpu": _cpu_name(), "cores": cores()}


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def git_commit() -> str | None:
    """The commit of the checkout the package runs from, with ``+changes`` if files differ from it; None outside git."""
    here = Path(__file__).resolve().parent
    try:
        commit = _git(here, "rev-parse", "HEAD")
        return f"{commit}+changes" if _git(here, "status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def now() -> str:
    """The present time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git(directory: Path, *arguments: str) -> str:
    options = {"stderr": subprocess.DEVNULL, "encoding": "utf-8", "errors": "replace", "timeout": 10}
    return subprocess.check_output(["git", "-C", str(directory), *arguments], **options).strip()


def _cpu_name() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
