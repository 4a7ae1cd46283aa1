"""Legged robots follow a velocity command."""

from genelab.core.registry import TaskSpec

GO1 = f"{__name__}.go1"
G1 = f"{__name__}.g1"

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
    TaskSpec(
        id="Genelab-Velocity-Flat-Unitree-G1-v0",
        summary="Unitree G1 follows a velocity command on flat ground",
        env=f"{G1}:flat",
        agents={"rsl_rl": f"{G1}:flat_ppo"},
        presets=f"{G1}:FLAT_PRESETS",
        tags=("velocity", "humanoid", "reference"),
        published="return_mean 112.0 / 92.0 / 111.9 (three seeds; 30,000 iterations x 4096 worlds)",
    ),
    TaskSpec(
        id="Genelab-Velocity-Rough-Unitree-G1-v0",
        summary="Unitree G1 follows a velocity command on stairs, boxes, rough ground and slopes",
        env=f"{G1}:rough",
        agents={"rsl_rl": f"{G1}:rough_ppo"},
        presets=f"{G1}:ROUGH_PRESETS",
        tags=("velocity", "humanoid", "reference"),
        published="return_mean 83.0 / 85.5 / 85.2 (three seeds; 6000 iterations x 4096 worlds), mean level 4.5",
    ),
]
