"""The engine conformance suite. It runs over every engine that is installed; a new engine is done when it passes."""

import itertools
import logging
import math
import os
import random
import signal
import sys
from dataclasses import dataclass

os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.registry import load
from genelab.engines import ENGINES, make_engine
from genelab.engines.base import Engine
from genelab.engines.capabilities import MODEL_FIELDS
from genelab.engines.description import describe_model, differences
from genelab.scene.objects import marker
from genelab.scene.robots.panda import panda
from genelab.scene.scene import ContactSensorCfg, EntityCfg, GroundCfg, Scene, SceneCfg

GRAVITY = 9.81


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


# Scenes ---------------------------------------------------------------------------------------------------------------

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
            contact_sensors={"box": ContactSensorCfg(side="box/box")},
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


# Arrays ---------------------------------------------------------------------------------------------------------------


def test_arrays_are_float32_with_worlds_first_in_the_order_of_the_compiled_model(engine_name):
    scene = busy_scene()
    engine = make_engine(engine_name, scene, 3)
    engine.step()
    model = scene.model
    shapes = {
        "qpos": (3, model.nq),
        "qvel": (3, model.nv),
        "ctrl": (3, model.nu),
        "actuator_force": (3, model.nu),
        "body_pos": (3, model.nbody, 3),
        "body_quat": (3, model.nbody, 4),
        "body_lin_vel": (3, model.nbody, 3),
        "body_ang_vel": (3, model.nbody, 3),
    }
    for name, shape in shapes.items():
        array = getattr(engine, name)
        assert tuple(array.shape) == shape, name
        assert array.dtype == torch.float32, name
    assert engine.contact("box").shape == (3, 3)
    assert engine.contact("box").dtype == torch.float32
    assert engine.failed.shape == (3,)
    assert engine.failed.dtype == torch.bool


def test_a_new_engine_is_in_the_default_pose_at_rest(engine_name):
    engine = make_engine(engine_name, busy_scene(), 2)
    expected = torch.tensor(engine.scene.default_qpos, dtype=torch.float32).expand(2, -1)
    torch.testing.assert_close(engine.qpos, expected)
    assert not engine.qvel.any()
    assert not engine.ctrl.any()
    assert not engine.failed.any()


def test_joints_and_bodies_are_where_their_names_say(engine_name):
    engine = make_engine(engine_name, busy_scene(), 1)
    model = engine.model
    qpos, qvel = engine.qpos.clone(), engine.qvel.clone()
    qpos[:, model.joint("robot/slide").qposadr[0]] = 0.7
    qpos[:, model.joint("robot/hinge").qposadr[0]] = 0.5
    qvel[:, model.joint("robot/hinge").dofadr[0]] = 3.0
    box_adr = model.joint("box/root").qposadr[0]
    qpos[:, box_adr : box_adr + 3] = torch.tensor([1.0, 2.0, 3.0])
    engine.set_state(ids(0), qpos, qvel)
    link, cube = model.body("robot/link").id, model.body("box/box").id
    torch.testing.assert_close(engine.body_pos[0, link], torch.tensor([0.7, 2.0, 1.5]))
    torch.testing.assert_close(engine.body_quat[0, link], torch.tensor([math.cos(0.25), 0.0, math.sin(0.25), 0.0]))
    torch.testing.assert_close(engine.body_ang_vel[0, link], torch.tensor([0.0, 3.0, 0.0]))
    torch.testing.assert_close(engine.body_pos[0, cube], torch.tensor([1.0, 2.0, 3.0]))


def test_each_control_drives_the_joint_of_its_actuator(engine_name):
    engine = make_engine(engine_name, arm_scene(), 2)
    engine.ctrl[0, engine.model.actuator("robot/slide").id] = 0.5
    engine.ctrl[1, engine.model.actuator("robot/hinge").id] = 0.5
    engine.step(20)
    slide, hinge = (engine.model.joint(f"robot/{j}").qposadr[0] for j in ("slide", "hinge"))
    assert engine.qpos[0, slide] > engine.qpos[1, slide].abs()
    assert engine.qpos[1, hinge] > engine.qpos[0, hinge].abs()


def test_what_the_engine_simulates_is_what_was_compiled(engine_name):
    scene = machine_scene()
    found = make_engine(engine_name, scene, 2).describe()
    assert differences(describe_model(scene.model), found) == []
    moving, solid = scene.model.body_weldid != 0, scene.model.geom_contype != 0
    for name in found.numbers():
        values = np.asarray(getattr(found, name))
        kept = moving if name.startswith("body_") else solid if name.startswith("geom_") else ...
        assert not np.isnan(values[kept]).any(), name


# Physics --------------------------------------------------------------------------------------------------------------


def test_a_real_arm_with_coupled_fingers_is_what_was_compiled(engine_name):
    engine = make_engine(engine_name, panda_scene(), 1)
    assert differences(describe_model(engine.model), engine.describe()) == []
    engine.ctrl[:] = engine.default_qpos[:9]
    engine.ctrl[:, 8] = 0.0  # what one servo is told, both fingers feel
    engine.step(40)
    assert float((engine.qpos[0, 7] - engine.qpos[0, 8]).abs()) < 1e-3


