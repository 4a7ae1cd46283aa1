"""Options of the physics: from the models, from the config, and what engines make of them."""

import warnings

import mujoco
import numpy as np
import pytest
import torch
from mujoco.batch import Batch

from genelab.core.errors import UserError
from genelab.core.overrides import apply, validate
from genelab.engines import ENGINES, make_engine
from genelab.engines.description import describe_model, differences
from genelab.envs import SimulationCfg
from genelab.experiment.setup import resolve
from genelab.scene.options import PhysicsOptionsCfg
from genelab.scene.scene import Scene, SceneCfg
from user_models import entity

BALL = """
<mujoco>
  <option {option}>{flag}</option>
  <worldbody><body name="ball" pos="0 0 1"><freejoint name="root"/><geom size=".1"/></body></worldbody>
</mujoco>
"""
OPTIONS = 'gravity="0 0 -3" integrator="implicitfast" cone="elliptic" impratio="10" iterations="7" density="2"'


def scene(options: PhysicsOptionsCfg | None = None, **models: str) -> Scene:
    """Balls, each with its ``<option>``."""
    robots = {name: entity(BALL.format(option=option, flag="")) for name, option in models.items()}
    return Scene(SceneCfg(robots=robots), 0.005, options)


def test_a_models_own_options_are_taken_over_into_the_world():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # MuJoCo warns about options that it drops
        opt = scene(ball=OPTIONS).model.opt
    assert opt.gravity.tolist() == [0.0, 0.0, -3.0]
    assert opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    assert (opt.impratio, opt.iterations, opt.density) == (10.0, 7, 2.0)


def test_a_models_flags_are_taken_over_into_the_world():
    flag = '<flag contact="disable" energy="enable"/>'
    opt = Scene(SceneCfg(robots={"ball": entity(BALL.format(option="", flag=flag))}), 0.005).model.opt
    assert opt.disableflags == mujoco.mjtDisableBit.mjDSBL_CONTACT
    assert opt.enableflags == mujoco.mjtEnableBit.mjENBL_ENERGY


def test_the_time_step_is_the_simulations_whatever_a_model_says():
    assert scene(ball='timestep="0.02"').model.opt.timestep == 0.005


def test_models_that_say_the_same_or_nothing_agree():
    opt = scene(first='iterations="7"', second='iterations="7"', third="").model.opt
    assert opt.iterations == 7


def test_models_that_disagree_are_an_error_that_says_what_to_set():
    with pytest.raises(
        UserError, match=r"'a' and 'b' disagree on the option iterations \(7 and 9\).*env.simulation.iter"
    ):
        scene(a='iterations="7"', b='iterations="9"')
    with pytest.raises(UserError, match=r"integrator \(rk4 and implicit\): set env.simulation.integrator"):
        scene(a='integrator="RK4"', b='integrator="implicit"')


def test_the_config_decides_where_models_disagree_and_over_what_they_say():
    options = PhysicsOptionsCfg(iterations=11, cone="pyramidal", gravity=(0.0, 0.0, -1.0), solver="CG")
    opt = scene(options, a='iterations="7" cone="elliptic"', b='iterations="9"').model.opt
    assert opt.iterations == 11
    assert opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    assert opt.solver == mujoco.mjtSolver.mjSOL_CG
    assert opt.gravity.tolist() == [0.0, 0.0, -1.0]


def test_flags_are_switched_off_and_on_by_name():
    opt = scene(PhysicsOptionsCfg(disable=("gravity",), enable=("energy",)), ball="").model.opt
    assert opt.disableflags == mujoco.mjtDisableBit.mjDSBL_GRAVITY
    assert opt.enableflags == mujoco.mjtEnableBit.mjENBL_ENERGY
    disabled = entity(BALL.format(option="", flag='<flag contact="disable"/>'))
    opt = Scene(SceneCfg(robots={"ball": disabled}), 0.005, PhysicsOptionsCfg(enable=("contact",))).model.opt
    assert opt.disableflags == 0


