"""Motion against analytic solutions and plain MuJoCo."""

import itertools
import math

import mujoco
import numpy as np
import pytest
import torch

from genelab.engines import make_engine
from genelab.engines.description import describe_model, differences
from worlds import (
    GRAVITY,
    KD,
    KP,
    LINK_INERTIA,
    LINK_LENGTH,
    LINK_MASS,
    arm_scene,
    assert_same,
    box_scene,
    busy_engine,
    every,
    ids,
    machine_scene,
    panda_scene,
    pendulum_scene,
    state_of,
)


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


def test_several_steps_at_once_are_the_same_as_one_by_one(engine_name, tolerance):
    at_once, one_by_one = busy_engine(engine_name), busy_engine(engine_name)
    at_once.step(12)
    for _ in range(12):
        one_by_one.step()
    assert_same(state_of(at_once), state_of(one_by_one), tolerance.unaffected)


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