def test_a_free_body_falls_as_the_analytic_solution_says(engine_name, tolerance):
    engine = make_engine(engine_name, box_scene(collide=False, dt=0.002), 2)
    qpos, qvel = engine.qpos.clone(), engine.qvel.clone()
    qpos[:, 2] = 5.0
    qvel[1, :3] = torch.tensor([1.0, -0.5, 2.0])
    engine.set_state(every(engine), qpos, qvel)
    engine.step(250)
    t = 0.5
    expected = torch.tensor(
        [[0, 0, 5 - GRAVITY * t**2 / 2], [1.0 * t, -0.5 * t, 5 + 2.0 * t - GRAVITY * t**2 / 2]], dtype=torch.float32
    )
    torch.testing.assert_close(engine.qpos[:, :3], expected, atol=tolerance.free_fall, rtol=0)
    assert engine.qvel[0, 2].item() == pytest.approx(-GRAVITY * t, rel=1e-3)


def test_a_pendulum_swings_with_the_analytic_small_angle_period(engine_name, tolerance):
    dt = 0.002
    engine = make_engine(engine_name, pendulum_scene(dt), 1)
    engine.set_state(ids(0), torch.tensor([[0.05]]), torch.zeros(1, 1))
    angles = []
    for _ in range(2200):
        engine.step()
        angles.append(engine.qpos[0, 0].item())
    inertia = LINK_INERTIA + LINK_MASS * LINK_LENGTH**2
    expected = 2 * math.pi * math.sqrt(inertia / (LINK_MASS * GRAVITY * LINK_LENGTH))
    crossings = [(i + a / (a - b)) * dt for i, (a, b) in enumerate(itertools.pairwise(angles)) if a > 0 >= b]
    assert np.diff(crossings).mean() == pytest.approx(expected, rel=tolerance.period)


def test_an_undamped_pendulum_keeps_its_energy(engine_name, tolerance):
    engine = make_engine(engine_name, pendulum_scene(0.002), 1)
    engine.set_state(ids(0), torch.tensor([[1.5]]), torch.zeros(1, 1))
    inertia, weight = LINK_INERTIA + LINK_MASS * LINK_LENGTH**2, LINK_MASS * GRAVITY * LINK_LENGTH

    def energy() -> float:
        angle, rate = engine.qpos[0, 0].item(), engine.qvel[0, 0].item()
        return inertia * rate**2 / 2 + weight * (1 - math.cos(angle))

    start, drift = energy(), 0.0
    for _ in range(250):
        engine.step(10)
        drift = max(drift, abs(energy() - start))
    assert drift < tolerance.energy * start


def test_a_position_servo_reaches_its_target(engine_name):
    engine = make_engine(engine_name, arm_scene(), 1)
    engine.ctrl[:] = torch.tensor([[0.5, 0.0]])
    engine.step(1500)
    assert engine.qpos[0, 0].item() == pytest.approx(0.5, abs=1e-3)
    assert engine.qvel[0, 0].item() == pytest.approx(0.0, abs=1e-3)


def test_a_servo_step_response_is_that_of_plain_mujoco(engine_name, tolerance):
    scene = arm_scene()
    engine = make_engine(engine_name, scene, 1)
    engine.ctrl[:] = torch.tensor([[0.5, -0.25]])
    data = mujoco.MjData(scene.model)
    data.ctrl[:] = [0.5, -0.25]
    for _ in range(20):
        engine.step(10)
        mujoco.mj_step(scene.model, data, 10)
        expected = np.concatenate((data.qpos, data.qvel))
        np.testing.assert_allclose(state_of(engine)[0].numpy(), expected, atol=tolerance.trajectory)


def test_every_kind_of_joint_and_actuator_moves_as_in_plain_mujoco(engine_name, tolerance):
    scene = machine_scene()
    engine = make_engine(engine_name, scene, 1)
    data = mujoco.MjData(scene.model)
    data.qpos[:], data.qvel[:] = scene.default_qpos, 0.3 * np.sin(np.arange(scene.model.nv))
    data.ctrl[:] = [5.0, 0.6, 0.8]  # the first beyond its range
    engine.set_state(ids(0), torch.tensor(data.qpos[None]).float(), torch.tensor(data.qvel[None]).float())
    engine.ctrl[:] = torch.tensor(data.ctrl).float()
    for _ in range(20):
        engine.step(5)
        mujoco.mj_step(scene.model, data, 5)
        np.testing.assert_allclose(engine.qpos[0].numpy(), data.qpos, atol=tolerance.trajectory)
        np.testing.assert_allclose(engine.qvel[0].numpy(), data.qvel, atol=20 * tolerance.trajectory)
        np.testing.assert_allclose(engine.actuator_force[0].numpy(), data.actuator_force, atol=tolerance.force)


