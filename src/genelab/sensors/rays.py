"""Ray sensors: distances from a body to whatever is there."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.math import quat_apply
from genelab.core.ranges import NotEmpty, Positive
from genelab.scene.sensors import SensorCfg
from genelab.sensors.base import ArraySensor, BodyFrame, SensorHost

Vector = tuple[float, float, float]


def ring(rays: int) -> tuple[Vector, ...]:
    """Directions all around in the horizontal plane of the body, the first one ahead, then to the left."""
    angles = [2.0 * math.pi * i / rays for i in range(rays)]
    return tuple((math.cos(angle), math.sin(angle), 0.0) for angle in angles)


@dataclass(kw_only=True)
class RaySensorCfg(SensorCfg):
    """Distances along rays that move with a body to the first thing that they meet, metres.

    The body itself is transparent. Needs an engine that can cast rays.
    """

    body: str = ""
    """The body it sits on, as ``entity/body``; empty: the root of the first robot."""
    offset: Vector = (0.0, 0.0, 0.0)
    """Where the rays begin, in the frame of the body, metres."""
    directions: Annotated[tuple[Vector, ...], NotEmpty(10_000)] = ring(16)
    """One per ray, in the frame of the body; need not be of unit length."""
    max_distance: Positive = 10.0
    """What a ray shows that meets nothing up to here, metres."""

    def validate(self) -> None:
        if not all(any(direction) for direction in self.directions):
            raise UserError("directions must each have some length")

    def build(self, name: str, host: SensorHost) -> "RaySensor":
        return RaySensor(name, self, host)


class RaySensor(ArraySensor):
    """See `RaySensorCfg`."""

    cfg: RaySensorCfg

    def __init__(self, name: str, cfg: RaySensorCfg, host: SensorHost):
        host.engine.require("rays", "a ray sensor")
        super().__init__(name, cfg, host)
        self._frame = BodyFrame(host, cfg.body)
        directions = torch.nn.functional.normalize(torch.tensor(cfg.directions, device=host.device))
        self._directions = directions.expand(host.num_envs, -1, -1)
        self._offset = torch.tensor(cfg.offset, device=host.device).expand(host.num_envs, 1, 3)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.cfg.directions),)

    def measure(self) -> Tensor:
        quat = self._frame.quat.unsqueeze(1)
        directions = quat_apply(quat.expand(-1, self._directions.shape[1], -1), self._directions)
        origins = self._frame.pos.unsqueeze(1) + quat_apply(quat, self._offset)
        distance = self.host.engine.ray(origins.expand_as(directions), directions, self._frame.body_id)
        return torch.where(distance < 0.0, self.cfg.max_distance, distance).clamp(max=self.cfg.max_distance)
