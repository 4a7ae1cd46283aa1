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
    gains = {"kp": 2000.0, "kd": 200.0, "effort": 87.0, "hand_kp": 1e4, "hand_kd": 200.0, "hand_effort": 100.0}
    pose = {**dict(zip(ARM, START, strict=True)), **dict.fromkeys(FINGERS, 0.04)}
    return EntityCfg(model=arm, params={**gains, "dt": 0.005}, joint_pos=pose)


def arm(
    kp: float, kd: float, effort: float, hand_kp: float, hand_kd: float, hand_effort: float, dt: float
) -> mujoco.MjSpec:
    """The Panda with a position servo on every joint: gains per rad and rad/s for the arm, per m and m/s for fingers.

    The servos are stiff: at its effort limit, one could accelerate a wrist or a finger from rest to 4 rad/s or m/s in
    a physics step of 5 ms, and by its damping throw it back in the next. So damping must act within a step, also where
    effort is at its limit, and contacts must know of it. Each joint gets ``kd * dt`` as inertia beyond the model's own,
    which is implicit integration of the damping for steps of `dt` seconds; for shorter ones it is more than needed.
    """
    spec = mujoco.MjSpec.from_file(str(Path(__file__).with_name("panda.xml")))
    gains = {**dict.fromkeys(ARM, (kp, kd, effort)), **dict.fromkeys(FINGERS, (hand_kp, hand_kd, hand_effort))}
    for name, (stiffness, damping, limit) in gains.items():
        joint = spec.joint(name)
        joint.armature += damping * dt
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=stiffness, kv=damping)
        servo.forcerange = [-limit, limit]
        servo.ctrlrange = joint.range
    return spec
