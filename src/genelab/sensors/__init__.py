"""Sensors: what is measured in all worlds at once, at a rate of its own, and read by terms by its name.

A config in ``scene.sensors`` makes a sensor; ``env.sensors["feet"].data`` is what it measured last.
"""

from genelab.scene.sensors import ContactSensorCfg, SensorCfg
from genelab.sensors.base import ArraySensor, BodyFrame, Sensor, SensorHost
from genelab.sensors.contact import ContactData, ContactSensor
from genelab.sensors.height_scan import HeightScan, HeightScanCfg
from genelab.sensors.rays import RaySensor, RaySensorCfg
from genelab.sensors.suite import Sensors

__all__ = [
    "ArraySensor",
    "BodyFrame",
    "ContactData",
    "ContactSensor",
    "ContactSensorCfg",
    "HeightScan",
    "HeightScanCfg",
    "RaySensor",
    "RaySensorCfg",
    "Sensor",
    "SensorCfg",
    "SensorHost",
    "Sensors",
]
