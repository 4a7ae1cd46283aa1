"""Unitree G1: a humanoid with 29 hinges. The model is in ``g1.xml`` beside this file."""

import math
from dataclasses import dataclass
from pathlib import Path

import mujoco

from genelab.scene.mirror import MirrorTable
from genelab.scene.scene import EntityCfg

SIDES = ("left", "right")
MIRROR = MirrorTable(swap=(("right_", "left_"),), flip=".*_(roll|yaw)_joint")


@dataclass(frozen=True)
class Motor:
    """A motor with its gears, seen from the joint, and the position servo that suits it."""

    parts: tuple[str, ...]
    """What the names of the joints that it drives contain."""
    inertia: float
    """Of the rotor, as the joint feels it (armature), kg m²."""
    effort: float
    """Largest torque, N m."""

    @property
    def kp(self) -> float:
        """Stiffness, N m/rad: the rotor alone would swing at 10 Hz."""
        return self.inertia * (2.0 * math.pi * 10.0) ** 2

    @property
    def kd(self) -> float:
        """Damping, N m s/rad: twice the critical one of the rotor alone."""
        return 4.0 * self.inertia * (2.0 * math.pi * 10.0)

    @property
    def action_scale(self) -> float:
        """Change of target per unit of action, rad: at rest, a quarter of the largest torque."""
        return 0.25 * self.effort / self.kp


MOTORS = (
    Motor(("elbow", "shoulder", "wrist_roll"), inertia=0.004336, effort=25.0),
    Motor(("hip_pitch", "hip_yaw", "waist_yaw"), inertia=0.012574, effort=88.0),
    Motor(("hip_roll", "knee"), inertia=0.032119, effort=139.0),
    Motor(("wrist_pitch", "wrist_yaw"), inertia=0.004250, effort=5.0),
    # Two motors of the first kind drive two joints together.
    Motor(("waist_pitch", "waist_roll", "ankle"), inertia=0.008672, effort=50.0),
)
ACTION_SCALES = {part: motor.action_scale for motor in MOTORS for part in motor.parts}
"""By a part of the joints' names, rad."""


def motor_of(joint: str) -> Motor:
    return next(motor for motor in MOTORS if any(part in joint for part in motor.parts))


def g1() -> EntityCfg:
    """The robot on its feet, knees and elbows bent. Joints: left leg, right leg, waist, left arm, right arm."""
    mirrored = {"hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.363, "elbow": 0.6, "shoulder_pitch": 0.2}
    pose = {f"{side}_{part}_joint": angle for side in SIDES for part, angle in mirrored.items()}
    pose |= {"left_shoulder_roll_joint": 0.2, "right_shoulder_roll_joint": -0.2}
    return EntityCfg(model=humanoid, params={"height": 0.76}, joint_pos=pose)


def humanoid(height: float) -> mujoco.MjSpec:
    """The G1 with its pelvis at `height` metres and its motors, with a position servo each."""
    spec = mujoco.MjSpec.from_file(str(Path(__file__).with_name("g1.xml")))
    spec.body("pelvis").pos[2] = height
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            continue
        motor = motor_of(joint.name)
        joint.armature = motor.inertia
        servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=motor.kp, kv=motor.kd)
        servo.forcerange = [-motor.effort, motor.effort]
    return spec
