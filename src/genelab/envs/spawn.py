"""Where the worlds' robots start: each world belongs to one cell of the terrain."""

from dataclasses import dataclass

import torch
from torch import Tensor

from genelab.envs.terms import Stateful
from genelab.scene.terrain import Terrain


@dataclass(frozen=True)
class WorldGroups:
    """Worlds that an evaluation reports separately, such as the levels of a terrain."""

    name: str
    ids: Tensor
    """(N,) the group of each world."""


class Spawn(Stateful):
    """The cell of each world; without terrain, the origin. Columns stay: every shape keeps its share of the worlds."""

    state = ("level", "column", "origin", "start")

    def __init__(self, terrain: Terrain | None, num_envs: int, device: str, first_world: int = 0):
        self.terrain = terrain
        self.level = torch.zeros(num_envs, dtype=torch.int64, device=device)
        """(N,) row of the terrain."""
        self.column = torch.zeros_like(self.level)
        """(N,)"""
        self.origin = torch.zeros(num_envs, 3, device=device)
        """(N, 3) middle of the world's cell, on the ground, world frame."""
        self.start = torch.zeros_like(self.origin)
        """(N, 3) where the robot's root was placed in the running episode."""
        if terrain is None:
            return
        worlds, rows, columns = torch.arange(num_envs, device=device), terrain.cfg.rows, len(terrain.cfg.columns)
        if terrain.cfg.spread:
            # Every other column first: in the reference grid five worlds of a level then meet every shape.
            order = torch.tensor([*range(0, columns, 2), *range(1, columns, 2)], device=device)
            # Fewer worlds than levels: a single one is shown in the middle, not on level 0, which is flat.
            self.level.copy_(worlds % rows if num_envs >= rows else (2 * worlds + 1) * rows // (2 * num_envs))
            self.column.copy_(order[(worlds // rows + self.level * (columns // 2)) % columns])
        else:
            self.column.copy_((worlds + first_world) % columns)
        self.move(worlds, self.level)

    def move(self, env_ids: Tensor, level: Tensor) -> None:
        """Let these worlds start on other levels of their columns from the next episode on."""
        if self.terrain is not None:
            self.level[env_ids] = level.clamp(0, self.terrain.cfg.rows - 1)
            self.origin[env_ids] = self.terrain.origin(self.level[env_ids], self.column[env_ids])
