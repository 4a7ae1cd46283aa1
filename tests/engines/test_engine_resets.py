"""Resets and states that are set touch their own worlds only."""

import torch

from genelab.engines import make_engine
from worlds import assert_same, busy_engine, busy_scene, ids, state_of


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
