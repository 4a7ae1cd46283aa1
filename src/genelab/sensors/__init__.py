# ruff: noqa: F403
"""Sensors: what is measured in all worlds at once, at a rate of its own, and read by terms by its name.

A config in ``scene.sensors`` makes a sensor; ``env.sensors["feet"].data`` is what it measured last.
"""

from genelab.scene.sensors import ContactSensorCfg as ContactSensorCfg
from genelab.scene.sensors import SensorCfg as SensorCfg
from genelab.sensors.base import *
from genelab.sensors.contact import *
from genelab.sensors.height_scan import *
from genelab.sensors.rays import *

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name, value in globals().items() if ".sensors" in getattr(value, "__module__", "")
]
