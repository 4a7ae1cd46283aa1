"""Physics engines by name. Nothing heavy is imported until an engine is made."""

import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from genelab.core.errors import UserError, unknown
from genelab.core.registry import load
from genelab.engines.capabilities import CAPABILITIES

if TYPE_CHECKING:
    from genelab.engines.base import Engine
    from genelab.scene.scene import Scene


@dataclass(frozen=True)
class EngineInfo:
    """An engine that can be asked for, installed or not."""

    name: str
    target: str
    """``"module:Class"``."""
    requires: str
    """The module that must be importable."""
    install: str
    summary: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None


ENGINES = {
    "mujoco": EngineInfo(
        name="mujoco",
        target="genelab.engines.mujoco:MujocoEngine",
        requires="mujoco",
        install="pip install genelab",
        summary="MuJoCo's C batch stepper on all CPU cores",
    ),
    "genesis": EngineInfo(
        name="genesis",
        target="genelab.engines.genesis:GenesisEngine",
        requires="genesis",
        install="pip install 'genelab[genesis]'",
        summary="Genesis: all worlds in one kernel, on the CPU or on CUDA",
    ),
    "mjwarp": EngineInfo(
        name="mjwarp",
        target="genelab.engines.mjwarp:MjwarpEngine",
        requires="mujoco_warp",
        install="pip install 'genelab[mjwarp]'",
        summary="MuJoCo Warp: thousands of worlds on a CUDA device",
    ),
}


def make_engine(name: str, scene: "Scene", num_envs: int, *, device: str = "cpu", threads: int = 0) -> "Engine":
    """Build `num_envs` copies of `scene` on the engine called `name`."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    info = ENGINES[name]
    if not info.installed:
        raise UserError(f"engine '{name}' is not installed: {info.install}")
    if device == "cpu" and "cuda" in CAPABILITIES[name].devices:
        _point_at_cuda(name)
    return load(info.target)(scene, num_envs, device=device, threads=threads)


@cache
def _point_at_cuda(name: str) -> None:
    """Say once that an engine runs on the CPU where it could run on CUDA."""
    import torch

    if torch.cuda.is_available():
        print(f"{name}: on the CPU, though there is a CUDA device (--gpu uses it)", file=sys.stderr)