def test_options_can_be_set_on_the_command_line():
    cfg = SimulationCfg()
    overrides = {"integrator": "RK4", "iterations": "7", "wind": "1,2,3", "disable": "contact,gravity", "density": "3"}
    apply({"simulation": cfg}, [(f"simulation.{name}", value) for name, value in overrides.items()])
    assert (cfg.integrator, cfg.iterations, cfg.wind, cfg.density) == ("RK4", 7, (1.0, 2.0, 3.0), 3.0)
    assert cfg.disable == ("contact", "gravity")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations must be at least 1"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"density": -1.0}, "density must be at least 0"),
        ({"disable": ("contacts",)}, "did you mean 'contact'"),
        ({"disable": ("contact",), "enable": ("contact",)}, "both name contact"),
    ],
)
def test_options_that_make_no_sense_are_users_errors(options, message):
    with pytest.raises(UserError, match=message):
        validate({"simulation": SimulationCfg(**options)})


def every_engine() -> list:
    installed = (name for name, info in ENGINES.items() if info.installed)
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in installed]


@pytest.mark.parametrize("name", every_engine())
def test_what_an_engine_says_of_its_options_is_what_it_was_given(name):
    options = PhysicsOptionsCfg(
        integrator="implicitfast",
        cone="elliptic",
        impratio=5.0,
        solver="CG",
        iterations=17,
        ls_iterations=13,
        tolerance=1e-4,
        ls_tolerance=0.02,
        noslip_tolerance=1e-4,
    )
    given = scene(options, ball="")
    found = make_engine(name, given, 2).describe()
    assert differences(describe_model(given.model), found) == []
    values = dict(zip(found.option_names, found.option_value, strict=True))
    assert values["iterations"] == 17
    assert values["tolerance"] == pytest.approx(1e-4)
    assert differences(describe_model(scene(ball="").model), found) == ["option_value"]


@pytest.mark.parametrize(
    ("name", "options", "lacking"),
    [
        ("mujoco", {"enable": ("sleep",)}, "sleep"),
        ("genesis", {"integrator": "RK4"}, "integrator mjINT_RK4"),
        ("genesis", {"solver": "PGS"}, "solver mjSOL_PGS"),
        ("genesis", {"density": 1.0}, "fluid forces"),
        ("genesis", {"disable": ("contact",)}, "solver flags contact"),
        ("genesis", {"ccd_iterations": 10}, "settings of convex collision detection"),
        ("mjwarp", {"solver": "PGS"}, "PGS"),
        ("mjwarp", {"disable": ("midphase",)}, "MIDPHASE"),
    ],
)
def test_an_engine_refuses_by_name_what_it_cannot_do(name, options, lacking):
    if not ENGINES[name].installed:
        pytest.skip(f"engine '{name}' is not installed")
    with pytest.raises(UserError, match=f"engine '{name}' cannot simulate this scene.*{lacking}"):
        make_engine(name, scene(PhysicsOptionsCfg(**options), ball=""), 1)


VELOCITY = [f"Genelab-Velocity-{name}-v0" for name in ("Flat-Unitree-Go1", "Flat-Unitree-G1", "Rough-Unitree-Go1")]
SEARCHES = mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_CONTACT


@pytest.mark.parametrize("task", [*VELOCITY, "GeneLab-Double-Inverted-Pendulum-v0"])
def test_robots_that_fall_move_bit_for_bit_as_with_searches_for_islands_and_contacts(task):
    cfg = resolve(task, preset="cpu").env_cfg
    robots = Scene(cfg.scene, cfg.simulation.dt, cfg.simulation)
    engine, plain = make_engine("mujoco", robots, 4, threads=1), Batch(robots.model, 4, 1)
    assert robots.model.ntree == 1
    assert not robots.model.opt.disableflags & SEARCHES
    assert (robots.model.ngeom == 0) == (task not in VELOCITY)
    generator = torch.Generator().manual_seed(1)
    engine.set_state(torch.arange(4), engine.qpos.clone(), torch.randn(engine.qvel.shape, generator=generator))
    plain.state[:] = engine.state_dict()["rows"].numpy()
    for _ in range(40):
        engine.ctrl.copy_(torch.randn(engine.ctrl.shape, generator=generator))
        plain.bind("ctrl")[:] = engine.ctrl.double().numpy()
        engine.step(5)
        plain.step(nstep=5)
    if task in VELOCITY:
        assert float(engine.qpos[:, 2].min()) < 0.3  # they lie on the ground, with contacts of all kinds
    assert np.array_equal(engine.state_dict()["rows"].numpy(), plain.state)
