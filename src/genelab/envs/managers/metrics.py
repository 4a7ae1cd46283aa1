"""Metrics: numbers per world, averaged over each episode."""

from genelab.envs.managers.base import SummingManager


class MetricsManager(SummingManager):
    """Sums each metric over the running episode."""

    kind, title = "metric", "metrics"

    def step(self) -> None:
        for row, term in enumerate(self.terms):
            self.episode_sums[row] += term()
