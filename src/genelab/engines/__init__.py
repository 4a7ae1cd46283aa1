"""Physics engines by name. Nothing heavy is imported until an engine is made."""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

from genelab.core.errors import UserError, unknown
from genelab.core.registry import load

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
}


def make_engine(name: str, scene: "Scene", num_envs: int, *, device: str = "cpu", threads: int = 0) -> "Engine":
    """Build `num_envs` copies of `scene` on the engine called `name`."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    info = ENGINES[name]
    if not info.installed:
        raise UserError(f"engine '{name}' is not installed: {info.install}")
    return load(info.target)(scene, num_envs, device=device, threads=threads)
