"""Scenes of the engine tests, and engines with something going on in them."""

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from genelab.core.registry import load
from genelab.engines import ENGINES, make_engine
from genelab.engines.base import Engine
from genelab.scene.objects import marker
from genelab.scene.robots.panda import panda
from genelab.scene.scene import EntityCfg, GroundCfg, Scene, SceneCfg
from genelab.scene.sensors import ContactSensorCfg

GRAVITY = 9.81
BOX_HALF, BOX_MASS = 0.1, 2.0
LINK_LENGTH, LINK_MASS, LINK_INERTIA = 0.5, 1.0, 0.01
KP, KD = 40.0, 6.0


def new_spec() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    return spec


def box() -> mujoco.MjSpec:
    """A free box."""
    spec = new_spec()
    body = spec.worldbody.add_body(name="box", pos=[0, 0, BOX_HALF])
    body.add_freejoint(name="root")
    body.add_geom(name="box", type=mujoco.mjtGeom.mjGEOM_BOX, size=[BOX_HALF] * 3, mass=BOX_MASS)
    return spec


def ball() -> mujoco.MjSpec:
    """A free ball, as high as the box."""
    spec = new_spec()
    body = spec.worldbody.add_body(name="ball", pos=[0, 0, BOX_HALF])
    body.add_freejoint(name="root")
    body.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[BOX_HALF, 0, 0], mass=BOX_MASS)
    return spec


def pendulum(length: float = LINK_LENGTH) -> mujoco.MjSpec:
    """A hanging link without friction: hinge about y, its mass at `length` below the hinge."""
    spec = new_spec()
    link = spec.worldbody.add_body(name="link", pos=[0, 0, 2])
    link.add_joint(name="hinge", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    _set_inertia(link, LINK_MASS, [0, 0, -length])
    _add_visual(link, length)
    return spec


def arm(mass: float = LINK_MASS) -> mujoco.MjSpec:
    """A slide along x and a hinge about y on it, each with a position servo."""
    spec = new_spec()
    carriage = spec.worldbody.add_body(name="carriage", pos=[0, 2, 1.5])
    carriage.add_joint(name="slide", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0], damping=[0.1, 0, 0])
    _set_inertia(carriage, 1.0, [0, 0, 0])
    link = carriage.add_body(name="link", pos=[0, 0, 0])
    link.add_joint(name="hinge", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], damping=[0.1, 0, 0])
    _set_inertia(link, mass, [0, 0, -0.3])
    _add_visual(link, 0.3)
    for joint in ("slide", "hinge"):
        servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=KP, kv=KD)
    return spec


def _set_inertia(body, mass: float, com: list[float]) -> None:
    body.mass, body.ipos, body.inertia, body.explicitinertial = mass, com, [LINK_INERTIA] * 3, True


def _add_visual(body, length: float) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.03, 0, 0], fromto=[0, 0, 0, 0, 0, -length], contype=0, conaffinity=0
    )


def machine() -> mujoco.MjSpec:
    """A branching mechanism with one of everything: gears, limits, springs, references, tilted inertias."""
    spec = new_spec()
    base = spec.worldbody.add_body(name="base", pos=[0, -2, 1], quat=[0.9, 0.1, 0.2, -0.3])
    base.add_joint(
        name="yaw",
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=[0.1, 0.2, 1],
        pos=[0.05, 0, 0.02],
        damping=[0.2, 0, 0],
        armature=0.05,
        frictionloss=0.3,
        range=[-0.4, 0.5],
    )
    _set_inertia(base, 1.3, [0.02, -0.03, 0.05])
    base.iquat, base.inertia = [0.8, 0.3, -0.4, 0.2], [0.02, 0.03, 0.04]
    base.add_geom(name="base", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1] * 3, contype=0, conaffinity=0)
    upper = base.add_body(name="upper", pos=[0, 0, 0.3], quat=[1, 0.2, 0, 0.1])
    upper.add_joint(
        name="lift",
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=[0, 0, 1],
        range=[-0.2, 0.2],
        stiffness=[30, 0, 0],
        ref=0.1,
        springref=0.1,
    )
    _set_inertia(upper, 0.7, [0, 0.03, 0])
    _set_inertia(upper.add_body(name="mount", pos=[0.1, 0, 0]), 0.2, [0, 0, 0.01])
    lower = base.add_body(name="lower", pos=[0.2, 0, -0.1])
    lower.add_joint(name="wheel", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], armature=0.01, ref=0.2)
    _set_inertia(lower, 0.5, [0, 0, -0.1])
    # Actuators in another order than the joints.
    wheel, yaw, lift = (
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        for name in ("wheel", "yaw", "lift")
    )
    wheel.set_to_velocity(kv=0.5)
    wheel.ctrlrange, wheel.ctrllimited = [-3, 3], True
    yaw.set_to_position(kp=50, kv=2)
    yaw.forcerange, yaw.forcelimited, yaw.gear[0] = [-4, 6], True, 1.5
    lift.set_to_motor()
    lift.ctrlrange, lift.ctrllimited, lift.gear[0] = [-1, 1], True, 2.0
    return spec


