"""Equality constraints: bodies that hang together, joints that follow each other."""

import mujoco
import numpy as np
import pytest
import torch

from genelab.core.errors import UserError
from genelab.engines import make_engine
from genelab.scene.scene import EntityCfg, GroundCfg, Scene, SceneCfg
from worlds import ids

PARTS = """
<mujoco>
  <default><geom size=".05" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="a" pos="0 0 1"><freejoint name="a"/><geom/></body>
    <body name="b" pos=".3 0 1"><freejoint name="b"/><geom type="box" size=".05 .04 .03"/></body>
    <body name="c" pos="0 1 1"><joint name="c" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0"/></body>
    <body name="d" pos="0 2 1"><joint name="d" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0"/></body>
  </worldbody>
  <equality>{equality}</equality>
</mujoco>
"""


def parts(equality: str) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(PARTS.format(equality=equality))


def scene(equality: str) -> Scene:
    robot = EntityCfg(model=parts, params={"equality": equality})
    return Scene(SceneCfg(robots={"robot": robot}, ground=GroundCfg(collide=False)), 0.005)


@pytest.mark.parametrize(
    "equality",
    [
        '<connect body1="a" body2="b" anchor=".15 0 0"/>',
        '<weld body1="a" body2="b"/>',
        '<joint joint1="c" joint2="d" polycoef="0.1 1 0.5 0 0"/>',
    ],
)
def test_what_is_tied_together_moves_as_in_plain_mujoco(engine_name, tolerance, equality):
    tied = scene(equality)
    engine, data = make_engine(engine_name, tied, 1), mujoco.MjData(tied.model)
    data.qvel[:] = 0.3 * np.sin(np.arange(tied.model.nv))
    engine.set_state(ids(0), engine.qpos.clone(), torch.tensor(data.qvel[None]).float())
    for _ in range(20):
        engine.step(5)
        mujoco.mj_step(tied.model, data, 5)
    np.testing.assert_allclose(engine.qpos[0].numpy(), data.qpos, atol=5 * tolerance.trajectory)


def test_a_constraint_that_is_switched_off_ties_nothing_or_is_refused(engine_name, tolerance):
    loose = scene('<connect active="false" body1="a" body2="b" anchor=".15 0 0"/>')
    if engine_name == "genesis":
        with pytest.raises(UserError, match="no equality constraints that are switched off"):
            make_engine(engine_name, loose, 1)
        return
    engine = make_engine(engine_name, loose, 1)
    velocity = torch.zeros(1, loose.model.nv)
    velocity[0, 0] = 1.0
    engine.set_state(ids(0), engine.qpos.clone(), velocity)
    engine.step(20)
    assert engine.qpos[0, 0].item() == pytest.approx(0.1, abs=tolerance.free_fall)
    assert engine.qpos[0, 7].item() == pytest.approx(0.3, abs=tolerance.free_fall)
