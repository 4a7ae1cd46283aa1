"""The compiled scene: pendulum numbers, names, default poses and contact sensors."""

from typing import Any

import mujoco
import numpy as np
import pytest

from genelab.core.errors import UserError
from genelab.scene.robots.cartpole import double_pole, single_pole
from genelab.scene.robots.go1 import go1
from genelab.scene.scene import EntityCfg, GroundCfg, Scene, SceneCfg
from genelab.scene.sensors import ContactSensorCfg
from genelab.scene.terrain import TerrainCfg

POLES = {
    "single": {
        "cfg": single_pole,
        "cart": (0.15, 0.10, 0.05),
        "poles": {"pole": (0.025, 0.80, 0.1, 1.2)},
        "gains": (80.0, 8.0),
    },
    "double": {
        "cfg": double_pole,
        "cart": (0.17, 0.11, 0.05),
        "poles": {"pole": (0.023, 0.55, 0.1, 1.2), "pole_2": (0.020, 0.45, 0.08, 1.5)},
        "gains": (100.0, 10.0),
    },
}
"""Radius, length, mass and range of each pole, as published."""


def compile_scene(robot: EntityCfg, **scene) -> Scene:
    return Scene(SceneCfg(robots={"robot": robot}, **scene), dt=0.005)


@pytest.fixture(params=POLES)
def published(request):
    return POLES[request.param]


@pytest.fixture
def model(published) -> mujoco.MjModel:
    return compile_scene(published["cfg"](), ground=GroundCfg(collide=False)).drawn


def hinges(published) -> dict[str, str]:
    return {pole: pole.replace("pole", "hinge") for pole in published["poles"]}


def test_cart_is_a_one_kilogram_box_of_the_published_size(model, published):
    cart = model.geom("robot/cart")
    assert model.geom_type[cart.id] == mujoco.mjtGeom.mjGEOM_BOX.value
    np.testing.assert_allclose(cart.size, published["cart"])
    np.testing.assert_allclose(model.body("robot/cart").mass, 1.0)


def test_cart_stands_at_the_published_height(model):
    np.testing.assert_allclose(model.body("robot/cart").pos, [0, 0, 0.12])


def test_cart_slides_along_x_within_three_metres_with_the_published_damping(model):
    slide = model.joint("robot/slide")
    assert model.jnt_type[slide.id] == mujoco.mjtJoint.mjJNT_SLIDE.value
    np.testing.assert_allclose(slide.axis, [1, 0, 0])
    np.testing.assert_allclose(slide.range, [-3, 3])
    assert model.jnt_limited[slide.id]
    np.testing.assert_allclose(slide.damping[0], 0.05)


def test_poles_are_capsules_of_the_published_radius_length_and_mass(model, published):
    for name, (radius, length, mass, _) in published["poles"].items():
        geom = model.geom(f"robot/{name}")
        assert model.geom_type[geom.id] == mujoco.mjtGeom.mjGEOM_CAPSULE.value
        np.testing.assert_allclose(geom.size[:2], [radius, length / 2])
        np.testing.assert_allclose(model.body(f"robot/{name}").mass, mass)


def test_poles_turn_about_y_within_the_published_range_and_damping(model, published):
    for pole, hinge in hinges(published).items():
        joint = model.joint(f"robot/{hinge}")
        limit = published["poles"][pole][3]
        assert model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_HINGE.value
        np.testing.assert_allclose(joint.axis, [0, 1, 0])
        np.testing.assert_allclose(joint.range, [-limit, limit])
        assert model.jnt_limited[joint.id]
        np.testing.assert_allclose(joint.damping[0], 0.002)


def test_poles_stand_on_top_of_each_other(model, published):
    height = 0.05
    for name, (_, length, _, _) in published["poles"].items():
        np.testing.assert_allclose(model.body(f"robot/{name}").pos, [0, 0, height])
        np.testing.assert_allclose(model.geom(f"robot/{name}").pos, [0, 0, length / 2], atol=1e-12)
        height = length


def test_cart_is_driven_by_a_position_servo_with_the_published_gains(model, published):
    kp, kd = published["gains"]
    assert model.nu == 1
    assert model.actuator_trnid[0, 0] == model.joint("robot/slide").id
    np.testing.assert_allclose(model.actuator_gainprm[0, 0], kp)
    np.testing.assert_allclose(model.actuator_biasprm[0, :3], [0, -kp, -kd])


def test_nothing_in_a_pendulum_world_can_collide(model):
    pairs = [(a, b) for a in range(model.ngeom) for b in range(model.ngeom) if a != b]
    assert not any(model.geom_contype[a] & model.geom_conaffinity[b] for a, b in pairs)


def test_the_time_step_is_the_one_asked_for(model):
    assert model.opt.timestep == 0.005


def test_the_compiled_default_state_is_upright_at_the_centre(published):
    assert not compile_scene(published["cfg"]()).default_qpos.any()