def tumbler() -> mujoco.MjSpec:
    """A free body whose centre of mass is off its origin and whose inertia is tilted."""
    spec = new_spec()
    body = spec.worldbody.add_body(name="tumbler", pos=[1, 1, 3])
    body.add_freejoint(name="root")
    _set_inertia(body, 1.1, [0.05, 0.02, -0.03])
    body.iquat, body.inertia = [0.9, 0.2, 0.1, 0.3], [0.01, 0.02, 0.025]
    body.add_geom(name="shell", type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, size=[0.1, 0.2, 0.3], contype=0, conaffinity=0)
    return spec


def machine_scene() -> Scene:
    return Scene(
        SceneCfg(
            robots={"robot": EntityCfg(model=machine, joint_pos={"wheel": 0.4})},
            objects={"box": EntityCfg(model=box), "tumbler": EntityCfg(model=tumbler)},
            ground=GroundCfg(friction=0.7),
        ),
        0.005,
    )


def tower() -> mujoco.MjSpec:
    """Three free boxes on top of each other at x = 2, of which the middle one may touch neither of the others.

    It is kept from the lower one by its masks, and from the upper one by an exclusion.
    """
    spec = new_spec()
    for name, height, mask in (("low", 0.1, 1), ("middle", 0.4, 2), ("high", 0.7, 3)):
        body = spec.worldbody.add_body(name=name, pos=[2, 0, height])
        body.add_freejoint(name=name)
        body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1] * 3, contype=mask, conaffinity=mask)
    spec.add_exclude(bodyname1="middle", bodyname2="high")
    return spec


def shapes() -> mujoco.MjSpec:
    """One free body of each collision shape, lying a little above the ground."""
    spec = new_spec()
    kinds = {
        "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, [0.1, 0, 0]),
        "capsule": (mujoco.mjtGeom.mjGEOM_CAPSULE, [0.1, 0.2, 0]),
        "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, [0.1, 0.05, 0]),
        "box": (mujoco.mjtGeom.mjGEOM_BOX, [0.2, 0.15, 0.1]),
    }
    for i, (name, (kind, size)) in enumerate(kinds.items()):
        body = spec.worldbody.add_body(name=name, pos=[i, 0, 0.15])
        body.add_freejoint(name=name)
        lying = [1, 0, 1, 0] if name == "capsule" else [1, 0, 0, 0]
        body.add_geom(name=name, type=kind, size=size, mass=BOX_MASS, quat=lying)
    return spec


def stairs() -> mujoco.MjSpec:
    """A height field with a step of 0.2 m along x at x = 0.3 and one of 0.1 m along y at y = 0.1, off the origin."""
    spec = new_spec()
    heights = np.zeros((11, 21))  # rows along y, columns along x
    heights[:, 11:] += 0.2
    heights[6:] += 0.1
    spec.add_hfield(name="stairs", nrow=11, ncol=21, size=[2, 1, 0.3, 0.1], userdata=(heights / 0.3).ravel())
    spec.worldbody.add_geom(name="stairs", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="stairs", pos=[0.2, 0.0, 0.05])
    return spec


def lone_shape(shape: str) -> mujoco.MjSpec:
    """One of the free bodies of `shapes`, off the lines of the stairs' grid, above its lowest part."""
    spec = shapes()
    for body in list(spec.worldbody.bodies):
        if body.name != shape:
            spec.delete(body)
    spec.body(shape).pos = [-0.97, -0.63, 0.3]
    return spec


def imu() -> mujoco.MjSpec:
    """A swinging link with a gyro, an accelerometer and a joint sensor."""
    spec = pendulum()
    site = spec.body("link").add_site(name="imu", pos=[0, 0, -LINK_LENGTH])
    kinds = {"gyro": mujoco.mjtSensor.mjSENS_GYRO, "accelerometer": mujoco.mjtSensor.mjSENS_ACCELEROMETER}
    for name, kind in kinds.items():
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name)
    joint = mujoco.mjtObj.mjOBJ_JOINT
    spec.add_sensor(name="angle", type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=joint, objname="hinge")
    return spec


