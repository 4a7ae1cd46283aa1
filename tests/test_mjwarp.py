"""What is special to the mjwarp engine; what it shares with the others is in the conformance suite."""

import mujoco
import pytest
import torch

pytest.importorskip("mujoco_warp")

from genelab.core.errors import UserError
from genelab.engines import make_engine, mjwarp
from genelab.scene.scene import EntityCfg, Scene, SceneCfg

pytestmark = pytest.mark.xdist_group("mjwarp")  # where its kernels are compiled already


def box() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="box", pos=[0, 0, 0.1])
    body.add_freejoint(name="root")
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1] * 3, mass=2.0)
    return spec


def box_scene() -> Scene:
    return Scene(SceneCfg(objects={"box": EntityCfg(model=box)}), 0.005)


def test_a_world_with_more_contacts_than_there_is_memory_for_fails_and_says_why(monkeypatch, capsys):
    monkeypatch.setattr(mjwarp, "_MAX_CONTACTS", 2)  # for each of two worlds; a box on its face has four
    engine = make_engine("mjwarp", box_scene(), 2)
    engine.set_state(torch.tensor([0]), torch.tensor([[0, 0, 5.0, 1, 0, 0, 0]]), torch.zeros(1, 6))
    for _ in range(100):
        engine.step()
        if engine.failed.any():
            break
    assert engine.failed.any()
    assert "2 contacts" in capsys.readouterr().err
    torch.testing.assert_close(engine.qpos[engine.failed][0], engine.default_qpos)


def test_what_mujoco_warp_cannot_do_is_a_users_error_when_the_engine_is_built():
    scene = box_scene()
    scene.model.opt.solver = mujoco.mjtSolver.mjSOL_PGS.value
    with pytest.raises(UserError, match=r"'mjwarp'.*PGS"):
        make_engine("mjwarp", scene, 1)


def test_building_an_engine_is_silent_once_its_kernels_are_compiled(capfd):
    make_engine("mjwarp", box_scene(), 2)
    capfd.readouterr()
    make_engine("mjwarp", box_scene(), 2).step()
    assert capfd.readouterr() == ("", "")
