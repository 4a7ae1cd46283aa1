"""Contact sensors: net forces on their sides, and how long each side has been touching or in the air."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genelab.core.tensors import restore
from genelab.scene.sensors import ContactSensorCfg
from genelab.sensors.base import Sensor, SensorHost


@dataclass
class ContactData:
    """What a contact sensor with S sides knows in N worlds. All zero after a reset."""

    force: Tensor
    """(N, S, 3) net force on each side, world frame, newtons."""
    in_contact: Tensor
    """(N, S) bool."""
    first_contact: Tensor
    """(N, S) bool: it was in the air one measurement ago."""
    air_time: Tensor
    """(N, S) seconds since the last contact; 0 in contact."""
    contact_time: Tensor
    """(N, S) seconds since touch-down; 0 in the air."""
    last_air_time: Tensor
    """(N, S) length of the flight before the present or last contact."""


class ContactSensor(Sensor):
    """See `ContactSensorCfg`. Measures whether it is read or not, for time goes on; forces are of the last substep."""

    cfg: ContactSensorCfg

    def __init__(self, name: str, cfg: ContactSensorCfg, host: SensorHost):
        super().__init__(name, cfg, host)
        sides = (host.num_envs, len(cfg.sides))
        contacts = (torch.zeros(sides, dtype=torch.bool, device=host.device) for _ in range(2))
        times = (torch.zeros(sides, device=host.device) for _ in range(3))
        self._data = ContactData(torch.zeros(*sides, 3, device=host.device), *contacts, *times)
        self._elapsed = torch.zeros(host.num_envs, 1, device=host.device)
        """Time since the last measurement or reset, for sensors with a period."""

    @property
    def data(self) -> ContactData:
        return self._data

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.cfg.sides), 3)

    @cached_property
    def places(self) -> tuple[list[int], Tensor]:
        """Ids of the bodies that the sides are on, and (S, 3) where on them: a geom has a place of its own, metres."""
        model, on_geom = self.host.scene.model, self.cfg.kind == "geom"
        parts = [model.geom(side) if on_geom else model.body(side) for side in self.cfg.sides]
        arms = [part.pos if on_geom else np.zeros(3) for part in parts]
        return [int(part.bodyid[0]) if on_geom else part.id for part in parts], self.host.engine.floats(np.array(arms))

    def update(self) -> None:
        if self.every > 1:
            self._elapsed += self.host.step_dt
        super().update()

    def sense(self) -> None:
        data, elapsed = self._data, self.host.step_dt if self.every == 1 else self._elapsed
        data.force = self.noisy(self.host.engine.contact(self.name))
        data.in_contact = data.force.square().sum(dim=-1) > self.cfg.threshold**2
        data.first_contact = data.in_contact & (data.air_time > 0.0)
        data.last_air_time = torch.where(data.first_contact, data.air_time, data.last_air_time)
        data.air_time = (data.air_time + elapsed).masked_fill(data.in_contact, 0.0)
        data.contact_time = (data.contact_time + elapsed).masked_fill(~data.in_contact, 0.0)
        self._elapsed.zero_()

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        for values in self._arrays().values():
            values.index_fill_(0, env_ids, 0)

    def describe(self) -> dict[str, Any]:
        cfg, force = self.cfg, {"unit": "N", "frame": "world", "sign": "force on the side"}
        sides = {"sides": list(cfg.sides), "other": cfg.other or None, "threshold": cfg.threshold}
        return {**super().describe(), **force, **sides, "scene_sensors": cfg.compiled_names(self.name)}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **{name: values.clone() for name, values in self._arrays().items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        for name, values in self._arrays().items():
            restore(values, state, name)

    def _arrays(self) -> dict[str, Tensor]:
        return {**vars(self._data), "elapsed": self._elapsed}
