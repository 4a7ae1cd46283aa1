"""Model fields that each world has for itself."""

import math

import mujoco
import numpy as np
import pytest
import torch

from genelab.core.errors import UserError
from genelab.engines import make_engine
from genelab.engines.capabilities import CAPABILITIES, MODEL_FIELDS
from worlds import (
    BOX,
    CHANGES,
    GRAVITY,
    KD,
    KP,
    arm_scene,
    assert_same,
    busy_engine,
    busy_scene,
    every,
    ids,
    state_of,
    supported,
)


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
    factors = torch.tensor([1.0, 1.0] if field == "cone" else [1.1, 1.2]).view(2, *[1] * (default.dim() - 1))
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
        "geom_solref": model.geom_solref,
        "geom_solimp": model.geom_solimp,
        "joint_damping": model.dof_damping,
        "joint_armature": model.dof_armature,
        "joint_friction": model.dof_frictionloss,
        "actuator_kp": np.full(2, KP),
        "actuator_kd": np.full(2, KD),
        "gravity": np.array([0, 0, -GRAVITY]),
        "cone": np.array(model.opt.cone),
        "impratio": np.array(model.opt.impratio),
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


def test_a_world_with_other_contacts_moves_as_a_model_compiled_with_them(engine_name, tolerance):
    contacts = ("geom_solref", "geom_solimp", "cone", "impratio")
    fields = [field for field in contacts if field in CAPABILITIES[engine_name].model_fields]
    engine, other = busy_engine(engine_name, 2), busy_scene().model
    for field in fields:
        changed = CHANGES[field](engine.model_field(field))[[1]]
        engine.set_model_field(field, ids(1), changed)
        if field.startswith("geom_"):
            getattr(other, field)[:] = changed[0].numpy()
        else:
            setattr(other.opt, field, int(changed.item()))
    data = mujoco.MjData(other)
    data.qpos[:], data.qvel[:] = engine.qpos[1].numpy(), engine.qvel[1].numpy()
    data.ctrl[:] = engine.ctrl[1].double().numpy()
    engine.step(60)
    mujoco.mj_step(other, data, 60)
    np.testing.assert_allclose(engine.qpos[1].numpy(), data.qpos, atol=10 * tolerance.trajectory)


def test_a_model_field_that_an_engine_lacks_is_an_error_that_names_both(engine_name):
    engine = make_engine(engine_name, arm_scene(), 1)
    for field in set(MODEL_FIELDS) - engine.capabilities.model_fields:
        for call in (engine.model_field, lambda name: engine.set_model_field(name, ids(0), torch.zeros(1, 1))):
            with pytest.raises(UserError, match=f"engine '{engine_name}' cannot do '{field}'"):
                call(field)


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


def test_a_model_field_needs_one_row_for_each_world(engine_name):
    engine = make_engine(engine_name, arm_scene(), 3)
    mass = engine.model_field("body_mass")
    for worlds in (ids(0, 1), ids(0, 0, 1)):
        with pytest.raises(UserError, match="3 rows for 2 different worlds"):
            engine.set_model_field("body_mass", worlds, mass)
