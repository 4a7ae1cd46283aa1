"""Inverted pendulums on a cart: one pole, two poles, and a test of memory."""

from genelab.core.registry import TaskSpec

BALANCE, MEMORY, AGENTS = (f"{__name__}.{module}" for module in ("balance", "memory", "agents"))

TASKS = [
    TaskSpec(
        id="GeneLab-Inverted-Pendulum-v0",
        summary="Balance one pole on a cart",
        env=f"{BALANCE}:single",
        agents={"rsl_rl": f"{AGENTS}:single_ppo", "skrl": f"{AGENTS}:skrl", "sb3": f"{AGENTS}:sb3"},
        presets=f"{AGENTS}:SINGLE_PRESETS",
        tags=("pendulum", "reference"),
        published="return_mean 39.977 / 39.994 / 39.986 (seeds 1, 2, 3; 150 iterations x 4096 worlds; ceiling 40)",
    ),
    TaskSpec(
        id="GeneLab-Double-Inverted-Pendulum-v0",
        summary="Balance two poles on top of each other on a cart",
        env=f"{BALANCE}:double",
        agents={"rsl_rl": f"{AGENTS}:double_ppo"},
        presets=f"{AGENTS}:DOUBLE_PRESETS",
        tags=("pendulum", "reference"),
        published="return_mean 59.933 / 59.914 / 59.897 (seeds 1, 2, 3; 300 iterations x 4096 worlds; ceiling 60)",
    ),
    TaskSpec(
        id="GeneLab-Inverted-Pendulum-Memory-v0",
        summary="Hold the balanced cart at a place shown only in the first five steps",
        env=f"{MEMORY}:memory",
        agents={"rsl_rl": f"{AGENTS}:memory_ppo"},
        presets=f"{AGENTS}:MEMORY_PRESETS",
        tags=("pendulum", "recurrent"),
    ),
]