def test_every_shape_falls_to_the_ground_and_lies_there(engine_name, tolerance):
    names = ("sphere", "capsule", "cylinder", "box")
    sensors = {name: ContactSensorCfg(side=f"shapes/{name}") for name in names}
    scene = Scene(SceneCfg(objects={"shapes": EntityCfg(model=shapes)}, contact_sensors=sensors), 0.005)
    engine = make_engine(engine_name, scene, 2)
    engine.step(400)
    heights = engine.body_pos[1, 1:, 2]
    torch.testing.assert_close(heights, torch.tensor([0.1, 0.1, 0.05, 0.1]), atol=tolerance.penetration, rtol=0)
    for name in names:
        assert engine.contact(name)[1, 2].item() == pytest.approx(BOX_MASS * GRAVITY, rel=5 * tolerance.contact_force)


def test_a_height_field_is_where_its_heights_are(engine_name, tolerance):
    objects = {"stairs": EntityCfg(model=stairs), "ball": EntityCfg(model=ball)}
    engine = make_engine(engine_name, Scene(SceneCfg(objects=objects, ground=GroundCfg(collide=False)), 0.005), 4)
    qpos = engine.qpos.clone()
    qpos[:, :3] = torch.tensor([[-1.0, -0.6, 0.5], [1.4, -0.6, 0.5], [-1.0, 0.6, 0.5], [1.4, 0.6, 0.5]])
    engine.set_state(every(engine), qpos, engine.qvel.clone())
    engine.step(300)
    expected = 0.05 + BOX_HALF + torch.tensor([0.0, 0.2, 0.1, 0.3])
    torch.testing.assert_close(engine.qpos[:, 2], expected, atol=2 * tolerance.penetration, rtol=0)


def test_only_what_may_touch_touches(engine_name):
    scene = Scene(SceneCfg(objects={"tower": EntityCfg(model=tower)}), 0.005)
    engine = make_engine(engine_name, scene, 1)
    data = mujoco.MjData(scene.model)
    engine.step(200)
    mujoco.mj_step(scene.model, data, 200)
    heights = engine.body_pos[0, 1:, 2].numpy()
    np.testing.assert_allclose(heights, data.qpos[[2, 9, 16]], atol=5e-3)
    assert heights[1] < -0.5  # through the lower box and the ground
    assert heights[2] > 0.25  # on the lower box


def test_a_box_at_rest_presses_on_the_ground_with_its_weight_and_does_not_sink(engine_name, tolerance):
    engine = make_engine(engine_name, busy_scene(), 1)
    engine.step(300)
    weight = BOX_MASS * GRAVITY
    force = engine.contact("box")[0]
    assert force[2].item() == pytest.approx(weight, rel=tolerance.contact_force)
    assert force[:2].abs().max().item() < tolerance.contact_force * weight
    height = engine.body_pos[0, engine.model.body("box/box").id, 2].item()
    assert height == pytest.approx(BOX_HALF, abs=tolerance.penetration)
    assert engine.qvel[0, 2:].abs().max() < 1e-3


def test_the_two_sides_of_a_contact_feel_opposite_forces(engine_name, tolerance):
    sensors = {
        "box": ContactSensorCfg(side="box/box", kind="geom", other="ground", other_kind="geom"),
        "ground": ContactSensorCfg(side="ground", kind="geom", other="box/box", other_kind="geom"),
    }
    scene = Scene(SceneCfg(objects={"box": EntityCfg(model=box)}, contact_sensors=sensors), 0.005)
    engine = make_engine(engine_name, scene, 1)
    engine.step(300)
    weight = BOX_MASS * GRAVITY
    assert engine.contact("box")[0, 2].item() == pytest.approx(weight, rel=tolerance.contact_force)
    assert engine.contact("ground")[0, 2].item() == pytest.approx(-weight, rel=tolerance.contact_force)


def test_a_body_in_the_air_feels_no_contact(engine_name):
    engine = make_engine(engine_name, busy_scene(), 1)
    qpos = engine.qpos.clone()
    qpos[:, 4] = 3.0
    engine.set_state(ids(0), qpos, engine.qvel.clone())
    engine.step(5)
    assert not engine.contact("box").any()


def test_actuator_force_follows_the_servo_law_at_the_start_of_the_last_physics_step(engine_name, tolerance):
    engine = make_engine(engine_name, arm_scene(), 2)
    assert not engine.actuator_force.any()
    engine.ctrl[:] = torch.tensor([[0.5, -0.2], [-0.3, 0.4]])
    engine.step(10)
    expected = KP * (engine.ctrl - engine.qpos) - KD * engine.qvel
    engine.step(1)
    torch.testing.assert_close(engine.actuator_force, expected, atol=tolerance.force, rtol=0)


def test_actuator_force_is_there_when_it_is_first_read_after_a_step(engine_name, tolerance):
    engine = make_engine(engine_name, arm_scene(), 1)
    engine.ctrl[:] = 0.5
    engine.step(1)
    torch.testing.assert_close(engine.actuator_force, torch.full((1, 2), KP * 0.5), atol=tolerance.force, rtol=0)


