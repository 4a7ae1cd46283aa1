"""Height scans: how high a body is over the ground around it."""

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.ranges import Range
from genelab.scene.sensors import SensorCfg
from genelab.sensors.base import ArraySensor, BodyFrame, SensorHost

GridSide = Annotated[float, Range(0, 100)]
MOST_POINTS = 10_000


@dataclass(kw_only=True)
class HeightScanCfg(SensorCfg):
    """Height of a body over the ground at the points of a grid around it, metres. The grid turns with its heading."""

    body: str = ""
    """The body it sits on, as ``entity/body``; empty: the root of the first robot."""
    length: GridSide = 1.6
    """Size of the grid ahead and behind, metres."""
    width: GridSide = 1.0
    """Size of the grid to the left and right, metres."""
    spacing: Annotated[float, Range(0.001, 100)] = 0.1
    """Distance between two points, metres."""

    def validate(self) -> None:
        points = (self.length / self.spacing + 1) * (self.width / self.spacing + 1)
        if points > MOST_POINTS:
            raise UserError(f"spacing is too small: the grid would have {points:.0f} points")

    def build(self, name: str, host: SensorHost) -> "HeightScan":
        return HeightScan(name, self, host)


class HeightScan(ArraySensor):
    """See `HeightScanCfg`. Looks heights up in the terrain, which every engine shares: no rays needed."""

    cfg: HeightScanCfg

    def __init__(self, name: str, cfg: HeightScanCfg, host: SensorHost):
        super().__init__(name, cfg, host)
        self._frame = BodyFrame(host, cfg.body)
        ahead, left = (
            torch.linspace(-size / 2, size / 2, round(size / cfg.spacing) + 1, device=host.device)
            for size in (cfg.length, cfg.width)
        )
        self.grid = torch.stack((ahead.repeat(len(left)), left.repeat_interleave(len(ahead))))
        """(2, points) ahead and left of the body, metres: rows from right to left, each from back to front."""
        self.grid_shape = (len(left), len(ahead))
        """Rows and points in each."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.grid.shape[1],)

    def describe(self) -> dict[str, Any]:
        points = {"ahead": self.grid[0].tolist(), "left": self.grid[1].tolist()}
        numbers = {"unit": "m", "frame": "heading of the body", "sign": "positive where the ground is below the body"}
        return {**super().describe(), **numbers, "body": self._frame.name, "grid": points}

    def measure(self) -> Tensor:
        return self.measure_in(slice(None))

    def measure_in(self, env_ids: Tensor | slice) -> Tensor:
        height, terrain = self._frame.pos[env_ids, 2:], self.host.terrain
        if terrain is None:
            return height.repeat(1, self.grid.shape[1])  # not a view of the state, which goes on changing
        return height - terrain.height_at(*self._places(env_ids))

    def points(self) -> Tensor:
        """(N, points, 3) where the ground was measured to be, world frame."""
        return torch.stack((*self._places(slice(None)), self._frame.pos[:, 2:] - self.data), dim=-1)

    def _places(self, env_ids: Tensor | slice) -> tuple[Tensor, Tensor]:
        """(worlds, points) x and y of the grid in the world."""
        pos = self._frame.pos[env_ids]
        w, x, y, z = self._frame.quat[env_ids].unbind(-1)
        ahead = torch.nn.functional.normalize(torch.stack((1 - 2 * (y * y + z * z), 2 * (w * z + x * y)), dim=1))
        left = torch.stack((-ahead[:, 1], ahead[:, 0]), dim=1)
        xs = torch.addmm(pos[:, :1], torch.stack((ahead[:, 0], left[:, 0]), dim=1), self.grid)
        ys = torch.addmm(pos[:, 1:2], torch.stack((ahead[:, 1], left[:, 1]), dim=1), self.grid)
        return xs, ys
