"""Physics: N copies of a compiled scene, advanced together. Nothing heavy is imported until an engine is made."""

import sys
from functools import cache
from typing import TYPE_CHECKING

from genelab.core.registry import Component, find_installed, load

if TYPE_CHECKING:
    from genelab.engines.base import Engine
    from genelab.scene.scene import Scene

ENGINES = {
    name: Component(
        name=name,
        target=f"genelab.engines.{name}:{name.capitalize()}Engine",
        requires=module,
        install=f"pip install {package}",
        summary=summary,
    )
    for name, module, package, summary in (
        ("mujoco", "mujoco", "genelab", "MuJoCo's C batch stepper on all CPU cores"),
        ("genesis", "genesis", "'genelab[genesis]'", "Genesis: all worlds in one kernel, on the CPU or on CUDA"),
        ("mjwarp", "mujoco_warp", "'genelab[mjwarp]'", "MuJoCo Warp: thousands of worlds on a CUDA device"),
    )
}


def make_engine(name: str, scene: "Scene", num_envs: int, *, device: str = "cpu", threads: int = 0) -> "Engine":
    """Build `num_envs` copies of `scene` on the engine called `name`."""
    engine = load(find_installed("engine", name, ENGINES).target)
    if device == "cpu" and "cuda" in engine.capabilities.devices:
        _point_at_cuda(name)
    return engine(scene, num_envs, device=device, threads=threads)


@cache
def _point_at_cuda(name: str) -> None:
    """Say once that an engine runs on the CPU where it could run on CUDA."""
    import torch

    if torch.cuda.is_available():
        print(f"{name}: on the CPU, though there is a CUDA device (--gpu uses it)", file=sys.stderr)