def test_several_steps_at_once_are_the_same_as_one_by_one(engine_name, tolerance):
    at_once, one_by_one = busy_engine(engine_name), busy_engine(engine_name)
    at_once.step(12)
    for _ in range(12):
        one_by_one.step()
    assert_same(state_of(at_once), state_of(one_by_one), tolerance.unaffected)


# Resets and states ----------------------------------------------------------------------------------------------------


def test_reset_touches_only_its_worlds(engine_name, tolerance):
    engine, undisturbed = busy_engine(engine_name), busy_engine(engine_name)
    for e in (engine, undisturbed):
        e.step(20)
    engine.reset(ids(1, 3))
    torch.testing.assert_close(engine.qpos[1], engine.default_qpos)
    assert not engine.qvel[[1, 3]].any()
    for e in (engine, undisturbed):
        e.step(20)
    assert_same(state_of(engine)[[0, 2]], state_of(undisturbed)[[0, 2]], tolerance.unaffected)


def test_a_reset_world_remembers_nothing(engine_name, tolerance):
    engine, fresh = busy_engine(engine_name), make_engine(engine_name, busy_scene(), 4)
    engine.step(50)
    engine.reset(ids(2))
    for e in (engine, fresh):
        e.ctrl[2] = torch.tensor([0.1, 0.2])
        e.step(30)
    assert_same(state_of(engine)[2], state_of(fresh)[2], tolerance.unaffected)


def test_set_state_touches_only_its_worlds(engine_name, tolerance):
    engine, undisturbed = busy_engine(engine_name), busy_engine(engine_name)
    for e in (engine, undisturbed):
        e.step(10)
    qpos, qvel = engine.qpos[[2]].clone(), engine.qvel[[2]].clone()
    qpos[:, 0] += 0.5
    engine.set_state(ids(2), qpos, qvel)
    assert_same(engine.qpos[2], qpos[0])
    for e in (engine, undisturbed):
        e.step(20)
    others = [0, 1, 3]
    assert_same(state_of(engine)[others], state_of(undisturbed)[others], tolerance.unaffected)
    assert not torch.equal(engine.qpos[2], undisturbed.qpos[2])


def test_set_state_takes_rows_in_the_order_of_the_world_ids(engine_name):
    engine = make_engine(engine_name, pendulum_scene(), 4)
    engine.set_state(ids(3, 0), torch.tensor([[0.3], [0.1]]), torch.tensor([[3.0], [1.0]]))
    torch.testing.assert_close(engine.qpos[:, 0], torch.tensor([0.1, 0.0, 0.0, 0.3]))
    torch.testing.assert_close(engine.qvel[:, 0], torch.tensor([1.0, 0.0, 0.0, 3.0]))


def test_body_arrays_follow_set_state_and_reset_at_once(engine_name):
    engine = make_engine(engine_name, arm_scene(), 2)
    link = engine.model.body("robot/link").id
    assert engine.body_pos[0, link, 0] == 0.0
    engine.set_state(ids(0), torch.tensor([[0.4, 0.0]]), torch.tensor([[2.0, 0.0]]))
    assert engine.body_pos[0, link, 0].item() == pytest.approx(0.4)
    assert engine.body_lin_vel[0, link, 0].item() == pytest.approx(2.0)
    engine.reset(ids(0))
    assert engine.body_pos[0, link, 0] == 0.0
    assert not engine.body_lin_vel.any()


def test_body_arrays_are_not_a_substep_behind_the_state(engine_name):
    engine = make_engine(engine_name, pendulum_scene(), 1)
    engine.set_state(ids(0), torch.tensor([[1.0]]), torch.zeros(1, 1))
    engine.step(50)
    link = engine.model.body("robot/link").id
    half = engine.qpos[0, 0] / 2
    torch.testing.assert_close(engine.body_quat[0, link, [0, 2]], torch.stack((half.cos(), half.sin())))
    torch.testing.assert_close(engine.body_ang_vel[0, link, 1], engine.qvel[0, 0])


# What is live and what is a copy --------------------------------------------------------------------------------------


def test_a_jacobian_is_how_a_body_moves_with_each_degree_of_freedom(engine_name):
    engine = make_engine(engine_name, machine_scene(), 2)
    engine.set_state(ids(1), *_moved_a_little(engine))
    for name in ("robot/mount", "robot/lower", "tumbler/tumbler"):
        body = engine.model.body(name).id
        found = engine.jacobian(body)
        assert found.shape == (2, 6, engine.model.nv)
        for world in range(2):
            expected = _finite_differences(engine.model, engine.qpos[world].double().numpy(), body)
            np.testing.assert_allclose(found[world], expected, atol=2e-6)


def _moved_a_little(engine: Engine) -> tuple[Tensor, Tensor]:
    qpos, draw = engine.qpos[:1].double().numpy().copy(), np.random.default_rng(0)
    mujoco.mj_integratePos(engine.model, qpos[0], draw.normal(size=engine.model.nv), 0.2)
    return torch.tensor(qpos, dtype=torch.float32), torch.zeros_like(engine.qvel[:1])


