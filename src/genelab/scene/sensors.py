"""Configs of sensors that the scene knows: the base, and contact sensors. What they measure is in `genelab.sensors`."""

from dataclasses import dataclass
from typing import Any, Literal

import mujoco

from genelab.core.errors import UserError, require_known
from genelab.core.ranges import NonNegative
from genelab.core.registry import load

Side = Literal["geom", "body", "subtree"]
_KINDS = {"geom": mujoco.mjtObj.mjOBJ_GEOM, "body": mujoco.mjtObj.mjOBJ_BODY, "subtree": mujoco.mjtObj.mjOBJ_XBODY}


@dataclass(kw_only=True)
class SensorCfg:
    """Base of sensor configs: how often a sensor measures, and how well."""

    period: NonNegative = 0.0
    """Seconds between two measurements, a multiple of the control step; 0: one in every control step."""
    noise: NonNegative = 0.0
    """Half-width of the uniform noise on what is measured, in its unit."""

    def add_to(self, spec: mujoco.MjSpec, name: str) -> None:
        """Add what the sensor needs to the model before it is compiled. Nothing, unless overridden."""

    def build(self, name: str, host: Any) -> Any:
        """The sensor (`genelab.sensors.Sensor`) that carries this config out in all worlds of `host`."""
        raise NotImplementedError(f"{type(self).__name__} has no build()")


@dataclass(kw_only=True)
class ContactSensorCfg(SensorCfg):
    """Net contact forces on several sides, and how long each has been touching or in the air."""

    sides: tuple[str, ...]
    """What is felt, each named as ``entity/name``."""
    kind: Side = "body"
    """What the sides are: geoms, bodies, or bodies with all that hangs on them."""
    other: str = ""
    """What must be touched for it to count, as ``entity/name`` or ``ground``. Empty: anything."""
    other_kind: Side = "body"
    threshold: NonNegative = 1.0
    """A side is in contact while its net force is above this, newtons."""

    def validate(self) -> None:
        if not self.sides or len(set(self.sides)) != len(self.sides):
            raise UserError(f"a contact sensor needs different sides, at least one, not {self.sides}")

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names of the sides without their entity."""
        return tuple(side.split("/")[-1] for side in self.sides)

    def add_to(self, spec: mujoco.MjSpec, name: str) -> None:
        for side in self.sides:
            _require(spec, self.kind, side, f"side of sensor '{name}'")
        if self.other:
            _require(spec, self.other_kind, self.other, f"other of sensor '{name}'")
        data_bits, net_force = 1 << mujoco.mjtConDataField.mjCONDATA_FORCE.value, 3
        settings = {"type": mujoco.mjtSensor.mjSENS_CONTACT, "intprm": [data_bits, net_force, 1]}
        for side, compiled in zip(self.sides, self.compiled_names(name), strict=True):
            sensor = spec.add_sensor(name=compiled, objtype=_KINDS[self.kind], objname=side, **settings)
            if self.other:
                sensor.reftype, sensor.refname = _KINDS[self.other_kind], self.other

    def compiled_names(self, name: str) -> list[str]:
        """Names of the compiled model's sensors, one per side."""
        return [f"{name}: {side}" for side in self.sides]

    def build(self, name: str, host: Any) -> Any:
        return load("genelab.sensors.contact:ContactSensor")(name, self, host)  # a layer above this one


def _require(spec: mujoco.MjSpec, kind: Side, part: str, what: str) -> None:
    """Raise unless a model has a part of a kind and name."""
    word, parts = ("geom", spec.geoms) if kind == "geom" else ("body", spec.bodies)
    require_known(f"{word} as {what}", part, [part.name for part in parts if part.name])


def columns(model: mujoco.MjModel, names: list[str]) -> slice:
    """Where sensors that follow each other stand in the compiled model's sensor data."""
    first, last = model.sensor(names[0]), model.sensor(names[-1])
    return slice(int(first.adr[0]), int(last.adr[0]) + int(last.dim[0]))
