"""Tasks in which a robot moves things."""

from genelab.core.registry import TaskSpec

FRANKA = f"{__name__}.franka"

TASKS = [
    TaskSpec(
        id="GeneLab-Franka-Pick-And-Place-v0",
        summary="Franka Panda brings a cube to a goal on the ground or in the air",
        env=f"{FRANKA}:pick_and_place",
        agents={"sb3": f"{FRANKA}:pick_and_place_sac"},
        presets=f"{FRANKA}:PRESETS",
        demonstrator=f"{__name__}.demonstrator:PickAndPlaceDemonstrator",
        tags=("manipulation", "goal", "reference"),
        published="return_mean -6.122 / -7.260 / -8.790, success_rate 0.99 / 0.99 / 0.97 (seeds 1, 2, 3; "
        "SAC with HER, 2 million steps in 64 worlds)",
    ),
]
