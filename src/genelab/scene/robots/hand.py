"""A hand with five fingers of four hinges each, with a position servo on every hinge. The model is in ``hand.xml``."""

from pathlib import Path

import mujoco

from genelab.scene.scene import EntityCfg


def hand() -> EntityCfg:
    """The open hand on a stand. Joints: ``thumb_spread``, ``thumb_knuckle``, ``thumb_middle``, ``thumb_tip``, …"""
    return EntityCfg(model=five_fingers)


def five_fingers() -> mujoco.MjSpec:
    """A right hand of primitive shapes with a position servo on each of its 20 hinges."""
    return mujoco.MjSpec.from_file(str(Path(__file__).with_name("hand.xml")))
