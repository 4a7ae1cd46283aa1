"""Franka Emika Panda: an arm with seven hinges and a hand with two fingers. The model is in ``panda.xml``."""

from pathlib import Path

import mujoco

from genelab.scene.scene import EntityCfg

ARM = tuple(f"joint{i}" for i in range(1, 8))
FINGERS = ("finger_joint1", "finger_joint2")
HAND = "hand"
GRIP_HEIGHT = 0.0584 + 0.0445
"""From the middle between the finger pads to the origin of the hand, metres, along the hand."""
START = (0.0, 0.41, 0.0, -1.85, 0.0, 2.26, 0.79)
"""Joints of the arm, radians: the hand points straight down, half a metre in front of the base."""


def panda() -> EntityCfg:
    """The arm bent, its hand open and pointing down. Joints: ``joint1`` … ``joint7``, then the two fingers'."""
    servos = {"kp": 2000.0, "kd": 200.0, "effort": 87.0}
    hand = {"hand_kp": 1e4, "hand_kd": 200.0, "hand_effort": 100.0, "hand_inertia": 1.0}
    return EntityCfg(
        model=arm,
        params={**servos, **hand},
        joint_pos={**dict(zip(ARM, START, strict=True)), **dict.fromkeys(FINGERS, 0.04)},
    )


def arm(
    kp: float,
    kd: float,
    effort: float,
    hand_kp: float,
    hand_kd: float,
    hand_effort: float,
    hand_inertia: float = 0.0,
) -> mujoco.MjSpec:
    """The Panda with a position servo on every joint: gains per rad and rad/s for the arm, per m and m/s for fingers.

    The servos are too stiff for MuJoCo's Euler integrator: the scene needs ``integrator="implicitfast"``. Even so 100 N
    would accelerate a finger of 0.1 kg to 4 m/s within a physics step of 5 ms, through whatever it is to hold.
    `hand_inertia`, kg, is added to each finger's drive: at ``hand_kd * dt`` the damping acts within a step, as in
    implicit integration, and contacts know of it, which MuJoCo's implicit integrators do not tell them.
    """
    spec = mujoco.MjSpec.from_file(str(Path(__file__).with_name("panda.xml")))
    gains = {**dict.fromkeys(ARM, (kp, kd, effort)), **dict.fromkeys(FINGERS, (hand_kp, hand_kd, hand_effort))}
    for joint, (stiffness, damping, limit) in gains.items():
        servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=stiffness, kv=damping)
        servo.forcerange = [-limit, limit]
        servo.ctrlrange = spec.joint(joint).range
    for finger in FINGERS:
        spec.joint(finger).armature += hand_inertia
    return spec
