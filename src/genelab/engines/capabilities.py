"""What engines can do and promise, as data: known without importing, or even installing, the engine."""

from dataclasses import dataclass

MODEL_FIELDS = {
    "body_mass": "mass of each body, kg (N, nbody)",
    "body_com": "centre of mass in the body frame, m (N, nbody, 3)",
    "body_inertia": "principal moments of inertia, kg m² (N, nbody, 3)",
    "geom_friction": "sliding, torsional and rolling friction (N, ngeom, 3)",
    "geom_solref": "time constant, s, and damping ratio of contacts (N, ngeom, 2)",
    "geom_solimp": "impedance of contacts: at touch, when deep, and over what depth it rises, … (N, ngeom, 5)",
    "joint_damping": "damping of each degree of freedom (N, nv)",
    "joint_armature": "rotor inertia of each degree of freedom (N, nv)",
    "joint_friction": "dry friction of each degree of freedom (N, nv)",
    "actuator_kp": "stiffness of each position servo (N, nu)",
    "actuator_kd": "damping of each servo (N, nu)",
    "gravity": "gravity vector, m/s² (N, 3)",
    "cone": "friction cones: 0 pyramidal, 1 elliptic (N,)",
    "impratio": "how much harder contacts are along the ground than across it (N,)",
}
"""Model values that a world can have for itself, by the name every engine uses."""


@dataclass(frozen=True)
class Capabilities:
    """What differs between engines.

    All engines have contact sensors and jacobians, give the same bits for the same inputs at any number of threads, and
    continue bit for bit from a `state_dict`: the conformance suite asks for these of each.
    """

    devices: tuple[str, ...]
    model_fields: frozenset[str]
    """Which of `MODEL_FIELDS` can differ between worlds."""
    rays: bool
    """Whether `ray` can be asked."""
    model_sensors: bool
    """Whether sensors of a model, such as an IMU, can be read."""
    on_height_fields: tuple[str, ...]
    """Shapes that height fields carry. Another one that may touch a height field is refused."""


CAPABILITIES = {
    "mujoco": Capabilities(
        devices=("cpu",),
        model_fields=frozenset(MODEL_FIELDS),
        rays=True,
        model_sensors=True,
        on_height_fields=("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"),
    ),
    "genesis": Capabilities(
        devices=("cpu", "cuda"),
        model_fields=frozenset(MODEL_FIELDS) - {"geom_solref", "geom_solimp", "cone", "impratio"},
        rays=False,
        model_sensors=False,
        on_height_fields=("sphere", "capsule", "cylinder", "box"),
    ),
    "mjwarp": Capabilities(
        devices=("cuda", "cpu"),
        model_fields=frozenset(MODEL_FIELDS) - {"cone", "impratio"},
        rays=True,
        model_sensors=True,
        on_height_fields=("sphere", "capsule"),
    ),
}
