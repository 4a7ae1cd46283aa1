"""Names, shapes and order of the arrays, capabilities, rays, pictures: what every engine has in common."""

import math

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.registry import load
from genelab.engines import ENGINES, make_engine
from genelab.engines.base import Engine
from genelab.engines.description import describe_model, differences
from genelab.engines.fields import MODEL_FIELDS
from worlds import BOX_HALF, arm_scene, box_scene, busy_scene, ids, machine_scene, needs, panda_scene


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
    assert engine.contact("box").shape == (3, 1, 3)
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
        if name == "option_value":  # no engine but MuJoCo has all of these; test_options.py knows which
            continue
        values = np.asarray(getattr(found, name))
        kept = moving if name.startswith("body_") else solid if name.startswith("geom_") else ...
        assert not np.isnan(values[kept]).any(), name


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


def test_a_ray_goes_through_the_body_that_it_is_to_ignore(engine_name):
    engine = make_engine(engine_name, box_scene(), 2)
    needs(engine, "rays")
    down, above = torch.tensor([0.0, 0.0, -1.0]).expand(2, 1, 3), torch.tensor([0.0, 0.0, 3.0]).expand(2, 1, 3)
    distance = engine.ray(above, down, exclude_body=engine.model.body("box/box").id)
    torch.testing.assert_close(distance, torch.full((2, 1), 3.0), atol=1e-4, rtol=0)


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
