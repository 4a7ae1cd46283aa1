"""A cart on a rail with a chain of poles on top. No collisions."""

import mujoco

from genelab.core.errors import UserError
from genelab.core.ranges import NonNegative, Positive
from genelab.scene.mirror import MirrorTable
from genelab.scene.scene import EntityCfg

BASE_HEIGHT = 0.12
"""Height of the cart's centre above the ground, metres."""
HINGE_HEIGHT = 0.05
"""Height of the first hinge above the cart's centre, metres."""
MIRROR = MirrorTable(swap=(), flip=".*", axis="x")
"""Seen in a mirror across the rail, all joints go the other way."""
_POLE_COLORS = ("0.85 0.37 0.22 1", "0.93 0.66 0.20 1")


def single_pole() -> EntityCfg:
    """The cart of the inverted pendulum: joints ``slide``, ``hinge``; bodies ``cart``, ``pole``."""
    pole = {"pole_radius": (0.025,), "pole_length": (0.80,), "pole_mass": (0.1,), "pole_range": (1.2,)}
    return EntityCfg(model=cartpole, params={"cart_size": (0.15, 0.10, 0.05), **pole, "kp": 80.0, "kd": 8.0})


def double_pole() -> EntityCfg:
    """The cart of the double inverted pendulum: joints ``slide``, ``hinge``, ``hinge_2``."""
    sizes = {"pole_radius": (0.023, 0.020), "pole_length": (0.55, 0.45)}
    poles = {**sizes, "pole_mass": (0.1, 0.08), "pole_range": (1.2, 1.5)}
    return EntityCfg(model=cartpole, params={"cart_size": (0.17, 0.11, 0.05), **poles, "kp": 100.0, "kd": 10.0})


def cartpole(
    cart_size: tuple[Positive, Positive, Positive],
    pole_radius: tuple[Positive, ...],
    pole_length: tuple[Positive, ...],
    pole_mass: tuple[Positive, ...],
    pole_range: tuple[Positive, ...],
    kp: NonNegative,
    kd: NonNegative,
    cart_mass: Positive = 1.0,
    rail_range: Positive = 3.0,
    rail_damping: NonNegative = 0.05,
    hinge_damping: NonNegative = 0.002,
) -> mujoco.MjSpec:
    """A 1-dof cart (slide along x) driven by a position servo, and one hinge (about y) per pole.

    Sizes in metres (the cart's are half-sizes), masses in kg, ranges in m and rad (symmetric), kp in N/m, kd in N s/m.
    """
    poles = {"pole_radius": pole_radius, "pole_length": pole_length, "pole_mass": pole_mass, "pole_range": pole_range}
    if len({len(values) for values in poles.values()}) > 1:
        counts = ", ".join(f"{name} {len(values)}" for name, values in poles.items())
        raise UserError(f"every pole needs its own value, but there are {counts}")
    chain, size = "", " ".join(map(str, cart_size))
    for i, (radius, length, mass, reach) in reversed(list(enumerate(zip(*poles.values(), strict=True)))):
        suffix, height = ("", HINGE_HEIGHT) if i == 0 else (f"_{i + 1}", pole_length[i - 1])
        chain = f"""
        <body name="pole{suffix}" pos="0 0 {height}">
          <joint name="hinge{suffix}" axis="0 1 0" range="{-reach} {reach}" damping="{hinge_damping}"/>
          <geom name="pole{suffix}" type="capsule" size="{radius}" fromto="0 0 0 0 0 {length}" mass="{mass}"
                rgba="{_POLE_COLORS[i % len(_POLE_COLORS)]}"/>{chain}
        </body>"""
    # The camera sees as much as a balancing cart needs, not the whole track.
    return mujoco.MjSpec.from_string(f"""
    <mujoco>
      <compiler angle="radian"/>
      <default><geom contype="0" conaffinity="0"/></default>
      <worldbody>
        <geom name="rail" type="capsule" size="0.02" rgba="0.45 0.48 0.52 1"
              fromto="{-rail_range} 0 {BASE_HEIGHT} {rail_range} 0 {BASE_HEIGHT}"/>
        <camera name="side" pos="0 -2.6 0.85" xyaxes="1 0 0 0 0.14 1" fovy="40"/>
        <body name="cart" pos="0 0 {BASE_HEIGHT}">
          <joint name="slide" type="slide" axis="1 0 0" range="{-rail_range} {rail_range}" damping="{rail_damping}"/>
          <geom name="cart" type="box" size="{size}" mass="{cart_mass}" rgba="0.20 0.34 0.52 1"/>{chain}
        </body>
      </worldbody>
      <actuator><position name="slide" joint="slide" kp="{kp}" kv="{kd}"/></actuator>
    </mujoco>""")