def test_names_of_an_entity_are_prefixed_with_its_name():
    scene = Scene(SceneCfg(robots={"left": single_pole(), "right": single_pole()}), dt=0.005)
    names = [scene.model.joint(i).name for i in range(scene.model.njnt)]
    assert names == ["left/slide", "left/hinge", "right/slide", "right/hinge"]
    assert scene.entities["right"].joint_names == ("slide", "hinge")
    assert scene.entities["right"].actuated_joints == ("slide",)
    assert scene.entities["right"].qpos_ids.tolist() == [2, 3]


def test_an_entity_stands_where_its_config_says():
    robot = single_pole()
    robot.pos = (1.0, 2.0, 3.0)
    scene = compile_scene(robot)
    data = mujoco.MjData(scene.model)
    mujoco.mj_kinematics(scene.model, data)
    np.testing.assert_allclose(data.body("robot/cart").xpos, [1.0, 2.0, 3.12])


def test_joint_pos_sets_the_default_pose_by_name():
    robot = single_pole()
    robot.joint_pos = {"hinge": 0.3}
    np.testing.assert_allclose(compile_scene(robot).default_qpos, [0.0, 0.3])


def test_an_unknown_joint_in_joint_pos_is_an_error_with_the_nearest_name():
    robot = single_pole()
    robot.joint_pos = {"hing": 0.3}
    with pytest.raises(UserError, match=r"'hing'.*did you mean 'hinge'"):
        compile_scene(robot)


def test_a_wrong_model_parameter_is_an_error_that_names_the_entity():
    robot = single_pole()
    robot.params["wheels"] = 4
    with pytest.raises(UserError, match=r"'robot'.*wheels"):
        compile_scene(robot)


def ball() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball", pos=[0, 0, 0.1])
    body.add_freejoint(name="root")
    body.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], mass=1.0)
    return spec


def test_a_free_root_joint_is_located_apart_from_the_other_joints():
    scene = Scene(SceneCfg(robots={"robot": single_pole()}, objects={"ball": EntityCfg(model=ball)}), dt=0.005)
    entity = scene.entities["ball"]
    assert entity.joint_names == ()
    assert (entity.free_qpos, entity.free_qvel) == (2, 2)
    assert scene.entities["robot"].free_qpos is None


def test_a_contact_sensor_is_three_numbers_of_the_sensor_data():
    cfg = SceneCfg(
        objects={"ball": EntityCfg(model=ball)},
        sensors={
            "any": ContactSensorCfg(sides=("ball/ball",)),
            "geom": ContactSensorCfg(sides=("ball/ball",), kind="geom"),
        },
    )
    scene = Scene(cfg, dt=0.005)
    assert scene.contact_columns == {"any": slice(0, 3), "geom": slice(3, 6)}


def test_a_contact_sensor_on_something_that_is_not_there_is_an_error_that_names_it():
    cfg = SceneCfg(objects={"ball": EntityCfg(model=ball)}, sensors={"touch": ContactSensorCfg(sides=("ball/cube",))})
    with pytest.raises(UserError, match="cube"):
        Scene(cfg, dt=0.005)


def test_the_ground_collides_only_if_asked_to():
    with_ground = Scene(SceneCfg(ground=GroundCfg(collide=True, friction=0.7)), dt=0.005).model
    without = Scene(SceneCfg(ground=GroundCfg(collide=False)), dt=0.005).drawn
    assert with_ground.geom("ground").contype[0] == 1
    assert with_ground.geom("ground").friction[0] == pytest.approx(0.7)
    assert without.geom("ground").contype[0] == without.geom("ground").conaffinity[0] == 0


def test_without_a_ground_there_is_none_and_cameras_are_set_up_as_the_model_says():
    def model() -> mujoco.MjSpec:
        return mujoco.MjSpec.from_string(
            """<mujoco><statistic extent="2"/><worldbody><geom name="floor" type="plane" size="250 1 1"/>
            <body><joint/><geom size=".1"/></body></worldbody></mujoco>"""
        )

    scene = compile_scene(EntityCfg(model=model), ground=None)
    assert (scene.drawn.ngeom, scene.drawn.geom(0).name) == (2, "robot/floor")
    assert scene.drawn.stat.extent == 2.0


def test_a_terrain_needs_a_ground():
    with pytest.raises(UserError, match="ground is none"):
        SceneCfg(ground=None, terrain=TerrainCfg()).validate()


def test_shapes_that_touch_nothing_are_drawn_and_not_simulated_and_the_motion_keeps_its_bits():
    scene = compile_scene(go1(), ground=GroundCfg())
    solid = (scene.drawn.geom_contype | scene.drawn.geom_conaffinity) != 0
    names = [scene.drawn.geom(i).name for i in np.flatnonzero(solid)]
    assert [scene.model.geom(i).name for i in range(scene.model.ngeom)] == names
    assert scene.drawn.ngeom > 2 * scene.model.ngeom
    ends = []
    for model in (scene.model, scene.drawn):
        data: Any = mujoco.MjData(model)
        data.qpos[:] = scene.default_qpos
        mujoco.mj_step(model, data, 200)
        assert data.ncon > 0
        ends.append(data.qpos.copy())
    np.testing.assert_array_equal(*ends)
