"""What sensors have in common: a clock, a random stream, a state to resume from, and data; and all of them by name.

In every control step the environment calls `update` after the physics; when worlds begin new episodes, `reset` with
their ids, after their new state has been written. All worlds are measured in the same steps. A world that was reset is
measured at once, so that its first observation is of its own state.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from genelab.core.errors import UserError, about, lookup, require_known
from genelab.core.ranges import CountOrZero
from genelab.core.rng import Streams
from genelab.core.stored_config import stored
from genelab.core.table import Table
from genelab.core.tensors import stored_tensor
from genelab.engines.base import Engine
from genelab.scene.scene import Scene
from genelab.scene.sensors import SensorCfg
from genelab.scene.terrain import Terrain


class SensorHost(Protocol):
    """What a sensor may use of the environment that it is in."""

    num_envs: int
    device: str
    step_dt: float
    """Seconds per control step."""
    scene: Scene
    engine: Engine
    terrain: Terrain | None
    streams: Streams


class Sensor(ABC):
    """Base of sensors. `sense` is called in the control steps in which the sensor measures."""

    def __init__(self, name: str, cfg: SensorCfg, host: SensorHost):
        self.name, self.cfg, self.host = name, cfg, host
        steps = cfg.period / host.step_dt
        self.every = max(1, round(steps))
        """Control steps from one measurement to the next."""
        if cfg.period and abs(steps - self.every) > 1e-6 * self.every:
            raise UserError(f"period {cfg.period:g} s is not a multiple of the control step, {host.step_dt:g} s")
        self._clock = 0

    @property
    @abstractmethod
    def data(self) -> Any:
        """What was measured last, worlds first."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the data of one world."""

    @abstractmethod
    def sense(self) -> None:
        """Measure, or note that the next reader has to."""

    def update(self) -> None:
        """A control step has passed."""
        self._clock += 1
        if self._clock >= self.every:
            self._clock = 0
            self.sense()

    def reset(self, env_ids: Tensor) -> None:
        """Forget what belongs to the episodes that ended in these worlds."""
        if len(env_ids) == self.host.num_envs:
            self._clock = 0  # so that a reset of everything with a seed repeats itself

    def noisy(self, values: Tensor) -> Tensor:
        """Values with the noise of the config, from the sensor's own random stream."""
        if self.cfg.noise == 0.0:
            return values
        return values + self.host.streams.uniform(f"sensor/{self.name}", values.shape, -self.cfg.noise, self.cfg.noise)

    def describe(self) -> dict[str, Any]:
        """What a program that measures the same elsewhere must know."""
        numbers = {"unit": None, "frame": None, "sign": None}
        return {"kind": type(self).__name__, "period": self.cfg.period, "noise": self.cfg.noise, **numbers}

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue exactly from between two control steps."""
        return {"clock": self._clock}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._clock = stored(state, "clock", CountOrZero)


class ArraySensor(Sensor):
    """Base of sensors whose data is one tensor: `measure` gives it for all worlds.

    `measure` runs when the data is first read: a sensor that nobody reads costs nothing. With a period, when it is due.
    """

    def __init__(self, name: str, cfg: SensorCfg, host: SensorHost):
        super().__init__(name, cfg, host)
        self._values: Tensor | None = None
        self._outdated: Tensor | None = None
        """Worlds that were reset since the last measurement, if there are any."""

    @abstractmethod
    def measure(self) -> Tensor:
        """(N, *shape) of the present state, without noise."""

    def measure_in(self, env_ids: Tensor) -> Tensor:
        """The same in these worlds only."""
        return self.measure()[env_ids]

    @property
    def data(self) -> Tensor:
        """(N, *shape) what was measured last."""
        if self._values is None:
            self._values, self._outdated = self.noisy(self.measure()), None
        elif self._outdated is not None:
            ids, self._outdated = self._outdated.unique(), None
            self._values = self._values.index_copy(0, ids, self.noisy(self.measure_in(ids)))
        return self._values

    def sense(self) -> None:
        self._values = self._outdated = None
        if self.every > 1:
            _ = self.data

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        if self._values is None:
            return
        if len(env_ids) == self.host.num_envs:
            self._values = self._outdated = None
        else:
            self._outdated = env_ids if self._outdated is None else torch.cat((self._outdated, env_ids))

    def state_dict(self) -> dict[str, Any]:
        if self.every == 1 and self.cfg.noise == 0.0:  # follows from the engine's state
            return super().state_dict()
        own = {"values": self._values, "outdated": self._outdated}
        return {**super().state_dict(), **{n: None if v is None else v.clone() for n, v in own.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._values = self._outdated = None
        if state.get("values") is not None:
            self._values = stored_tensor(state, "values", (self.host.num_envs, *self.shape)).clone()
        if state.get("outdated") is not None:
            self._outdated = stored_tensor(state, "outdated", (-1,), torch.int64).clone()


class Sensors(Mapping[str, Sensor]):
    """The sensors in the order of the scene's config: ``env.sensors["feet"].data``."""

    def __init__(self, cfg: Mapping[str, SensorCfg], host: SensorHost):
        self._sensors: dict[str, Sensor] = {}
        for name, sensor in cfg.items():
            with about(f"sensor '{name}'"):
                self._sensors[name] = sensor.build(name, host)

    def __getitem__(self, name: str) -> Sensor:
        return lookup("sensor", name, self._sensors)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensors)

    def __len__(self) -> int:
        return len(self._sensors)

    def update(self) -> None:
        for sensor in self._sensors.values():
            sensor.update()

    def reset(self, env_ids: Tensor) -> None:
        for sensor in self._sensors.values():
            sensor.reset(env_ids)

    def tables(self) -> list[Table]:
        """A row per sensor."""
        rows = []
        for name, sensor in self._sensors.items():
            cfg = sensor.cfg
            own = {key: value for key, value in vars(cfg).items() if key not in ("period", "noise")}
            noise = f"±{cfg.noise:g}" if cfg.noise else None
            rows.append((name, sensor.shape, cfg.period or None, noise, (type(cfg).__doc__ or "").split("\n")[0], own))
        return [Table(("name", "shape", "period", "noise", "description", "parameters"), rows, "sensors")]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    def state_dict(self) -> dict[str, Any]:
        return {name: sensor.state_dict() for name, sensor in self._sensors.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, sensor in self._sensors.items():
            sensor.load_state_dict(state[name])


class BodyFrame:
    """Where a body is in all worlds. A sensor sits on it."""

    def __init__(self, host: SensorHost, body: str):
        """`body` is named as ``entity/body``; empty: the root of the scene's first robot."""
        entities = host.scene.entities
        if not entities:
            raise UserError("there is no robot that the sensor could sit on")
        name, _, part = body.partition("/") if body else (next(iter(entities)), "", "")
        entity = lookup("entity of the sensor's body", name, entities)
        part = part or entity.body_names[0]
        require_known(f"body of '{name}'", part, entity.body_names)
        number = entity.body_names.index(part)
        self.name = f"{name}/{part}"
        """As ``entity/body``."""
        self.body_id = int(entity.body_ids[number])
        """In the compiled model."""
        self._engine = host.engine
        self._free = entity.free_qpos if number == 0 else None

    @property
    def pos(self) -> Tensor:
        """(N, 3) world frame."""
        first = self._free
        return self._engine.body_pos[:, self.body_id] if first is None else self._engine.qpos[:, first : first + 3]

    @property
    def quat(self) -> Tensor:
        """(N, 4) wxyz."""
        first = self._free
        return self._engine.body_quat[:, self.body_id] if first is None else self._engine.qpos[:, first + 3 : first + 7]
