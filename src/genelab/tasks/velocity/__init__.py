"""Legged robots follow a velocity command."""

from genelab.core.registry import TaskSpec

GROUNDS = {"Flat": "flat ground", "Rough": "stairs, boxes, rough ground and slopes"}
PUBLISHED = {
    ("Go1", "quadruped", "Flat"): "return_mean 56.53 (seed 42; 3000 iterations x 4096 worlds)",
    ("Go1", "quadruped", "Rough"): "none: published as not converging",
    ("G1", "humanoid", "Flat"): "return_mean 112.0 / 92.0 / 111.9 (three seeds; 30,000 iterations x 4096 worlds)",
    ("G1", "humanoid", "Rough"): "return_mean 83.0 / 85.5 / 85.2 (three seeds; 6000 iterations x 4096 worlds), "
    "mean level 4.5",
}
"""Results of each robot, which is of a kind, on each ground."""

TASKS = [
    TaskSpec(
        id=f"Genelab-Velocity-{ground}-Unitree-{robot}-v0",
        summary=f"Unitree {robot} follows a velocity command on {GROUNDS[ground]}",
        env=f"{__name__}.{robot.lower()}:{ground.lower()}",
        agents={"rsl_rl": f"{__name__}.{robot.lower()}:{ground.lower()}_ppo"},
        presets=f"{__name__}.{robot.lower()}:{ground.upper()}_PRESETS",
        tags=("velocity", kind, "reference"),
        published=published,
    )
    for (robot, kind, ground), published in PUBLISHED.items()
]
