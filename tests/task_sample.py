"""Tasks that stand for all of them where a sweep is not about the tasks themselves."""

from genelab.core.registry import tasks

STANDING_FOR_THE_SUITE = ("CartpoleBalance", "FishSwim", "HopperHop", "ReacherEasy")
"""Of the control suite's: a small one, a free root with tendons and a fluid, touch sensors, a target."""
SAMPLE = sorted(
    task
    for task, spec in tasks().items()
    if "suite" not in spec.tags or any(f"-{name}-" in task for name in STANDING_FOR_THE_SUITE)
)
"""All tasks but most of the control suite's, which are many and built alike."""
