"""What engines can do and promise, as data: known without importing, or even installing, the engine."""

from dataclasses import dataclass

from genelab.engines.fields import MODEL_FIELDS


@dataclass(frozen=True)
class Capabilities:
    """What differs between engines.

    All engines have contact sensors and jacobians, give the same bits for the same inputs at any number of threads, and
    continue bit for bit from a `state_dict`: the conformance suite asks for these of each.
    """

    devices: tuple[str, ...]
    on_height_fields: tuple[str, ...]
    """Shapes that height fields carry. Another one that may touch a height field is refused."""
    model_fields: frozenset[str] = frozenset(MODEL_FIELDS)
    """Which of `MODEL_FIELDS` can differ between worlds."""
    rays: bool = True
    model_sensors: bool = True
    """Whether sensors of a model, such as an IMU, can be read."""


CAPABILITIES = {
    "mujoco": Capabilities(("cpu",), on_height_fields=("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")),
    "genesis": Capabilities(
        ("cpu", "cuda"),
        on_height_fields=("sphere", "capsule", "cylinder", "box"),
        model_fields=frozenset(MODEL_FIELDS) - {"geom_solref", "geom_solimp", "cone", "impratio"},
        rays=False,
        model_sensors=False,
    ),
    "mjwarp": Capabilities(
        ("cuda", "cpu"),
        on_height_fields=("sphere", "capsule"),
        model_fields=frozenset(MODEL_FIELDS) - {"cone", "impratio"},
    ),
}
