"""Unitree Go1: a quadruped with twelve hinges. The model is in ``go1.xml`` beside this file."""

from pathlib import Path

import mujoco

from genelab.scene.mirror import MirrorTable
from genelab.scene.scene import EntityCfg

LEGS = ("FR", "FL", "RR", "RL")
"""Front right, front left, rear right, rear left: the order of legs in all arrays."""
EFFORT_LIMITS = {"hip": 23.7, "thigh": 23.7, "calf": 35.55}
"""Newton metres."""
MIRROR = MirrorTable(swap=(("FR_", "FL_"), ("RR_", "RL_")), flip=".*_hip_joint")


def go1() -> EntityCfg:
    """The robot on its feet, knees bent. Joints: ``FR_hip_joint``, ``FR_thigh_joint``, ``FR_calf_joint``, then FL, …"""
    bent = {"hip": 0.0, "thigh": 0.9, "calf": -1.8}
    pose = {f"{leg}_{part}_joint": angle for leg in LEGS for part, angle in bent.items()}
    return EntityCfg(model=quadruped, params={"height": 0.42, "kp": 25.0, "kd": 0.5}, joint_pos=pose)


def quadruped(height: float, kp: float, kd: float) -> mujoco.MjSpec:
    """The Go1 with its trunk at `height` metres and a position servo (N m/rad, N m s/rad) on every joint."""
    spec = mujoco.MjSpec.from_file(str(Path(__file__).with_name("go1.xml")))
    spec.body("trunk").pos[2] = height
    for leg in LEGS:
        for part, effort in EFFORT_LIMITS.items():
            joint = f"{leg}_{part}_joint"
            servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=kp, kv=kd)
            servo.forcerange = [-effort, effort]
    return spec
