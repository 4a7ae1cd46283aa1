"""Legged robots follow a velocity command."""

from genelab.core.registry import TaskSpec

GO1 = f"{__name__}.go1"

TASKS = [
    TaskSpec(
        id="Genelab-Velocity-Flat-Unitree-Go1-v0",
        summary="Unitree Go1 follows a velocity command on flat ground",
        env=f"{GO1}:flat",
        agents={"rsl_rl": f"{GO1}:flat_ppo"},
        presets=f"{GO1}:FLAT_PRESETS",
        tags=("velocity", "quadruped", "reference"),
        published="return_mean 56.53 (seed 42; 3000 iterations x 4096 worlds)",
    ),
    TaskSpec(
        id="Genelab-Velocity-Rough-Unitree-Go1-v0",
        summary="Unitree Go1 follows a velocity command on stairs, boxes, rough ground and slopes",
        env=f"{GO1}:rough",
        agents={"rsl_rl": f"{GO1}:rough_ppo"},
        presets=f"{GO1}:ROUGH_PRESETS",
        tags=("velocity", "quadruped", "reference"),
        published="none: published as not converging",
    ),
]
