"""Shapes that fall, lie, press and pass through each other."""

import mujoco
import numpy as np
import pytest
import torch

from genelab.core.errors import UserError
from genelab.engines import make_engine
from genelab.engines.capabilities import CAPABILITIES
from genelab.scene.scene import EntityCfg, GroundCfg, Scene, SceneCfg
from genelab.scene.sensors import ContactSensorCfg
from worlds import BOX_HALF, BOX_MASS, GRAVITY, ball, box, busy_scene, every, ids, lone_shape, shapes, stairs, tower


def test_every_shape_falls_to_the_ground_and_lies_there(engine_name, tolerance):
    names = ("sphere", "capsule", "cylinder", "box")
    sensors = {name: ContactSensorCfg(sides=(f"shapes/{name}",)) for name in names}
    sensors["all"] = ContactSensorCfg(sides=tuple(f"shapes/{name}" for name in reversed(names)))
    scene = Scene(SceneCfg(objects={"shapes": EntityCfg(model=shapes)}, sensors=sensors), 0.005)
    engine = make_engine(engine_name, scene, 2)
    engine.step(400)
    heights = engine.body_pos[1, 1:, 2]
    torch.testing.assert_close(heights, torch.tensor([0.1, 0.1, 0.05, 0.1]), atol=tolerance.penetration, rtol=0)
    for name in names:
        force = engine.contact(name)[1, 0, 2].item()
        assert force == pytest.approx(BOX_MASS * GRAVITY, rel=5 * tolerance.contact_force)
    each = [engine.contact(name)[:, 0] for name in reversed(names)]
    assert torch.equal(engine.contact("all"), torch.stack(each, dim=1))  # one sensor, its sides in order


def test_a_height_field_is_where_its_heights_are(engine_name, tolerance):
    objects = {"stairs": EntityCfg(model=stairs), "ball": EntityCfg(model=ball)}
    engine = make_engine(engine_name, Scene(SceneCfg(objects=objects, ground=GroundCfg(collide=False)), 0.005), 4)
    qpos = engine.qpos.clone()
    qpos[:, :3] = torch.tensor([[-1.0, -0.6, 0.5], [1.4, -0.6, 0.5], [-1.0, 0.6, 0.5], [1.4, 0.6, 0.5]])
    engine.set_state(every(engine), qpos, engine.qvel.clone())
    engine.step(300)
    expected = 0.05 + BOX_HALF + torch.tensor([0.0, 0.2, 0.1, 0.3])
    torch.testing.assert_close(engine.qpos[:, 2], expected, atol=2 * tolerance.penetration, rtol=0)


@pytest.mark.parametrize("shape", ["sphere", "capsule", "cylinder", "box"])
def test_a_height_field_carries_a_shape_or_the_engine_refuses_it(engine_name, shape, tolerance):
    objects = {"stairs": EntityCfg(model=stairs), "body": EntityCfg(model=lone_shape, params={"shape": shape})}
    scene = Scene(SceneCfg(objects=objects, ground=GroundCfg(collide=False)), 0.005)
    if shape not in CAPABILITIES[engine_name].on_height_fields:
        with pytest.raises(UserError, match=f"engine '{engine_name}' .* on height fields .* body/{shape}"):
            make_engine(engine_name, scene, 1)
        return
    engine = make_engine(engine_name, scene, 1)
    engine.step(400)
    lying = 0.05 + (0.05 if shape == "cylinder" else 0.1)
    assert engine.qpos[0, 2].item() == pytest.approx(lying, abs=2 * tolerance.penetration)


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
    force = engine.contact("box")[0, 0]
    assert force[2].item() == pytest.approx(weight, rel=tolerance.contact_force)
    assert force[:2].abs().max().item() < tolerance.contact_force * weight
    height = engine.body_pos[0, engine.model.body("box/box").id, 2].item()
    assert height == pytest.approx(BOX_HALF, abs=tolerance.penetration)
    assert engine.qvel[0, 2:].abs().max() < 1e-3


def test_the_two_sides_of_a_contact_feel_opposite_forces(engine_name, tolerance):
    sensors = {
        "box": ContactSensorCfg(sides=("box/box",), kind="geom", other="ground", other_kind="geom"),
        "ground": ContactSensorCfg(sides=("ground",), kind="geom", other="box/box", other_kind="geom"),
    }
    scene = Scene(SceneCfg(objects={"box": EntityCfg(model=box)}, sensors=sensors), 0.005)
    engine = make_engine(engine_name, scene, 1)
    engine.step(300)
    weight = BOX_MASS * GRAVITY
    assert engine.contact("box")[0, 0, 2].item() == pytest.approx(weight, rel=tolerance.contact_force)
    assert engine.contact("ground")[0, 0, 2].item() == pytest.approx(-weight, rel=tolerance.contact_force)


def test_a_body_in_the_air_feels_no_contact(engine_name):
    engine = make_engine(engine_name, busy_scene(), 1)
    qpos = engine.qpos.clone()
    qpos[:, 4] = 3.0
    engine.set_state(ids(0), qpos, engine.qvel.clone())
    engine.step(5)
    assert not engine.contact("box").any()
