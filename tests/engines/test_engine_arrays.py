"""Which arrays are live, which are copies, and when each is current."""

import pytest
import torch

from genelab.engines import make_engine
from worlds import arm_scene, busy_engine, busy_scene, every, ids, pendulum_scene


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


def test_what_readers_derive_is_computed_once_for_each_state(engine_name):
    engine = make_engine(engine_name, pendulum_scene(), 2)
    computed: list[float] = []

    def double() -> torch.Tensor:
        computed.append(engine.qpos[0, 0].item())
        return 2 * engine.qpos

    for change in (
        lambda: engine.set_state(ids(0), torch.tensor([[0.5]]), torch.zeros(1, 1)),
        engine.step,
        lambda: engine.reset(ids(1)),
        lambda: engine.load_state_dict(engine.state_dict()),
    ):
        change()
        done = len(computed)
        assert engine.derived("double", double) is engine.derived("double", double)
        assert len(computed) == done + 1
        assert computed[-1] == engine.qpos[0, 0].item()


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
