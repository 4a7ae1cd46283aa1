"""Every installed engine as a fixture, and how far each may be from the exact answer."""

from dataclasses import dataclass

import pytest

from genelab.engines import ENGINES


@dataclass(frozen=True)
class Tolerance:
    """How far an engine may be from the exact answer."""

    free_fall: float = 1e-2
    """Metres after half a second."""
    period: float = 0.01
    """Relative error of a pendulum's period."""
    energy: float = 0.03
    """Relative drift of a pendulum's energy in five seconds."""
    trajectory: float = 1e-3
    """Distance from plain MuJoCo over one second, m, rad, m/s, rad/s."""
    contact_force: float = 0.05
    """Relative error of the force on a resting body."""
    penetration: float = 5e-3
    """Metres that a resting body may sink into the ground."""
    force: float = 1e-2
    """Newtons between an actuator's force and its law."""
    unaffected: float = 0.0
    """How much a world may change because of what happens in another."""


TOLERANCES = {
    "mujoco": Tolerance(
        free_fall=1e-2,
        period=2e-3,
        energy=0.01,
        trajectory=2e-6,
        contact_force=1e-3,
        penetration=1e-3,
        force=1e-4,
        unaffected=0.0,
    ),
    # Genesis in its MuJoCo mode and 32 bits: what it differs by is rounding, 3e-7 over the servo test's second.
    "genesis": Tolerance(
        free_fall=1e-2,
        period=2e-3,
        energy=0.01,
        trajectory=5e-6,
        contact_force=1e-3,
        penetration=1e-3,
        force=1e-4,
        unaffected=0.0,
    ),
    # MuJoCo's own algorithms in 32 bits: held to what MuJoCo is held to, but for the rounding of positions and speeds.
    "mjwarp": Tolerance(
        free_fall=1e-2,
        period=2e-3,
        energy=0.01,
        trajectory=5e-6,
        contact_force=1e-3,
        penetration=1e-3,
        force=1e-4,
        unaffected=0.0,
    ),
}
"""By engine; one that is not named here is held to the defaults."""


def every_engine() -> list:
    """All engines as test parameters, each on a worker of its own: compiled kernels are shared within a process."""
    return [
        pytest.param(
            name,
            marks=[
                pytest.mark.xdist_group(name),
                pytest.mark.skipif(
                    not info.installed, reason=f"engine '{name}' is not tested, as it is not installed: {info.install}"
                ),
            ],
        )
        for name, info in ENGINES.items()
    ]


@pytest.fixture(params=every_engine())
def engine_name(request) -> str:
    return request.param


@pytest.fixture
def tolerance(engine_name) -> Tolerance:
    return TOLERANCES.get(engine_name, Tolerance())
