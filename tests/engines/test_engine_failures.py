"""Worlds that break: they are marked, put back and leave the others alone."""

import math

import pytest
import torch

from genelab.engines import make_engine
from genelab.engines.base import Engine
from worlds import assert_same, busy_engine, busy_scene, ids, state_of


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