def _finite_differences(model: mujoco.MjModel, qpos: np.ndarray, body: int, step: float = 1e-5) -> np.ndarray:
    """(6, nv) by MuJoCo's kinematics in 64 bits."""
    data, columns = mujoco.MjData(model), []
    for direction in np.eye(model.nv):
        ends = []
        for sign in (-1, 1):
            data.qpos[:] = qpos
            mujoco.mj_integratePos(model, data.qpos, direction, sign * step)
            mujoco.mj_kinematics(model, data)
            ends.append((data.xpos[body].copy(), data.xquat[body].copy(), data.xmat[body].reshape(3, 3).copy()))
        (pos, quat, matrix), (later, turned, _) = ends
        rotation = np.zeros(3)
        mujoco.mju_subQuat(rotation, turned, quat)  # in the body's frame
        columns.append(np.concatenate((later - pos, matrix @ rotation)) / (2 * step))
    return np.stack(columns, axis=1)


def test_qpos_and_qvel_are_live_buffers(engine_name):
    engine = busy_engine(engine_name)
    qpos, qvel = engine.qpos, engine.qvel
    before = qpos.clone()
    engine.step(5)
    assert torch.equal(qpos, engine.qpos)
    assert torch.equal(qvel, engine.qvel)
    assert not torch.equal(qpos, before)
    engine.reset(every(engine))
    assert torch.equal(qpos, engine.qpos)


def test_ctrl_is_applied_as_it_is_at_the_call(engine_name):
    engine = make_engine(engine_name, arm_scene(), 1)
    ctrl = engine.ctrl
    ctrl[:] = 5.0
    ctrl[:] = 0.0
    engine.step(5)
    assert engine.qpos.abs().max() < 1e-6
    ctrl[:, 0] = 1.0
    engine.step(5)
    assert engine.qpos[0, 0] > 1e-3


def test_ctrl_is_held_until_it_is_written_again(engine_name):
    engine = make_engine(engine_name, arm_scene(), 1)
    engine.ctrl[:] = torch.tensor([[0.5, 0.25]])
    engine.step(3)
    torch.testing.assert_close(engine.ctrl, torch.tensor([[0.5, 0.25]]))


@pytest.mark.parametrize("name", ["body_pos", "body_quat", "body_lin_vel", "body_ang_vel"])
def test_a_body_array_that_was_read_stays_as_it_was(engine_name, name):
    engine = busy_engine(engine_name)
    engine.step(5)
    held = getattr(engine, name)
    before = held.clone()
    engine.step(5)
    assert torch.equal(held, before)
    assert not torch.equal(getattr(engine, name), before)


def test_actuator_force_and_contact_are_copies(engine_name):
    engine = busy_engine(engine_name)
    engine.step(20)
    force, contact = engine.actuator_force, engine.contact("box")
    before = force.clone(), contact.clone()
    engine.step(20)
    assert torch.equal(force, before[0])
    assert torch.equal(contact, before[1])
    present = engine.actuator_force.clone()
    engine.actuator_force[:] = 99.0
    assert torch.equal(engine.actuator_force, present)


def test_set_state_and_reset_do_not_change_actuator_force_and_contact(engine_name):
    engine = busy_engine(engine_name)
    engine.step(20)
    before = engine.actuator_force, engine.contact("box")
    engine.set_state(ids(0), engine.qpos[[0]] + 0.1, engine.qvel[[0]])
    engine.reset(ids(1))
    assert torch.equal(engine.actuator_force, before[0])
    assert torch.equal(engine.contact("box"), before[1])


def test_model_field_is_a_copy(engine_name):
    engine = make_engine(engine_name, busy_scene(), 2)
    name = sorted(engine.capabilities.model_fields)[0]
    before = engine.model_field(name).clone()
    engine.model_field(name)[:] = 99.0
    assert torch.equal(engine.model_field(name), before)
    engine.set_model_field(name, ids(0), 2 * before[[0]])
    present = engine.model_field(name).clone()
    engine.model_field(name)[:] = 99.0
    assert torch.equal(engine.model_field(name), present)


# Model fields ---------------------------------------------------------------------------------------------------------

LINK, BOX = 2, 3
"""Bodies of the busy scene."""

CHANGES = {
    "body_mass": lambda v: v * 2.0,
    "body_com": lambda v: v + 0.05 * (torch.arange(v.shape[1]) == LINK)[None, :, None],
    "body_inertia": lambda v: v * 3.0,
    "geom_friction": lambda v: v * 0.3,
    "joint_damping": lambda v: v + 1.0,
    "joint_armature": lambda v: v + 0.5,
    "joint_friction": lambda v: v + 0.5,
    "actuator_kp": lambda v: v * 0.5,
    "actuator_kd": lambda v: v * 2.0,
    "gravity": lambda v: v * 0.5,
}


def supported(engine_name: str, field: str) -> None:
    if field not in load(ENGINES[engine_name].target).capabilities.model_fields:
        pytest.skip(f"{engine_name} does not promise {field}")


def test_every_model_field_of_the_contract_is_tried_here():
    assert set(CHANGES) == set(MODEL_FIELDS)


