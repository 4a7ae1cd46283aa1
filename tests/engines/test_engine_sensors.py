"""Sensors of a model, such as an IMU."""

import mujoco
import numpy as np
import pytest
import torch

from genelab.core.errors import UserError
from genelab.engines import make_engine
from genelab.engines.base import Engine
from worlds import GRAVITY, LINK_LENGTH, every, ids, imu_scene, needs, run_and_record

ANGLE = 0.5


def swinging(engine_name: str) -> Engine:
    engine = make_engine(engine_name, imu_scene(), 3)
    engine.set_state(every(engine), torch.full((3, 1), ANGLE), torch.full((3, 1), 2.0))
    return engine


def test_a_sensor_shows_what_mujoco_shows(engine_name):
    engine = swinging(engine_name)
    needs(engine, "model_sensors")
    data = mujoco.MjData(engine.model)
    data.qpos[:], data.qvel[:] = ANGLE, 2.0
    engine.step(5)
    mujoco.mj_step(engine.model, data, 5)
    for name in ("gyro", "accelerometer", "angle"):
        found = engine.model_sensor(f"robot/{name}")
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found[1], data.sensor(f"robot/{name}").data, atol=1e-4)


def test_a_sensor_sees_a_state_that_was_set_at_once_and_only_there(engine_name):
    engine = swinging(engine_name)
    needs(engine, "model_sensors")
    engine.step(5)
    before = engine.model_sensor("robot/angle")
    engine.set_state(ids(1), torch.zeros(1, 1), torch.full((1, 1), 3.0))
    found = engine.model_sensor("robot/angle")
    assert found[1] == 0.0
    assert torch.equal(found[[0, 2]], before[[0, 2]])
    assert engine.model_sensor("robot/gyro")[1, 1].item() == pytest.approx(3.0)
    still = GRAVITY + LINK_LENGTH * 3.0**2  # towards the hinge, on a circle
    assert engine.model_sensor("robot/accelerometer")[1, 2].item() == pytest.approx(still, rel=1e-4)
    engine.reset(every(engine))
    assert not engine.model_sensor("robot/angle").any()


def test_reading_a_sensor_changes_nothing(engine_name):
    engine, unread = swinging(engine_name), swinging(engine_name)
    needs(engine, "model_sensors")
    for e in (engine, unread):
        e.step(3)
        e.set_state(ids(0), torch.full((1, 1), -0.3), torch.zeros(1, 1))
    engine.model_sensor("robot/accelerometer")[:] = 99.0
    assert engine.model_sensor("robot/accelerometer").max() < 99.0
    assert torch.equal(run_and_record(engine), run_and_record(unread))


def test_an_engine_without_sensors_of_the_model_says_so(engine_name):
    engine = swinging(engine_name)
    if engine.capabilities.model_sensors:
        with pytest.raises(UserError, match="did you mean 'robot/gyro'"):
            engine.model_sensor("robot/giro")
    else:
        with pytest.raises(UserError, match=f"engine '{engine_name}' cannot do 'model_sensors'.*'robot/gyro'"):
            engine.model_sensor("robot/gyro")
