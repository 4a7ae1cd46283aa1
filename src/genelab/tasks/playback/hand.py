"""A hand that plays a recorded motion."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from genelab.envs import ManagerBasedEnv, ManagerBasedEnvCfg, SimulationCfg
from genelab.scene.robots.hand import hand
from genelab.scene.scene import GroundCfg, SceneCfg

RATE = 25.0
"""Samples of the motion per second."""


def wuji_hand(play: bool = False) -> ManagerBasedEnvCfg:
    """A hand with five fingers plays a recorded motion, again and again.

    Position servos follow the recorded joint positions, on straight lines from sample to sample.
    """
    return ManagerBasedEnvCfg(
        scene=SceneCfg(robots={"hand": hand()}, ground=GroundCfg(collide=False)),
        simulation=SimulationCfg(dt=0.005),
        decimation=4,
        playback=follow_recording,
        camera="hand/front",
    )


@cache
def recording() -> tuple[tuple[str, ...], Tensor]:
    """Names of the joints, and their positions in each sample, radians. The last sample is the first.  (T, J)"""
    with Path(__file__).with_name("hand_motion.csv").open(encoding="utf-8") as file:
        names = tuple(file.readline().strip().split(","))
        return names, torch.from_numpy(np.loadtxt(file, delimiter=",", dtype=np.float32))


def follow_recording(env: ManagerBasedEnv, step: int) -> None:
    """Set the targets of the servos in all worlds to the recording at the end of this control step."""
    names, samples = recording()
    sample, part = divmod((step + 1) * env.step_dt * RATE, 1.0)
    before = int(sample) % (len(samples) - 1)
    layout = env.robot.layout
    columns = layout.actuator_ids[[layout.actuated_joints.index(name) for name in names]]
    env.engine.ctrl[:, columns] = torch.lerp(samples[before], samples[before + 1], part).to(env.device)
