"""When and how a training is evaluated: plain data, which needs no library of learning."""

from dataclasses import dataclass
from typing import Annotated

from genelab.core.ranges import Count, Range, Seed


@dataclass(frozen=True)
class EvalSettings:
    """When and how to evaluate."""

    every: Count
    """Iterations between two evaluations, in the unit of ``max_iterations``."""
    episodes: Count = 10
    num_envs: Annotated[int, Range(1, 1_000_000)] | None = None
    """Worlds at most; None takes as many as training has."""
    seed: Seed = 0
