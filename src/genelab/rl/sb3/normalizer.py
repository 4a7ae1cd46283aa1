"""Observations by their running mean and standard deviation."""

from typing import Any

import numpy as np
import torch
from rsl_rl.modules import EmpiricalNormalization
from torch import Tensor, nn

from genelab.rl.sb3.buffers import OBSERVATION, Observation

Tensors = Tensor | dict[str, Tensor]


class Normalizer(nn.Module):
    """Normalises observations, or each part of a goal-conditioned one.

    sb3 takes it for its `VecNormalize`: replay buffers keep what was observed and hand out what it makes of that.
    """

    def __init__(self, widths: dict[str, int]):
        super().__init__()
        self.parts = nn.ModuleDict({name: EmpiricalNormalization(width) for name, width in widths.items()})

    def update(self, obs: Tensors) -> None:
        """Learn from observations of all worlds."""
        for name, part in obs.items() if isinstance(obs, dict) else [(OBSERVATION, obs)]:
            self._part(name).update(part)

    def forward(self, obs: Tensors) -> Any:
        if isinstance(obs, dict):
            return {name: self._part(name)(part) for name, part in obs.items()}
        return self._part(OBSERVATION)(obs)

    def normalize_obs(self, obs: Observation) -> Observation:
        """What a replay buffer hands out."""
        if isinstance(obs, dict):
            return {name: self._of_array(name, part) for name, part in obs.items()}
        return self._of_array(OBSERVATION, obs)

    def normalize_reward(self, rewards: np.ndarray) -> np.ndarray:
        """Rewards stay as they are."""
        return rewards

    def side_by_side(self) -> EmpiricalNormalization:
        """One for all parts in a row, as an exported policy takes them."""
        parts = [self._part(name) for name in self.parts]
        whole = EmpiricalNormalization(sum(part.mean.numel() for part in parts))
        for name in ("_mean", "_var", "_std"):
            whole.register_buffer(name, torch.cat([getattr(part, name) for part in parts], dim=-1))
        return whole

    def _part(self, name: str) -> EmpiricalNormalization:
        part = self.parts[name]
        assert isinstance(part, EmpiricalNormalization)
        return part

    def _of_array(self, name: str, values: np.ndarray) -> np.ndarray:
        part = self._part(name)
        return part(torch.from_numpy(values).to(part.mean.device)).cpu().numpy()
