"""Things in a scene beside robots: boxes to move, and marks that only the eye sees."""

import mujoco

from genelab.core.ranges import NonNegative, Positive
from genelab.scene.scene import EntityCfg


def box(half_size: float, pos: tuple[float, float, float], density: float = 1000.0, friction: float = 1.0) -> EntityCfg:
    """A cube that lies at `pos`, metres; density in kg/m³."""
    return EntityCfg(model=cube, params={"half_size": half_size, "density": density, "friction": friction}, pos=pos)


def cube(half_size: Positive, density: Positive, friction: NonNegative) -> mujoco.MjSpec:
    """A free cube with contacts hard enough for a strong hand: body and geom ``cube``."""
    return mujoco.MjSpec.from_string(f"""
    <mujoco><worldbody><body name="cube">
      <freejoint name="root"/>
      <geom name="cube" type="box" size="{half_size} {half_size} {half_size}" density="{density}" friction="{friction}"
            solref="0.01 1" solimp="0.95 0.99 0.001 0.5 2" rgba="0.85 0.37 0.22 1"/>
    </body></worldbody></mujoco>""")


def marker(radius: float) -> EntityCfg:
    """A see-through ball, for the eye only. `Engine.markers` says where each world shows it."""
    return EntityCfg(model=mark, params={"radius": radius})


def mark(radius: Positive) -> mujoco.MjSpec:
    """A world with one site called ``mark``."""
    spec = mujoco.MjSpec()
    spec.worldbody.add_site(name="mark", size=[radius] * 3, rgba=[0.20, 0.65, 0.35, 0.45])
    return spec
