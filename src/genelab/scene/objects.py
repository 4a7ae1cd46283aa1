"""Things in a scene beside robots: boxes to move, and marks that only the eye sees."""

import mujoco

from genelab.core.ranges import NonNegative, Positive
from genelab.scene.scene import EntityCfg

MARK = "mark"
"""Name of a marker's site."""


def box(half_size: float, pos: tuple[float, float, float], density: float = 1000.0, friction: float = 1.0) -> EntityCfg:
    """A cube that lies at `pos`, metres; density in kg/m³."""
    return EntityCfg(model=cube, params={"half_size": half_size, "density": density, "friction": friction}, pos=pos)


def cube(half_size: Positive, density: Positive, friction: NonNegative) -> mujoco.MjSpec:
    """A free cube with contacts hard enough for a strong hand: body and geom ``cube``."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="cube")
    body.add_freejoint(name="root")
    body.add_geom(
        name="cube",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half_size] * 3,
        density=density,
        friction=[friction, 0.005, 0.0001],
        solref=[0.01, 1.0],
        solimp=[0.95, 0.99, 0.001, 0.5, 2.0],
        rgba=[0.85, 0.37, 0.22, 1],
    )
    return spec


def marker(radius: float) -> EntityCfg:
    """A see-through ball, for the eye only. `Engine.markers` says where each world shows it."""
    return EntityCfg(model=mark, params={"radius": radius})


def mark(radius: Positive) -> mujoco.MjSpec:
    """A world with one site called ``mark``."""
    spec = mujoco.MjSpec()
    spec.worldbody.add_site(name=MARK, size=[radius] * 3, rgba=[0.20, 0.65, 0.35, 0.45])
    return spec
