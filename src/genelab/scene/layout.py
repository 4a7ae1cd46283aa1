"""Where an entity's parts are in the arrays of the compiled model."""

from dataclasses import dataclass

import mujoco
import numpy as np

from genelab.core.errors import UserError

_TRANSMISSIONS = {
    mujoco.mjtTrn.mjTRN_JOINT.value: "joint",
    mujoco.mjtTrn.mjTRN_JOINTINPARENT.value: "joint",
    mujoco.mjtTrn.mjTRN_SLIDERCRANK.value: "slider-crank",
    mujoco.mjtTrn.mjTRN_TENDON.value: "tendon",
    mujoco.mjtTrn.mjTRN_SITE.value: "site",
    mujoco.mjtTrn.mjTRN_BODY.value: "body",
}


@dataclass(frozen=True)
class EntityLayout:
    """Where one entity's parts are in the arrays of the compiled model. Names are without the entity's prefix."""

    name: str
    joint_names: tuple[str, ...]
    """Hinge and slide joints: those with one position and one velocity."""
    qpos_ids: np.ndarray
    qvel_ids: np.ndarray
    joint_ids: np.ndarray
    ball_names: tuple[str, ...]
    ball_qpos: np.ndarray
    """(B,) first of the four positions of each ball joint."""
    ball_qvel: np.ndarray
    """(B,) first of the three velocities of each ball joint."""
    body_names: tuple[str, ...]
    body_ids: np.ndarray
    actuator_names: tuple[str, ...]
    actuator_ids: np.ndarray
    actuated_joints: tuple[str | None, ...]
    """The joint each actuator drives; None for an actuator of a tendon, a site or a body."""
    transmissions: tuple[str, ...]
    """What each actuator drives, as kind and name: ``tendon 'grasp'``."""
    actuator_kinds: tuple[str, ...]
    """What each actuator's control is: ``position``, ``velocity``, ``effort``, or ``other`` (muscles, dampers, …)."""
    site_names: tuple[str, ...]
    """Points fixed to a body: feet, sensors."""
    site_bodies: np.ndarray
    site_pos: np.ndarray
    """(S, 3) in the frame of the site's body, metres."""
    sensor_names: tuple[str, ...]
    """Sensors of the entity's own model, such as an IMU."""
    free_qpos: int | None
    """First qpos of the free root joint, or None for a fixed base."""
    free_qvel: int | None


def locate(model: mujoco.MjModel, entity: str) -> EntityLayout:
    """Find the parts of an entity by its prefix."""
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
    return EntityLayout(
        name=entity,
        joint_names=short(scalar),
        qpos_ids=ids([joint.qposadr[0] for joint in scalar]),
        qvel_ids=ids([joint.dofadr[0] for joint in scalar]),
        joint_ids=ids([joint.id for joint in scalar]),
        ball_names=short(balls),
        ball_qpos=ids([joint.qposadr[0] for joint in balls]),
        ball_qvel=ids([joint.dofadr[0] for joint in balls]),
        body_names=short(bodies),
        body_ids=ids([body.id for body in bodies]),
        actuator_names=short(actuators),
        actuator_ids=ids([actuator.id for actuator in actuators]),
        actuated_joints=tuple(name if kind == "joint" else None for kind, name in driven),
        transmissions=tuple(f"{kind} '{name}'" for kind, name in driven),
        actuator_kinds=tuple(_control_kind(model, actuator.id) for actuator in actuators),
        site_names=short(sites),
        site_bodies=ids([site.bodyid[0] for site in sites]),
        site_pos=np.array([site.pos for site in sites], dtype=np.float64).reshape(-1, 3),
        sensor_names=short(own("sensor", model.nsensor)),
        free_qpos=int(free[0].qposadr[0]) if free else None,
        free_qvel=int(free[0].dofadr[0]) if free else None,
    )


def name_parts(spec: mujoco.MjSpec, entity: str) -> None:
    """Give names to bodies, joints and actuators without one, so that terms can find them.

    A body is called ``body_3`` after its place in the tree, a joint after its body, an actuator after what it drives.
    """
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
    kind, target = _TRANSMISSIONS[int(model.actuator_trntype[actuator])], int(model.actuator_trnid[actuator, 0])
    named = {"joint": model.joint, "tendon": model.tendon, "body": model.body}.get(kind, model.site)(target)
    return kind, named.name.removeprefix(prefix)


def _control_kind(model: mujoco.MjModel, actuator: int) -> str:
    """What an actuator's control is, from its law: force = gain * control + bias (position, velocity)."""
    gain, (_, stiffness, damping) = model.actuator_gainprm[actuator, 0], model.actuator_biasprm[actuator, :3]
    if model.actuator_dyntype[actuator] in (mujoco.mjtDyn.mjDYN_MUSCLE, mujoco.mjtDyn.mjDYN_USER):
        return "other"
    if model.actuator_gaintype[actuator] != mujoco.mjtGain.mjGAIN_FIXED:
        return "other"
    if model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE or (stiffness == 0.0 and damping != -gain):
        return "effort"
    if stiffness == 0.0:
        return "velocity"
    if stiffness != -gain:
        return "other"
    # The control of an integrated velocity servo is the speed of its target.
    integrated = model.actuator_dyntype[actuator] == mujoco.mjtDyn.mjDYN_INTEGRATOR
    return "velocity" if integrated else "position"


def _free_name(wanted: str, taken: list[str]) -> str:
    """`wanted`, or with a number behind it if that name is taken."""
    candidates = (wanted if count == 1 else f"{wanted}_{count}" for count in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)
