"""Scenes that play themselves: something to look at, nothing to learn."""

from genelab.core.registry import TaskSpec

TASKS = [
    TaskSpec(
        id="GeneLab-Rubiks-Play-v0",
        summary="A Rubik's cube is scrambled and solved, layer by layer",
        env=f"{__name__}.rubiks:rubiks",
        tags=("playback",),
    ),
    TaskSpec(
        id="GeneLab-Wuji-Hand-Playback-v0",
        summary="A hand with five fingers plays a recorded motion",
        env=f"{__name__}.hand:wuji_hand",
        tags=("playback",),
    ),
]
