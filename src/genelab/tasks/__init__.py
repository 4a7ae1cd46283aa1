"""The bundled tasks, by name only: the modules with their configs are imported on use."""

from genelab.core.registry import TaskSpec


def bundled() -> list[TaskSpec]:
    """Every task that comes with the package."""
    pendulum, go1 = "genelab.tasks.pendulum", "genelab.tasks.velocity.go1"
    manipulation = "genelab.tasks.manipulation"
    return [
        TaskSpec(
            id="GeneLab-Inverted-Pendulum-v0",
            summary="Balance one pole on a cart",
            env=f"{pendulum}:single",
            agents={
                "rsl_rl": f"{pendulum}:single_ppo",
                "skrl": "genelab.tasks.pendulum_agents:skrl",
                "sb3": "genelab.tasks.pendulum_agents:sb3",
            },
            presets=f"{pendulum}:SINGLE_PRESETS",
            tags=("pendulum", "reference"),
            published="return_mean 39.977 / 39.994 / 39.986 (seeds 1, 2, 3; 150 iterations x 4096 worlds; ceiling 40)",
        ),
        TaskSpec(
            id="GeneLab-Double-Inverted-Pendulum-v0",
            summary="Balance two poles on top of each other on a cart",
            env=f"{pendulum}:double",
            agents={"rsl_rl": f"{pendulum}:double_ppo"},
            presets=f"{pendulum}:DOUBLE_PRESETS",
            tags=("pendulum", "reference"),
            published="return_mean 59.933 / 59.914 / 59.897 (seeds 1, 2, 3; 300 iterations x 4096 worlds; ceiling 60)",
        ),
        TaskSpec(
            id="GeneLab-Inverted-Pendulum-Memory-v0",
            summary="Drive the balanced cart to a place shown only in the first five steps",
            env=f"{pendulum}:memory",
            agents={"rsl_rl": f"{pendulum}:memory_ppo"},
            presets=f"{pendulum}:MEMORY_PRESETS",
            tags=("pendulum", "recurrent"),
        ),
        TaskSpec(
            id="Genelab-Velocity-Flat-Unitree-Go1-v0",
            summary="Unitree Go1 follows a velocity command on flat ground",
            env=f"{go1}:flat",
            agents={"rsl_rl": f"{go1}:flat_ppo"},
            presets=f"{go1}:FLAT_PRESETS",
            tags=("velocity", "quadruped", "reference"),
            published="return_mean 56.53 (seed 42; 3000 iterations x 4096 worlds)",
        ),
        TaskSpec(
            id="Genelab-Velocity-Rough-Unitree-Go1-v0",
            summary="Unitree Go1 follows a velocity command on stairs, boxes, rough ground and slopes",
            env=f"{go1}:rough",
            agents={"rsl_rl": f"{go1}:rough_ppo"},
            presets=f"{go1}:ROUGH_PRESETS",
            tags=("velocity", "quadruped", "reference"),
            published="none: published as not converging",
        ),
        TaskSpec(
            id="GeneLab-Franka-Pick-And-Place-v0",
            summary="Franka Panda brings a cube to a goal on the ground or in the air",
            env=f"{manipulation}.franka:pick_and_place",
            agents={"sb3": f"{manipulation}.franka:pick_and_place_sac"},
            presets=f"{manipulation}.franka:PRESETS",
            demonstrator=f"{manipulation}.demonstrator:PickAndPlaceDemonstrator",
            tags=("manipulation", "goal", "reference"),
            published="return_mean -6.122 / -7.260 / -8.790, success_rate 0.99 / 0.99 / 0.97 (seeds 1, 2, 3; "
            "SAC with HER, 2 million steps in 64 worlds)",
        ),
    ]