@pytest.mark.parametrize("field", MODEL_FIELDS)
def test_a_model_field_changes_the_motion_in_its_worlds_and_only_there(engine_name, field, tolerance):
    supported(engine_name, field)
    engine, reference = busy_engine(engine_name), busy_engine(engine_name)
    changed = CHANGES[field](engine.model_field(field))
    engine.set_model_field(field, ids(1, 3), changed[[1, 3]])
    for e in (engine, reference):
        e.step(60)
    assert not engine.failed.any()
    assert_same(state_of(engine)[[0, 2]], state_of(reference)[[0, 2]], tolerance.unaffected)
    moved = (engine.qpos - reference.qpos).abs().amax(dim=1)
    assert moved[1] > 1e-4
    assert moved[3] > 1e-4


@pytest.mark.parametrize("field", MODEL_FIELDS)
def test_model_field_reads_back_what_was_set(engine_name, field):
    supported(engine_name, field)
    engine = make_engine(engine_name, busy_scene(), 4)
    default = engine.model_field(field)
    changed = CHANGES[field](default)
    factors = torch.tensor([1.1, 1.2]).view(2, *[1] * (default.dim() - 1))
    engine.set_model_field(field, ids(3, 1), changed[[3, 1]] * factors)
    torch.testing.assert_close(engine.model_field(field)[[3, 1]], changed[[3, 1]] * factors)
    assert torch.equal(engine.model_field(field)[[0, 2]], default[[0, 2]])


@pytest.mark.parametrize("field", MODEL_FIELDS)
def test_model_field_defaults_are_those_of_the_compiled_model(engine_name, field):
    supported(engine_name, field)
    engine = make_engine(engine_name, busy_scene(), 2)
    model = engine.model
    expected = {
        "body_mass": model.body_mass,
        "body_com": model.body_ipos,
        "body_inertia": model.body_inertia,
        "geom_friction": model.geom_friction,
        "joint_damping": model.dof_damping,
        "joint_armature": model.dof_armature,
        "joint_friction": model.dof_frictionloss,
        "actuator_kp": np.full(2, KP),
        "actuator_kd": np.full(2, KD),
        "gravity": np.array([0, 0, -GRAVITY]),
    }[field]
    np.testing.assert_allclose(engine.model_field(field).numpy(), np.stack((expected, expected)), atol=1e-6)


def test_a_world_with_another_mass_moves_as_a_model_compiled_with_it(engine_name, tolerance):
    supported(engine_name, "body_mass")
    scene, heavy = arm_scene(), arm_scene(mass=3.0)
    engine = make_engine(engine_name, scene, 2)
    mass = engine.model_field("body_mass")[[1]]
    mass[:, engine.model.body("robot/link").id] = 3.0
    engine.set_model_field("body_mass", ids(1), mass)
    engine.ctrl[:] = torch.tensor([0.5, -0.4])
    engine.step(100)
    data = mujoco.MjData(heavy.model)
    data.ctrl[:] = engine.ctrl[1].double().numpy()
    mujoco.mj_step(heavy.model, data, 100)
    np.testing.assert_allclose(engine.qpos[1].numpy(), data.qpos, atol=tolerance.trajectory)


def test_the_centre_of_mass_of_a_free_body_can_be_moved(engine_name):
    supported(engine_name, "body_com")
    engine = make_engine(engine_name, busy_scene(), 2)
    com = engine.model_field("body_com")[[1]]
    com[:, BOX, 0] += 0.05
    engine.set_model_field("body_com", ids(1), com)
    qpos, qvel = engine.qpos.clone(), engine.qvel.clone()
    qpos[:, 4], qvel[:, 6] = 3.0, 1.0  # in the air, turning about y: the body origin circles the centre of mass
    engine.set_state(every(engine), qpos, qvel)
    engine.step(20)
    torch.testing.assert_close(engine.model_field("body_com")[1], com[0])
    circled = 0.05 * (1.0 - math.cos(20 * engine.dt))
    assert engine.qpos[0, 2].abs() < 1e-5
    assert engine.qpos[1, 2].abs().item() == pytest.approx(circled, rel=0.1)


def test_changing_one_gain_leaves_the_other_as_it_was(engine_name):
    supported(engine_name, "actuator_kp")
    supported(engine_name, "actuator_kd")
    engine = make_engine(engine_name, arm_scene(), 2)
    engine.set_model_field("actuator_kp", ids(0), torch.full((1, 2), 11.0))
    engine.set_model_field("actuator_kd", ids(1), torch.full((1, 2), 3.0))
    torch.testing.assert_close(engine.model_field("actuator_kp"), torch.tensor([[11.0, 11.0], [KP, KP]]))
    torch.testing.assert_close(engine.model_field("actuator_kd"), torch.tensor([[KD, KD], [3.0, 3.0]]))


def test_reset_keeps_the_model_fields_of_a_world(engine_name):
    engine = make_engine(engine_name, busy_scene(), 2)
    name = sorted(engine.capabilities.model_fields)[0]
    changed = 2 * engine.model_field(name)[[1]]
    engine.set_model_field(name, ids(1), changed)
    engine.reset(every(engine))
    assert torch.equal(engine.model_field(name)[[1]], changed)


