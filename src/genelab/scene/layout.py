"""Where an entity's parts are in the arrays of the compiled model."""

import mujoco
import numpy as np

from genelab.core.errors import UserError

_TRANSMISSIONS = {"JOINTINPARENT": "joint", "SLIDERCRANK": "slider-crank"}
"""What MuJoCo's kinds of transmissions are called here, where that is not their own name."""


class EntityLayout:
    """Where one entity's parts are in the arrays of the compiled model. Names are without the entity's prefix."""

    def __init__(self, model: mujoco.MjModel, entity: str):
        prefix = f"{entity}/"

        def own(kind: str, count: int) -> list:
            parts = (getattr(model, kind)(i) for i in range(count))
            return [part for part in parts if part.name.startswith(prefix)]

        def short(parts: list) -> tuple[str, ...]:
            return tuple(part.name.removeprefix(prefix) for part in parts)

        def ids(values: list) -> np.ndarray:
            return np.array(values, dtype=np.int64)

        joints = own("joint", model.njnt)
        free = [joint for joint in joints if model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_FREE]
        balls = [joint for joint in joints if model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_BALL]
        scalar = [joint for joint in joints if joint not in free and joint not in balls]
        bodies, sites = own("body", model.nbody), own("site", model.nsite)
        actuators = own("actuator", model.nu)
        driven = [_driven(model, actuator.id, prefix) for actuator in actuators]
        self.name = entity
        self.joint_names = short(scalar)
        """Hinge and slide joints: those with one position and one velocity."""
        self.qpos_ids = ids([joint.qposadr[0] for joint in scalar])
        self.qvel_ids = ids([joint.dofadr[0] for joint in scalar])
        self.joint_ids = ids([joint.id for joint in scalar])
        self.ball_names = short(balls)
        self.ball_qpos = ids([joint.qposadr[0] + i for joint in balls for i in range(4)])
        """(4 B,) the four positions of each ball joint."""
        self.ball_qvel = ids([joint.dofadr[0] + i for joint in balls for i in range(3)])
        """(3 B,) the three velocities of each ball joint."""
        self.body_names = short(bodies)
        self.body_ids = ids([body.id for body in bodies])
        self.actuator_names = short(actuators)
        self.actuator_ids = ids([actuator.id for actuator in actuators])
        self.actuated_joints = tuple(name if kind == "joint" else None for kind, name in driven)
        """The joint each actuator drives; None for an actuator of a tendon, a site or a body."""
        self.transmissions = tuple(f"{kind} '{name}'" for kind, name in driven)
        """What each actuator drives, as kind and name: ``tendon 'grasp'``."""
        self.actuator_kinds = tuple(_control_kind(model, actuator.id) for actuator in actuators)
        """What each one's control is: ``position``, ``velocity``, ``effort``, or ``other`` (muscles, dampers, …)."""
        self.site_names = short(sites)
        """Points fixed to a body: feet, sensors."""
        self.site_bodies = ids([site.bodyid[0] for site in sites])
        self.site_pos = np.array([site.pos for site in sites], dtype=np.float64).reshape(-1, 3)
        """(S, 3) in the frame of the site's body, metres."""
        self.sensor_names = short(own("sensor", model.nsensor))
        """Sensors of the entity's own model, such as an IMU."""
        self.free_qpos = int(free[0].qposadr[0]) if free else None
        """First qpos of the free root joint, or None for a fixed base."""
        self.free_qvel = int(free[0].dofadr[0]) if free else None


def name_parts(spec: mujoco.MjSpec, entity: str) -> None:
    """Name what has no name: a body ``body_3`` by its place, a joint after its body, an actuator after its target."""
    for index, body in enumerate(spec.bodies):
        if body != spec.worldbody and not body.name:
            body.name = _free_name(f"body_{index}", [other.name for other in spec.bodies])
    for joint in spec.joints:
        if not joint.name:
            joint.name = _free_name(joint.parent.name, [other.name for other in spec.joints])
    for actuator in spec.actuators:
        if not actuator.name:
            if not actuator.target:
                raise UserError(f"entity '{entity}': an actuator without a name drives nothing")
            actuator.name = _free_name(actuator.target, [other.name for other in spec.actuators])


def _driven(model: mujoco.MjModel, actuator: int, prefix: str) -> tuple[str, str]:
    """Kind and name of what an actuator drives."""
    name: str = mujoco.mjtTrn(int(model.actuator_trntype[actuator])).name.removeprefix("mjTRN_")
    kind, target = _TRANSMISSIONS.get(name, name.lower()), int(model.actuator_trnid[actuator, 0])
    named = {"joint": model.joint, "tendon": model.tendon, "body": model.body}.get(kind, model.site)(target)
    return kind, named.name.removeprefix(prefix)


def _control_kind(model: mujoco.MjModel, actuator: int) -> str:
    """What an actuator's control is, from its law: force = gain * control + bias (position, velocity)."""
    gain, (_, stiffness, damping) = model.actuator_gainprm[actuator, 0], model.actuator_biasprm[actuator, :3]
    law, dynamics = model.actuator_gaintype[actuator], model.actuator_dyntype[actuator]
    if law != mujoco.mjtGain.mjGAIN_FIXED or dynamics in (mujoco.mjtDyn.mjDYN_MUSCLE, mujoco.mjtDyn.mjDYN_USER):
        return "other"
    if model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE or (stiffness == 0.0 and damping != -gain):
        return "effort"
    if stiffness == 0.0:
        return "velocity"
    if stiffness != -gain:
        return "other"
    # The control of an integrated velocity servo is the speed of its target.
    return "velocity" if dynamics == mujoco.mjtDyn.mjDYN_INTEGRATOR else "position"


def _free_name(wanted: str, taken: list[str]) -> str:
    """`wanted`, or with a number behind it if that name is taken."""
    candidates = (wanted if count == 1 else f"{wanted}_{count}" for count in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)
