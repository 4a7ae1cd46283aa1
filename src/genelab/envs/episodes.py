"""Finished episodes and the statistics over them."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from genelab.core.stored_config import stored

WINDOW = 100
"""Episodes that the running return and length are averaged over."""


@dataclass(frozen=True)
class FinishedEpisodes:
    """The K episodes that ended in one control step."""

    env_ids: Tensor
    returns: Tensor
    """(K,)"""
    lengths: Tensor
    """(K,) control steps."""
    reward_terms: Tensor
    """(T, K) each term's part of the return."""
    metrics: Tensor
    """(M, K) means over the episode."""
    terminations: Tensor
    """(D, K) bool: which end conditions held."""
    success: Tensor | None
    """(K,) bool, where the task defines success."""


class EpisodeStats:
    """Collects finished episodes between two log lines, and the last hundred returns and lengths."""

    def __init__(self, reward_names: list[str], metric_names: list[str], termination_names: list[str], device: str):
        self._names = {"reward": reward_names, "metric": metric_names, "termination": termination_names}
        self._device = device
        self.returns: deque[float] = deque(maxlen=WINDOW)
        self.lengths: deque[float] = deque(maxlen=WINDOW)
        self._clear()

    def add(self, finished: FinishedEpisodes) -> None:
        self._count += len(finished.env_ids)
        self._sums["reward"] += finished.reward_terms.sum(dim=1)
        self._sums["metric"] += finished.metrics.sum(dim=1)
        self._sums["termination"] += finished.terminations.sum(dim=1)
        if finished.success is not None:
            self._successes = (self._successes or 0) + int(finished.success.sum())
        self.returns.extend(finished.returns[-WINDOW:].tolist())
        self.lengths.extend(finished.lengths[-WINDOW:].tolist())

    def pop(self) -> dict[str, float]:
        """Means over the episodes that ended since the last call, by ``kind/name``, and start collecting anew."""
        summary: dict[str, float] = {}
        if self._count:
            for kind, names in self._names.items():
                means = (self._sums[kind] / self._count).tolist()
                summary |= {f"{kind}/{name}": mean for name, mean in zip(names, means, strict=True)}
            if self._successes is not None:
                summary["success_rate"] = self._successes / self._count
        self._clear()
        return summary

    def state_dict(self) -> dict[str, Any]:
        """State between two log lines, when nothing is being collected but the windows."""
        return {"returns": list(self.returns), "lengths": list(self.lengths)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in ("returns", "lengths"):
            setattr(self, name, deque(stored(state, name, tuple[float, ...]), maxlen=WINDOW))
        self._clear()

    def _clear(self) -> None:
        self._count = 0
        self._successes: int | None = None
        """None where the task does not define success."""
        self._sums = {
            kind: torch.zeros(len(names), dtype=torch.float64, device=self._device)
            for kind, names in self._names.items()
        }