def test_an_unknown_model_field_is_an_error_with_the_nearest_name(engine_name):
    engine = make_engine(engine_name, arm_scene(), 1)
    with pytest.raises(UserError, match="body_mass"):
        engine.model_field("body_mas")


# State, determinism, failures -----------------------------------------------------------------------------------------


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


def test_state_dict_takes_the_engine_back_bit_for_bit(engine_name):
    engine = busy_engine(engine_name)
    needs(engine, "exact_state")
    randomise(engine)
    engine.step(20)
    state = engine.state_dict()
    expected = run_and_record(engine)
    engine.ctrl.zero_()
    engine.load_state_dict(state)
    assert torch.equal(run_and_record(engine), expected)


def test_state_dict_continues_bit_for_bit_in_a_fresh_engine(engine_name):
    engine = busy_engine(engine_name)
    needs(engine, "exact_state")
    randomise(engine)
    engine.step(20)
    state, at_save = engine.state_dict(), state_of(engine)
    expected = run_and_record(engine)
    fresh = make_engine(engine_name, busy_scene(), 4)
    fresh.load_state_dict(state)
    assert torch.equal(state_of(fresh), at_save)
    assert torch.equal(run_and_record(fresh), expected)
    for field in engine.capabilities.model_fields:
        assert torch.equal(fresh.model_field(field), engine.model_field(field)), field


def test_a_state_without_own_model_fields_takes_them_back(engine_name):
    engine = busy_engine(engine_name)
    needs(engine, "exact_state")
    state = engine.state_dict()
    expected = run_and_record(engine)
    randomise(engine)
    engine.load_state_dict(state)
    assert torch.equal(run_and_record(engine), expected)


def test_same_inputs_give_the_same_bits(engine_name):
    first, second = busy_engine(engine_name), busy_engine(engine_name)
    needs(first, "deterministic")
    for engine in (first, second):
        randomise(engine)
    assert torch.equal(run_and_record(first, 100), run_and_record(second, 100))


def test_engines_in_one_process_leave_each_other_alone(engine_name):
    alone = run_and_record(busy_engine("mujoco"))
    first, plain, second = busy_engine(engine_name), busy_engine("mujoco"), busy_engine(engine_name)
    needs(first, "deterministic")
    frames = {engine: [] for engine in (first, plain, second)}
    for _ in range(30):
        for engine in (first, plain, second):
            engine.step()
            frames[engine].append(state_of(engine).clone())
    assert torch.equal(torch.stack(frames[plain]), alone)
    assert torch.equal(torch.stack(frames[first]), torch.stack(frames[second]))


