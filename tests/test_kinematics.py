"""Torch kinematics against MuJoCo's own, on random trees."""

import mujoco
import numpy as np
import pytest
import torch

from genelab.engines.kinematics import Kinematics

HINGE, SLIDE, BALL, FREE = (
    mujoco.mjtJoint.mjJNT_HINGE,
    mujoco.mjtJoint.mjJNT_SLIDE,
    mujoco.mjtJoint.mjJNT_BALL,
    mujoco.mjtJoint.mjJNT_FREE,
)
JOINT_SETS = (
    (),
    (HINGE,),
    (SLIDE,),
    (BALL,),
    (HINGE, HINGE),
    (HINGE, SLIDE),
    (SLIDE, HINGE),
    (SLIDE, BALL),
    (HINGE, BALL),
    (HINGE, SLIDE, HINGE),
    (SLIDE, SLIDE, HINGE, HINGE),
)
WORLDS = 3
ATOL = 2e-5
"""Float32 rounding through eight bodies of about a metre."""


def random_tree(seed: int, bodies: int = 8) -> mujoco.MjModel:
    """Bodies at random offsets with random joints; every third root body floats."""
    rng = np.random.default_rng(seed)
    spec = mujoco.MjSpec()
    made = [spec.worldbody]
    for i in range(bodies):
        parent = made[rng.integers(len(made))]
        body = parent.add_body(name=f"b{i}", pos=rng.uniform(-0.5, 0.5, 3), quat=random_quat(rng))
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], pos=rng.uniform(-0.1, 0.1, 3))
        if parent is spec.worldbody and rng.random() < 0.3:
            body.add_freejoint()
        else:
            add_joints(body, JOINT_SETS[rng.integers(len(JOINT_SETS))], rng)
        made.append(body)
    return spec.compile()


def add_joints(body, types, rng) -> None:
    for joint_type in types:
        joint = body.add_joint(type=joint_type, pos=rng.uniform(-0.2, 0.2, 3))
        if joint_type in (HINGE, SLIDE):
            axis = rng.normal(size=3)
            joint.axis, joint.ref = axis / np.linalg.norm(axis), rng.uniform(-0.3, 0.3)


def random_quat(rng: np.random.Generator) -> np.ndarray:
    quat = rng.normal(size=4)
    return quat / np.linalg.norm(quat)


def random_state(model: mujoco.MjModel, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 1000)
    qpos = rng.uniform(-1.5, 1.5, (WORLDS, model.nq))
    for joint in range(model.njnt):
        adr = model.jnt_qposadr[joint] + (3 if model.jnt_type[joint] == FREE.value else 0)
        if model.jnt_type[joint] in (FREE.value, BALL.value):
            for world in range(WORLDS):
                qpos[world, adr : adr + 4] = random_quat(rng)
    return qpos.astype(np.float32), rng.uniform(-2, 2, (WORLDS, model.nv)).astype(np.float32)


def mujoco_bodies(model: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, np.ndarray]:
    """Body frames and velocities by mj_forward, one world after the other."""
    data = mujoco.MjData(model)
    out = {name: np.zeros((WORLDS, model.nbody, size)) for name, size in BODY_ARRAYS.items()}
    for world in range(WORLDS):
        data.qpos[:], data.qvel[:] = qpos[world], qvel[world]
        mujoco.mj_forward(model, data)
        out["pos"][world], out["quat"][world] = data.xpos, data.xquat
        for body in range(model.nbody):
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            out["ang_vel"][world, body], out["lin_vel"][world, body] = velocity[:3], velocity[3:]
    return out


BODY_ARRAYS = {"pos": 3, "quat": 4, "lin_vel": 3, "ang_vel": 3}


@pytest.mark.parametrize("array", BODY_ARRAYS)
@pytest.mark.parametrize("seed", range(25))
def test_random_trees_agree_with_mujoco(seed, array):
    model = random_tree(seed)
    qpos, qvel = random_state(model, seed)
    expected = mujoco_bodies(model, qpos, qvel)[array]
    got = getattr(Kinematics(model)(torch.from_numpy(qpos), torch.from_numpy(qvel)), array).numpy()
    if array == "quat":  # q and -q are the same rotation
        got = got * np.sign((got * expected).sum(axis=-1, keepdims=True))
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(got, expected, atol=ATOL * scale, rtol=0)


def test_the_random_trees_have_every_kind_of_joint():
    types = {int(t) for seed in range(25) for t in random_tree(seed).jnt_type}
    assert types == {t.value for t in (HINGE, SLIDE, BALL, FREE)}


def planar_mechanism(second_axis=(0.0, 1.0, 0.0)) -> mujoco.MjModel:
    """A cart with a fixed, tilted mount and two hinges; planar if the second axis is parallel to the first."""
    spec = mujoco.MjSpec()
    cart = spec.worldbody.add_body(name="cart", pos=[0, 0, 0.3])
    cart.add_joint(type=SLIDE, axis=[1, 0, 0])
    mount = cart.add_body(name="mount", pos=[0, 0, 0.1], quat=[0.8, 0.0, 0.6, 0.0])
    lower = mount.add_body(name="lower", pos=[0, 0, 0.1])
    lower.add_joint(type=HINGE, axis=[0, 1, 0], pos=[0, 0, 0.05])
    upper = lower.add_body(name="upper", pos=[0, 0, 0.5])
    upper.add_joint(type=HINGE, axis=list(second_axis))
    for body in (cart, mount, lower, upper):
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0])
    return spec.compile()


def test_planar_mechanisms_have_a_constant_angular_map_equal_to_the_full_computation():
    model = planar_mechanism()
    kinematics = Kinematics(model)
    qpos, qvel = (torch.from_numpy(x) for x in random_state(model, 0))
    shortcut = kinematics.angular_velocity(qvel)
    assert shortcut is not None
    torch.testing.assert_close(shortcut, kinematics(qpos, qvel).ang_vel, atol=1e-5, rtol=0)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_mechanisms_whose_axes_turn_have_no_constant_angular_map(axis):
    model = planar_mechanism(second_axis=axis)
    assert Kinematics(model).angular_velocity(torch.zeros(1, model.nv)) is None


@pytest.mark.parametrize("joint_type", [BALL, FREE])
def test_free_and_ball_joints_have_no_constant_angular_map(joint_type):
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="b")
    body.add_joint(type=joint_type)
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0])
    model = spec.compile()
    assert Kinematics(model).angular_velocity(torch.zeros(1, model.nv)) is None


def test_branches_with_different_axes_keep_a_constant_angular_map():
    spec = mujoco.MjSpec()
    for name, axis in (("a", [1, 0, 0]), ("b", [0, 1, 0])):
        body = spec.worldbody.add_body(name=name)
        body.add_joint(type=HINGE, axis=axis)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0])
    ang_vel = Kinematics(spec.compile()).angular_velocity(torch.tensor([[2.0, 3.0]]))
    assert ang_vel is not None
    torch.testing.assert_close(ang_vel[0], torch.tensor([[0.0, 0, 0], [2.0, 0, 0], [0.0, 3.0, 0]]), atol=1e-6, rtol=0)
