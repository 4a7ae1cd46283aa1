"""All sensors of an environment, by name."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from genelab.core.errors import about, unknown
from genelab.core.table import Table
from genelab.scene.sensors import SensorCfg
from genelab.sensors.base import Sensor, SensorHost


class Sensors(Mapping[str, Sensor]):
    """The sensors in the order of the scene's config: ``env.sensors["feet"].data``."""

    def __init__(self, cfg: Mapping[str, SensorCfg], host: SensorHost):
        self._sensors: dict[str, Sensor] = {}
        for name, sensor in cfg.items():
            with about(f"sensor '{name}'"):
                self._sensors[name] = sensor.build(name, host)

    def __getitem__(self, name: str) -> Sensor:
        if name not in self._sensors:
            raise unknown("sensor", name, self._sensors)
        return self._sensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    def update(self) -> None:
        """A control step has passed."""
        for sensor in self._sensors.values():
            sensor.update()

    def reset(self, env_ids: Tensor) -> None:
        """Start new episodes in these worlds."""
        for sensor in self._sensors.values():
            sensor.reset(env_ids)

    def tables(self) -> list[Table]:
        """A row per sensor."""
        rows = []
        for name, sensor in self._sensors.items():
            cfg = sensor.cfg
            own = {f.name: getattr(cfg, f.name) for f in dataclasses.fields(cfg) if f.name not in ("period", "noise")}
            noise = f"±{cfg.noise:g}" if cfg.noise else None
            summary = (type(cfg).__doc__ or "").split("\n")[0]
            rows.append((name, sensor.shape, cfg.period or None, noise, summary, own))
        return [Table(("name", "shape", "period", "noise", "description", "parameters"), rows, "sensors")]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    def state_dict(self) -> dict[str, Any]:
        return {name: sensor.state_dict() for name, sensor in self._sensors.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, sensor in self._sensors.items():
            sensor.load_state_dict(state[name])