def test_an_engine_leaves_the_state_of_the_process_as_it_was(engine_name):
    def surroundings() -> tuple:
        return (
            random.getstate(),
            np.random.get_state()[1].tolist(),
            torch.get_rng_state().tolist(),
            (torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()),
            [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
            logging.getLogger().level,
            sys.excepthook,
        )

    before = surroundings()
    engine = busy_engine(engine_name)
    randomise(engine)
    engine.step(3)
    assert surroundings() == before


def test_the_number_of_threads_does_not_change_the_bits(engine_name):
    one, two = busy_engine(engine_name, threads=1), busy_engine(engine_name, threads=2)
    needs(one, "deterministic")
    for engine in (one, two):
        randomise(engine)
    assert torch.equal(run_and_record(one, 100), run_and_record(two, 100))


def break_control(engine: Engine) -> None:
    engine.ctrl[1, 0] = math.nan
    engine.ctrl[3, 1] = math.nan


def break_position(engine: Engine) -> None:
    qpos, qvel = engine.qpos[[1, 3]].clone(), engine.qvel[[1, 3]].clone()
    qpos[0, 0], qpos[1, 3] = math.nan, math.nan
    engine.set_state(ids(1, 3), qpos, qvel)


def break_velocity(engine: Engine) -> None:
    qpos, qvel = engine.qpos[[1, 3]].clone(), engine.qvel[[1, 3]].clone()
    qvel[0, 1], qvel[1, 5] = math.inf, math.nan
    engine.set_state(ids(1, 3), qpos, qvel)


breakages = pytest.mark.parametrize("break_worlds", [break_control, break_position, break_velocity])


@breakages
def test_exactly_the_broken_worlds_are_marked_as_failed(engine_name, break_worlds):
    engine = busy_engine(engine_name)
    engine.step(5)
    break_worlds(engine)
    engine.step(2)
    assert engine.failed.tolist() == [False, True, False, True]


@breakages
def test_failed_worlds_are_put_back_to_the_default_state(engine_name, break_worlds):
    engine = busy_engine(engine_name)
    engine.step(5)
    break_worlds(engine)
    engine.step(2)
    torch.testing.assert_close(engine.qpos[[1, 3]], engine.default_qpos.expand(2, -1))
    assert not engine.qvel[[1, 3]].any()
    assert engine.body_pos.isfinite().all()
    assert engine.body_ang_vel.isfinite().all()


@breakages
def test_a_failure_does_not_affect_other_worlds(engine_name, break_worlds, tolerance):
    engine, healthy = busy_engine(engine_name), busy_engine(engine_name)
    for e in (engine, healthy):
        e.step(5)
    break_worlds(engine)
    for e in (engine, healthy):
        e.step(2)
        e.ctrl[[1, 3]] = 0.0
        e.step(20)
    assert_same(state_of(engine)[[0, 2]], state_of(healthy)[[0, 2]], tolerance.unaffected)


@breakages
def test_a_failed_world_goes_on_as_a_fresh_one(engine_name, break_worlds, tolerance):
    engine, fresh = busy_engine(engine_name), make_engine(engine_name, busy_scene(), 4)
    engine.step(5)
    break_worlds(engine)
    engine.step(2)
    for e in (engine, fresh):
        e.ctrl[:] = 0.1
        e.step(10)
    assert not engine.failed.any()
    assert_same(state_of(engine)[[1, 3]], state_of(fresh)[[1, 3]], tolerance.unaffected)


# Rays, frames, capabilities -------------------------------------------------------------------------------------------


def test_a_ray_finds_the_distance_to_the_ground_and_minus_one_for_a_miss(engine_name):
    engine = make_engine(engine_name, box_scene(), 2)
    needs(engine, "rays")
    origins = torch.tensor([[5.0, 5.0, 2.0], [5.0, 5.0, 2.0], [5.0, 5.0, 3.0]]).expand(2, 3, 3)
    slanted = torch.tensor([0.6, 0.0, -0.8])
    directions = torch.stack((torch.tensor([0.0, 0.0, -1.0]), torch.tensor([0.0, 0.0, 1.0]), slanted)).expand(2, 3, 3)
    expected = torch.tensor([2.0, -1.0, 3.75]).expand(2, 3)
    distance = engine.ray(origins, directions)
    assert distance.dtype == torch.float32
    torch.testing.assert_close(distance, expected, atol=1e-4, rtol=0)


def test_a_ray_sees_each_world_as_its_state_is_now(engine_name):
    engine = make_engine(engine_name, box_scene(), 2)
    needs(engine, "rays")
    qpos = engine.qpos[[1]].clone()
    qpos[:, :3] = torch.tensor([0.0, 0.0, 1.0])
    engine.set_state(ids(1), qpos, torch.zeros(1, 6))
    down = torch.tensor([0.0, 0.0, -1.0]).expand(2, 1, 3)
    distance = engine.ray(torch.tensor([0.0, 0.0, 3.0]).expand(2, 1, 3), down)
    torch.testing.assert_close(distance[:, 0], torch.tensor([3.0 - 2 * BOX_HALF, 2.0 - BOX_HALF]), atol=1e-4, rtol=0)


def test_render_gives_a_picture_of_the_world_asked_for(engine_name):
    engine = make_engine(engine_name, arm_scene(), 2)
    engine.set_state(ids(1), torch.tensor([[0.5, 1.0]]), torch.zeros(1, 2))
    frames = [engine.render(world, None, 64, 48) for world in (0, 1)]
    engine.close()
    for frame in frames:
        assert frame.shape == (48, 64, 3)
        assert frame.dtype == np.uint8
        assert frame.max() > 50
    assert not np.array_equal(frames[0], frames[1])


def test_a_marker_is_shown_where_it_was_put_in_each_world(engine_name):
    engine = make_engine(engine_name, panda_scene(), 2)
    places = torch.tensor([[0.5, 0.0, 0.5], [0.5, 0.3, 0.2]])
    site = engine.model.site("goal/mark").id
    engine.markers[site] = places
    for world in range(2):
        np.testing.assert_allclose(engine.world_data(world).site_xpos[site], places[world])


def test_a_device_the_engine_does_not_run_on_is_a_users_error(engine_name):
    with pytest.raises(UserError, match=rf"'{engine_name}'.*abacus"):
        make_engine(engine_name, arm_scene(), 1, device="abacus")


def test_an_unknown_engine_is_a_users_error_with_the_nearest_name():
    with pytest.raises(UserError, match="did you mean 'mujoco'"):
        make_engine("mujocco", arm_scene(), 1)


def test_asking_for_a_missing_capability_names_the_engine_the_capability_and_who_asked(engine_name):
    engine = make_engine(engine_name, arm_scene(), 1)
    with pytest.raises(UserError, match=rf"'{engine_name}'.*'levitation'.*reward term 'float'"):
        engine.require("levitation", "reward term 'float'")


def test_the_promised_capabilities_are_those_of_the_contract(engine_name):
    capabilities = load(ENGINES[engine_name].target).capabilities
    assert capabilities.devices
    assert capabilities.model_fields <= set(MODEL_FIELDS)


def test_an_unknown_contact_sensor_is_an_error_with_the_nearest_name(engine_name):
    engine = make_engine(engine_name, busy_scene(), 1)
    with pytest.raises(UserError, match="box"):
        engine.contact("bux")
