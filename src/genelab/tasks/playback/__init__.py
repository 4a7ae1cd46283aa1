"""Scenes that play themselves: something to look at, nothing to learn."""

from genelab.core.registry import TaskSpec

SCENES = {
    "Rubiks-Play": ("rubiks:rubiks", "A Rubik's cube is scrambled and solved, layer by layer"),
    "Wuji-Hand-Playback": ("hand:wuji_hand", "A hand with five fingers plays a recorded motion"),
}
TASKS = [
    TaskSpec(id=f"GeneLab-{name}-v0", summary=summary, env=f"{__name__}.{env}", tags=("playback",))
    for name, (env, summary) in SCENES.items()
]
