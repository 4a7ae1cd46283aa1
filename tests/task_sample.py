"""Tasks that stand for all of them where a sweep is not about the tasks themselves."""

from genelab.core.registry import tasks

STANDING_FOR_THE_SUITE = ("CartpoleBalance", "FishSwim", "HopperHop", "ReacherEasy")
"""Of the control suite's: a small one, a free root with tendons and a fluid, touch sensors, a target."""
LEARNT = sorted(task for task, spec in tasks().items() if spec.agents)
"""All tasks but scenes that play themselves."""
SAMPLE = sorted(
    task
    for task in LEARNT
    if "suite" not in tasks()[task].tags or any(f"-{name}-" in task for name in STANDING_FOR_THE_SUITE)
)
"""Those but most of the control suite's, which are many and built alike."""