def imu_scene(dt: float = 0.002) -> Scene:
    return Scene(SceneCfg(robots={"robot": EntityCfg(model=imu)}, ground=GroundCfg(collide=False)), dt)


def box_scene(collide: bool = True, dt: float = 0.005) -> Scene:
    return Scene(SceneCfg(objects={"box": EntityCfg(model=box)}, ground=GroundCfg(collide=collide)), dt)


def pendulum_scene(dt: float = 0.002) -> Scene:
    return Scene(SceneCfg(robots={"robot": EntityCfg(model=pendulum)}, ground=GroundCfg(collide=False)), dt)


def arm_scene(dt: float = 0.005, joint_pos: dict[str, float] | None = None, **params) -> Scene:
    robot = EntityCfg(model=arm, params=params, joint_pos=joint_pos or {})
    return Scene(SceneCfg(robots={"robot": robot}, ground=GroundCfg(collide=False)), dt)


def busy_scene(dt: float = 0.005) -> Scene:
    """An arm that moves and a box that slides over the ground: every model field matters here."""
    return Scene(
        SceneCfg(
            robots={"robot": EntityCfg(model=arm, joint_pos={"hinge": 0.2})},
            objects={"box": EntityCfg(model=box)},
            sensors={"box": ContactSensorCfg(sides=("box/box",))},
        ),
        dt,
    )


def panda_scene() -> Scene:
    return Scene(SceneCfg(robots={"robot": panda()}, objects={"goal": marker(0.1)}), 0.005)


def ids(*worlds: int) -> Tensor:
    return torch.tensor(worlds, dtype=torch.int64)


def every(engine: Engine) -> Tensor:
    return torch.arange(engine.num_envs)


def busy_engine(engine_name: str, num_envs: int = 4, threads: int = 1) -> Engine:
    """The busy scene with targets for the arm and a push for the box, different in every world."""
    engine = make_engine(engine_name, busy_scene(), num_envs, threads=threads)
    qpos, qvel = engine.qpos.clone(), engine.qvel.clone()
    worlds = torch.arange(num_envs)
    qvel[:, 2] = 1.0 + 0.1 * worlds  # the box slides along x
    qvel[:, 7] = 0.2
    engine.set_state(every(engine), qpos, qvel)
    engine.ctrl[:, 0] = 0.3 + 0.05 * worlds
    engine.ctrl[:, 1] = -0.4
    return engine


def state_of(engine: Engine) -> Tensor:
    return torch.cat((engine.qpos, engine.qvel), dim=1)


def assert_same(got: Tensor, expected: Tensor, tolerance: float = 0.0) -> None:
    """Equal bits, or within an engine's tolerance."""
    if tolerance == 0.0:
        assert torch.equal(got, expected)
    else:
        torch.testing.assert_close(got, expected, atol=tolerance, rtol=0)


LINK, BOX = 2, 3
"""Bodies of the busy scene."""

CHANGES = {
    "body_mass": lambda v: v * 2.0,
    "body_com": lambda v: v + 0.05 * (torch.arange(v.shape[1]) == LINK)[None, :, None],
    "body_inertia": lambda v: v * 3.0,
    "geom_friction": lambda v: v * 0.3,
    "geom_solref": lambda v: v * 3.0,
    "geom_solimp": lambda v: v * torch.tensor([0.5, 1.0, 10.0, 1.0, 1.0]),
    "joint_damping": lambda v: v + 1.0,
    "joint_armature": lambda v: v + 0.5,
    "joint_friction": lambda v: v + 0.5,
    "actuator_kp": lambda v: v * 0.5,
    "actuator_kd": lambda v: v * 2.0,
    "gravity": lambda v: v * 0.5,
    "cone": lambda v: 1.0 - v,
    "impratio": lambda v: v * 20.0,
}


def supported(engine_name: str, field: str) -> None:
    if field not in load(ENGINES[engine_name].target).capabilities.model_fields:
        pytest.skip(f"{engine_name} does not promise {field}")


def randomise(engine: Engine) -> None:
    for field in sorted(engine.capabilities.model_fields):
        changed = CHANGES[field](engine.model_field(field))
        engine.set_model_field(field, ids(1, 2), changed[[1, 2]])


def needs(engine: Engine, flag: str) -> None:
    if not getattr(engine.capabilities, flag):
        pytest.skip(f"{engine.name} does not promise '{flag}'")


def run_and_record(engine: Engine, steps: int = 30) -> Tensor:
    frames = []
    for _ in range(steps):
        engine.step()
        frames.append(state_of(engine).clone())
    return torch.stack(frames)
