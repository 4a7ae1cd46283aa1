"""What this machine can do, and how to get what it cannot."""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator

from genelab.core.graphics import VARIABLE
from genelab.engines import ENGINES
from genelab.experiment import provenance
from genelab.rl.backends import BACKENDS

_PYTHON = (sys.executable, "-c")
_DRAW = (*_PYTHON, "import mujoco as m; m.Renderer(m.MjModel.from_xml_string('<mujoco/>'), 8, 8); print('draws')")
_CUDA = "import torch; assert torch.cuda.is_available(); print(torch.cuda.get_device_name())"
_FFMPEG = "import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_version())"
PROBES = {
    "OpenGL egl": (_DRAW, "apt-get install libegl1: pictures and videos without a display"),
    "OpenGL osmesa": (_DRAW, "apt-get install libosmesa6: pictures in software, where egl does not work"),
    "OpenGL glfw": (_DRAW, "a display (DISPLAY or WAYLAND_DISPLAY), for windows only: use --viewer web instead"),
    "CUDA": ((*_PYTHON, _CUDA), "a GPU of NVIDIA with its driver: only --gpu needs it"),
    "ffmpeg": ((*_PYTHON, _FFMPEG), "pip install imageio-ffmpeg: videos"),
    "Node.js": (("node", "--version"), "apt-get install nodejs npm: only the example of deployment needs it"),
    "Chromium": (("chromium", "--version"), "apt-get install chromium: only tests of pages need it"),
}
"""Commands that print what there is, and fail where there is nothing; and the remedy."""
EXTRAS = {"viser": "web", "dm_control": "suite", "wandb": "wandb", "ray": "ray"}
"""Optional packages beside engines and backends, and the extra that installs each."""


def examine() -> Iterator[tuple[str, str | None, str]]:
    """Everything that matters here by name, with what was found of it, None if nothing; and what to do then."""
    started = {name: _start(name, command) for name, (command, _) in PROBES.items()}
    versions = provenance.versions()
    yield from ((name, versions[name], "") for name in ("genelab", "python", "torch", "mujoco"))
    page, pages = (os.sysconf(name) for name in ("SC_PAGE_SIZE", "SC_PHYS_PAGES"))
    yield from (("cores", str(provenance.cores()), ""), ("memory", f"{page * pages / 2**30:.1f} GiB", ""))
    parts = {"engine": ENGINES, "backend": BACKENDS}
    for name, part in ((f"{kind} {c.name}", c) for kind, table in parts.items() for c in table.values()):
        yield name, _version(part.requires), part.install
    yield from ((module, _version(module), f"pip install genelab[{extra}]") for module, extra in EXTRAS.items())
    for name, process in started.items():
        said = process.communicate()[0].strip().splitlines() if process is not None else []
        yield name, said[-1] if process is not None and process.returncode == 0 and said else None, PROBES[name][1]


def _start(name: str, command: tuple[str, ...]) -> subprocess.Popen[str] | None:
    """Begin to look for something, in a process of its own: a library that crashes takes only that one down."""
    kind = name.removeprefix("OpenGL ")
    env = {**os.environ, **({VARIABLE: kind} if kind != name else {})}
    try:
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None


def _version(module: str) -> str | None:
    """The version of the package that a module comes with; None if it is not installed."""
    packages = importlib.metadata.packages_distributions().get(module, []) if importlib.util.find_spec(module) else []
    return importlib.metadata.version(packages[0]) if packages else None
