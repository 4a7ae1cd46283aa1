"""Sim2sim: pairs stay pairs, a wrong model is caught or named, and the command says what it found."""

import contextlib
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from genelab import mdp
from genelab.cli.main import run as genelab_command
from genelab.core.files import read_json
from genelab.engines import ENGINES
from genelab.engines.description import Description, describe_model
from genelab.engines.mujoco import MujocoEngine
from genelab.envs import (
    CommandTermCfg,
    DoneTermCfg,
    EventTermCfg,
    ManagerBasedRlEnvCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SimulationCfg,
)
from genelab.experiment.paired import PairedEnv, make_env
from genelab.experiment.sim2sim import contract
from genelab.experiment.sim2sim.attribution import HALF_DT, MOVES, Behaviour, applicable, attribute, cost, moved
from genelab.experiment.sim2sim.closed_loop import Episodes, compare_episodes, run_episodes
from genelab.experiment.sim2sim.open_loop import make_scripts, part, replay
from genelab.experiment.sim2sim.page import gap_page
from genelab.mdp import JointPositionActionCfg, UniformCommandCfg, VelocityCommandCfg
from genelab.rl.backends.base import Policy
from genelab.rl.checkpoint import INFO_KEY
from genelab.scene.scene import EntityCfg, SceneCfg
from genelab.scene.sensors import ContactSensorCfg

TASK = "GeneLab-Inverted-Pendulum-v0"
SHORT = ("--env.episode_length_s", "0.5", "--episodes", "6")


class Moved(MujocoEngine):
    """MuJoCo with one model field scaled, and honest about it."""

    field, factor = "actuator_kp", 0.5

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        values = self.model_field(self.field)
        self.set_model_field(self.field, torch.arange(self.num_envs), values * self.factor)


class HalfGain(Moved):
    pass


class LowFriction(Moved):
    field, factor = "geom_friction", 0.4


class Silent(Moved):
    """The same, but it reports the model it was given."""

    def describe(self) -> Description:
        return describe_model(self.model)


class SilentHalfGain(Silent):
    pass


class SilentLowFriction(Silent):
    field, factor = "geom_friction", 0.4


class SilentHeavy(Silent):
    field, factor = "body_mass", 1.5


class Permuted(MujocoEngine):
    """Joints in another order."""

    def describe(self) -> Description:
        physics = super().describe()
        return dataclasses.replace(physics, joint_names=physics.joint_names[::-1])


class Crossed(MujocoEngine):
    """Its names are right, but every actuator gets the control of its neighbour."""

    def step(self, n: int = 1) -> None:
        asked = self.ctrl.clone()
        self.ctrl.copy_(asked.flip(1))
        super().step(n)
        self.ctrl.copy_(asked)


class Xyzw(MujocoEngine):
    """Hands quaternions back with the real part last."""

    def set_state(self, env_ids: Tensor, qpos: Tensor, qvel: Tensor) -> None:
        super().set_state(env_ids, qpos, qvel)
        self.qpos[env_ids, -4:] = self.qpos[env_ids, -4:].roll(-1, dims=1)


@pytest.fixture(autouse=True, scope="module")
def _engines() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for engine in (HalfGain, LowFriction, SilentHalfGain, SilentLowFriction, SilentHeavy, Permuted, Crossed, Xyzw):
            target = f"{engine.__module__}:{engine.__name__}"
            patch.setitem(ENGINES, engine.__name__, dataclasses.replace(ENGINES["mujoco"], target=target))
        yield


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What one run of the command printed and wrote."""

    printed: str
    record: dict[str, Any]
    page: str


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """MuJoCo and an engine that conceals its gain, with attribution and a matrix."""
    out, printed = tmp_path_factory.mktemp("compared"), io.StringIO()
    words = ("--engines", "mujoco,SilentHalfGain", "--attribute", "--matrix", "bundled", "--out", str(out))
    with contextlib.redirect_stdout(printed):
        assert genelab_command(["sim2sim", TASK, "bundled", *words, *SHORT]) == 0
    record = json.loads((out / "sim2sim.json").read_text())
    return Comparison(printed.getvalue(), record, (out / "sim2sim.html").read_text())


def block() -> mujoco.MjSpec:
    """A block on the ground that two servos push about: joints x, y and, loose, z."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="block", pos=[0, 0, 0.05])
    for name, axis in (("x", [1, 0, 0]), ("y", [0, 1, 0]), ("z", [0, 0, 1])):
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    body.add_geom(name="block", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.05, 0.05], mass=2.0)
    for name in ("x", "y"):
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=60.0, kv=20.0)
    return spec


def ball() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball", pos=[1, 1, 0.1])
    body.add_freejoint(name="free")
    body.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], mass=0.2)
    return spec


def sled() -> mujoco.MjSpec:
    """A box that lies on the ground, with a light arm on top."""
    spec = mujoco.MjSpec()
    base = spec.worldbody.add_body(name="base", pos=[0, 0, 0.05])
    base.add_freejoint(name="free")
    base.add_geom(name="base", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.2, 0.2, 0.05], mass=5.0)
    arm = base.add_body(name="arm", pos=[0, 0, 0.06])
    arm.add_joint(name="arm", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
    arm.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.01, 0, 0], fromto=[0, 0, 0, 0.1, 0, 0], mass=0.1)
    spec.add_actuator(name="arm", target="arm", trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=1.0, kv=0.1)
    return spec


def start_sliding(env: PairedEnv, env_ids: Tensor) -> None:
    qvel = env.engine.qvel[env_ids].clone()
    qvel[:, 0] = 2.0
    env.engine.set_state(env_ids, env.engine.qpos[env_ids].clone(), qvel)


def pushing(limit: float = 0.6) -> ManagerBasedRlEnvCfg:
    """Push the block to places that change; the episode ends beyond `limit`."""
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(
            robots={"robot": EntityCfg(model=block)},
            objects={"ball": EntityCfg(model=ball)},
            sensors={"sole": ContactSensorCfg(sides=("robot/block",), kind="geom")},
        ),
        simulation=SimulationCfg(dt=0.005),
        num_envs=6,
        decimation=2,
        episode_length_s=0.8,
        actions={"servo": JointPositionActionCfg(joints=("x", "y"))},
        commands={"place": UniformCommandCfg(low=(-0.6, -0.6), high=(0.6, 0.6), resampling_s=(0.2, 0.5))},
        observations={
            "policy": ObservationGroupCfg(
                terms={
                    "place": ObservationTermCfg(mdp.generated_command, params={"command": "place"}),
                    "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.01),
                },
                noise=True,
            )
        },
        rewards={
            "alive": RewardTermCfg(mdp.alive, weight=1.0),
            "x": RewardTermCfg(mdp.joint_pos_l2, weight=-1.0, params={"joints": "x"}),
        },
        terminations={
            "time_out": DoneTermCfg(mdp.time_out, time_out=True),
            "away": DoneTermCfg(mdp.joint_beyond, params={"joint": "x", "limit": limit}),
        },
        events={
            "jitter": EventTermCfg(mdp.jitter_joints, params={"pos": 0.0, "vel": 0.01}),
            "push": EventTermCfg(
                mdp.push_joint, mode="interval", interval_s=(0.1, 0.4), params={"joint": "x", "velocity": 0.5}
            ),
        },
    )


class GoThere(Policy):
    """Asks for the place that is commanded, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        self.seen.append(obs["policy"][:, :2].clone())
        return obs["policy"][:, :2].clone()

    @property
    def module(self) -> nn.Module:
        raise NotImplementedError


class Wave(Policy):
    """Swings the arm."""

    def __init__(self) -> None:
        self._step = 0

    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        self._step += 1
        return torch.full((obs["policy"].shape[0], 1), float(np.sin(0.3 * self._step)))

    @property
    def module(self) -> nn.Module:
        raise NotImplementedError


def episodes_in(engine: str, cfg: ManagerBasedRlEnvCfg | None = None, seed: int = 0) -> tuple[Episodes, GoThere]:
    env, policy = make_env(cfg or pushing(), engine, seed=0), GoThere()
    return run_episodes(env, policy, seed, blocks=2), policy


def behaviour(env: PairedEnv, scripts: Any) -> Behaviour:
    return Behaviour({name: replay(env, script) for name, script in scripts.items()}, run_episodes(env, GoThere(), 0))


def differences(engine: str) -> list[contract.Difference]:
    ours, theirs = (contract.contract_of(make_env(pushing(), name, seed=0)) for name in ("mujoco", engine))
    return contract.differences(ours, theirs)


def test_the_contract_lists_options_of_the_physics_that_differ() -> None:
    other = pushing()
    other.simulation.iterations, other.simulation.integrator = 7, "implicitfast"
    ours, theirs = (contract.contract_of(make_env(cfg, "mujoco", seed=0)) for cfg in (pushing(), other))
    found = contract.differences(ours, theirs)
    assert [(d.field, d.name, d.expected, d.found) for d in found] == [
        ("option_value", "integrator", 0.0, 3.0),
        ("option_value", "iterations", 100.0, 7.0),
    ]
    assert not any(d.structural for d in found)


def test_commands_noise_and_pushes_are_the_same_even_after_one_engine_ended_an_episode_early() -> None:
    cfg = pushing(limit=0.15)
    ours, saw = episodes_in("mujoco", cfg)
    theirs, they_saw = episodes_in("SilentHeavy", cfg)
    assert ours.values["length"].tolist() != theirs.values["length"].tolist()
    assert ours.fallen.any()
    assert torch.equal(torch.stack(saw.seen), torch.stack(they_saw.seen))
    assert ours.schedule == theirs.schedule
    assert np.array_equal(ours.start, theirs.start)


def test_every_block_has_its_own_initial_states_and_every_seed_its_own_schedule() -> None:
    one, other = episodes_in("mujoco")[0], episodes_in("mujoco", seed=1)[0]
    assert not np.allclose(one.start[:6], one.start[6:])
    assert one.schedule != other.schedule


def test_only_the_first_episode_of_a_world_counts() -> None:
    episodes, _ = episodes_in("mujoco", pushing(limit=0.05))
    lengths = episodes.values["length"]
    assert np.median(lengths) < 40
    assert episodes.values["reward alive"] == pytest.approx(0.01 * lengths)


def test_an_engine_is_equivalent_to_itself() -> None:
    result = compare_episodes(episodes_in("mujoco")[0], episodes_in("mujoco")[0], margin=1e-6)
    assert result["verdict"] == "equivalent"
    assert {metric["difference"] for metric in result["metrics"].values()} == {0.0}
    assert {metric["p_holm"] for metric in result["metrics"].values()} == {1.0}


def test_a_gap_is_told_from_chance() -> None:
    ours, theirs = episodes_in("mujoco")[0], episodes_in("SilentHalfGain")[0]
    gap = abs(theirs.values["return"].mean() - ours.values["return"].mean())
    assert compare_episodes(ours, theirs, margin=0.1 * gap)["verdict"] == "gap"
    assert compare_episodes(ours, theirs, margin=10 * gap)["verdict"] == "equivalent"


def test_metrics_that_apply_are_measured_and_others_are_absent() -> None:
    values = episodes_in("mujoco")[0].values
    assert list(values)[:2] == ["length", "return"]
    assert ((values["sole duty factor"] > 0.1) & (values["sole duty factor"] < 1.0)).all()
    assert (values["sole touch-down force"] > 2.0 * 9.81).all()
    assert (values["sole slip"] > 0.01).all()
    assert (values["power"] > 0.0).all()
    assert not any("velocity error" in name or "base" in name for name in values)


def sledding(command: CommandTermCfg) -> ManagerBasedRlEnvCfg:
    """A sled that slides along, with something commanded."""
    cfg = pushing()
    cfg.scene = SceneCfg(robots={"robot": EntityCfg(model=sled)})
    cfg.actions = {"arm": JointPositionActionCfg(joints="arm")}
    cfg.commands = {"base_velocity": command}
    cfg.observations["policy"].terms = {"joint_vel": ObservationTermCfg(mdp.joint_vel)}
    cfg.rewards = {"alive": RewardTermCfg(mdp.alive, weight=1.0)}
    cfg.terminations = {"time_out": DoneTermCfg(mdp.time_out, time_out=True)}
    cfg.events = {"start": EventTermCfg(start_sliding)}
    return cfg


def test_a_free_base_has_posture_velocity_errors_and_a_cost_of_transport() -> None:
    ranges = {"lin_x": (0.5, 0.5), "lin_y": (0.0, 0.0), "ang_z": (0.2, 0.2)}
    command = VelocityCommandCfg(**ranges, standing_share=0.0, forward_share=0.0)
    env = make_env(sledding(command), "mujoco", seed=0)
    values = run_episodes(env, Wave(), 0).values
    assert values["base height"] == pytest.approx(np.full(6, 0.05), abs=0.005)
    assert (values["base tilt"] < 0.05).all()
    assert values["velocity error x"] == pytest.approx(np.full(6, 0.5), abs=0.2)
    assert values["velocity error y"] == pytest.approx(np.zeros(6), abs=0.05)
    assert values["velocity error yaw"] == pytest.approx(np.full(6, 0.2), abs=0.1)
    assert (values["cost of transport"] > 0.0).all()
    assert contract.contract_of(env).layout["quaternion order"] == "wxyz"


def test_a_command_that_is_only_called_a_velocity_has_no_velocity_error() -> None:
    command = UniformCommandCfg(low=(0.5, 0.0, 0.2), high=(0.5, 0.0, 0.2))
    values = run_episodes(make_env(sledding(command), "mujoco", seed=0), Wave(), 0).values
    assert not any("velocity error" in name for name in values)


def test_the_contract_of_one_engine_twice_has_no_differences() -> None:
    assert differences("mujoco") == []


@pytest.mark.parametrize(
    ("engine", "field", "name"),
    [("Permuted", "joint_names", ""), ("Crossed", "actuated joint", "robot/x"), ("Xyzw", "quaternion order", "")],
)
def test_another_structure_is_structural(engine: str, field: str, name: str) -> None:
    first = differences(engine)[0]
    assert (first.structural, first.owner, first.field, first.name) == (True, engine, field, name)


@pytest.mark.parametrize(
    ("engine", "field", "name", "expected", "found"),
    [
        ("HalfGain", "actuator_kp", "robot/x", 60.0, 30.0),
        ("LowFriction", "geom_friction", "robot/block", 1.0, 0.4),
    ],
)
def test_another_number_is_listed_by_name(engine: str, field: str, name: str, expected: float, found: float) -> None:
    listed = {(d.field, d.name): d for d in differences(engine)}
    assert not listed[field, name].structural
    assert listed[field, name].expected == pytest.approx(expected)
    assert listed[field, name].found == pytest.approx(found)
    assert {place[0] for place in listed} == {field}


@pytest.mark.parametrize(
    ("engine", "parameter"),
    [("SilentHalfGain", "stiffness kp"), ("SilentLowFriction", "friction")],
)
def test_attribution_names_a_parameter_that_the_engine_conceals(engine: str, parameter: str) -> None:
    source, target = make_env(pushing(), "mujoco", seed=0), make_env(pushing(), engine, seed=0)
    assert contract.differences(contract.contract_of(source), contract.contract_of(target)) == []
    scripts = make_scripts(source, run_episodes(source, GoThere(), 0).trace, steps=40)
    ours, tried = behaviour(source, scripts), {}
    for move in [move for move in MOVES if applicable(move, source)]:
        if move.fields:
            with moved(source, move):
                tried[move] = behaviour(source, scripts)
        else:
            tried[move] = behaviour(make_env(pushing(), "mujoco", 0, **move.settings), scripts)
    assert HALF_DT in tried
    found = attribute(ours, behaviour(target, scripts), tried)
    first, second, *_ = found["ranking"]
    assert found["size"] > 1.0
    assert first["parameter"] == parameter
    assert first["explained"] > 0.5
    assert first["explained"] > 1.2 * second["explained"]


def test_contacts_are_moved_by_their_settings() -> None:
    env = make_env(pushing(), "mujoco", seed=0)
    moves = {move.label: move for move in MOVES if move.contact and applicable(move, env)}
    assert list(moves) == [
        *("friction × 0.7", "friction × 1.4"),
        *("contact time constant × 2", "contact impedance at touch × 0.5", "contact depth of full impedance × 10"),
        *("friction cone elliptic", "impratio 10.0", "impratio 100.0", "friction cone and impratio elliptic, 100.0"),
    ]
    before = env.engine.model_field("geom_solimp")
    with moved(env, moves["contact impedance at touch × 0.5"]):
        solimp = env.engine.model_field("geom_solimp")
    torch.testing.assert_close(solimp[..., 0], 0.5 * before[..., 0])
    assert torch.equal(solimp[..., 1:], before[..., 1:])
    both = make_env(pushing(), "mujoco", 0, **moves["friction cone and impratio elliptic, 100.0"].settings)
    assert (both.scene.model.opt.cone, both.scene.model.opt.impratio) == (1, 100.0)
    assert not any(applicable(move, both) for move in moves.values() if move.parameter == "friction cone")


def test_a_move_costs_the_share_of_the_return_that_it_takes() -> None:
    source, heavy = episodes_in("mujoco")[0], episodes_in("SilentHeavy")[0]
    found, means = cost(source, heavy), [run.values["return"].mean() for run in (source, heavy)]
    assert found["lost_percent"] == pytest.approx(100 * (means[0] - means[1]) / means[0])
    assert found["ci95"][0] < found["lost_percent"] < found["ci95"][1]
    assert cost(source, source)["lost_percent"] == 0.0


def test_a_moved_model_is_put_back() -> None:
    env = make_env(pushing(), "mujoco", seed=0)
    before = run_episodes(env, GoThere(), 0).values["return"]
    with moved(env, MOVES[0]):
        assert not np.allclose(run_episodes(env, GoThere(), 0).values["return"], before)
    assert run_episodes(env, GoThere(), 0).values["return"] == pytest.approx(before, rel=1e-4)


def test_open_loop_motions_part_where_the_engines_differ_and_nowhere_else() -> None:
    source, same, other = (make_env(pushing(), name, seed=0) for name in ("mujoco", "mujoco", "SilentHeavy"))
    scripts = make_scripts(source, run_episodes(source, GoThere(), 0).trace, steps=40)
    assert set(scripts) == {"drop", "step", "rollout"}
    for script in scripts.values():
        ours = replay(source, script)
        assert all(q["max_error"] == 0.0 for q in part(ours, replay(same, script), 0.01).values())
        parted = part(ours, replay(other, script), 0.01)["joint velocity"]
        assert parted["first_time_s"] == pytest.approx(0.01 * parted["first_step"])
        assert parted["tolerance"] < parted["error_there"] <= parted["max_error"]
    assert {"base position", "base orientation", "contact force"} <= set(part(ours, ours, 0.01))


def test_compare_and_attribute_from_the_command_line(compared: Comparison) -> None:
    assert "SilentHalfGain: equivalent" in compared.printed
    assert "stiffness kp explains" in compared.printed
    record = compared.record
    assert record["passed"]
    assert (record["source"], record["num_episodes"]) == ("mujoco", 6)
    assert record["attribution"]["SilentHalfGain"]["ranking"][0]["parameter"] == "stiffness kp"
    assert len(record["closed_loop"]["SilentHalfGain"]["episodes"]["return"]) == 6
    assert set(record["self_baseline"]) == {"half dt", "other seeds"}
    assert {"git_commit", "versions", "config_hash", "margin", "trained"} <= set(record)


def test_a_gap_beyond_the_margin_exits_with_1(cli: Callable[..., Any], tmp_path: Path) -> None:
    words = ("sim2sim", TASK, "bundled", "--engines", "mujoco", "--engines", "HalfGain", "--out", tmp_path, *SHORT)
    run = cli(*words, "--margin", "1e-7")
    assert run.code == 1, run.err
    assert "HalfGain: gap" in run.out
    assert "actuator_kp of 'robot/slide' is 40 in HalfGain and 80 in mujoco" in run.out
    assert not json.loads((tmp_path / "sim2sim.json").read_text())["passed"]


def test_a_broken_contract_stops_the_command(mistake: Callable[..., str], tmp_path: Path) -> None:
    line = mistake("sim2sim", TASK, "bundled", "--engines", "mujoco,Permuted", "--out", tmp_path, *SHORT, code=1)
    assert "joint_names is [robot/hinge, robot/slide] in Permuted" in line
    record = json.loads((tmp_path / "sim2sim.json").read_text())
    assert record["contract"]["broken"]
    assert "closed_loop" not in record
    assert "structural" in (tmp_path / "sim2sim.html").read_text()


def test_the_contract_includes_the_run_of_the_checkpoint(trained_run: Path, tmp_path: Path) -> None:
    env = make_env(pushing(), "mujoco", seed=0)
    recorded, note = contract.recorded_contract(trained_run / "model_final.pt")
    assert recorded is not None
    assert not note
    assert any(d.structural and d.owner == "mujoco" for d in contract.differences(recorded, contract.contract_of(env)))
    assert contract.recorded_contract(tmp_path / "model.pt")[0] is None


def test_a_run_whose_task_has_changed_since_is_stopped(
    mistake: Callable[..., str], trained_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    (run / "params").mkdir(parents=True)
    for name in ("run.json", "model_final.pt", "params/agent.json"):
        (run / name).write_bytes((trained_run / name).read_bytes())
    env = read_json(trained_run / "params/env.json")
    env["actions"]["cart"]["scale"] = 0.5
    (run / "params/env.json").write_text(json.dumps(env))
    line = mistake("sim2sim", TASK, run, "--engines", "mujoco", "--out", tmp_path, *SHORT, code=1)
    assert "actions of 'cart.scale' is 1 in mujoco and 0.5 in its run" in line


def test_one_engine_alone_says_what_each_move_costs(cli: Callable[..., Any], tmp_path: Path) -> None:
    run = cli("sim2sim", TASK, "bundled", "--engines", "mujoco", "--attribute", "--out", tmp_path, *SHORT)
    assert run.code == 0, run.err
    assert "mujoco with one parameter moved" in run.out
    record = json.loads((tmp_path / "sim2sim.json").read_text())
    moves = {move["tried"]: move for move in record["moves"]}
    assert {"stiffness kp × 0.8", "damping × 2", "latency + 1 control steps"} & set(moves)
    assert not any("contact" in name or "friction" in name for name in moves)  # nothing touches in this task
    assert all(move["ci95"][0] <= move["lost_percent"] <= move["ci95"][1] for move in record["moves"])
    assert record["attribution"] == {}
    assert "stiffness kp × 0.8" in (tmp_path / "sim2sim.html").read_text()


def test_one_engine_alone_is_compared_with_itself_and_the_matrix_tests_every_run(
    cli: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    run = cli("sim2sim", TASK, trained_run, "--engines", "mujoco", "--out", tmp_path, *SHORT, "--matrix", "bundled")
    assert run.code == 0, run.err
    assert "contract: no differences" in run.out
    assert "mujoco, half dt: " in run.out
    rows = json.loads((tmp_path / "sim2sim.json").read_text())["matrix"]
    assert [row["trained_in"] for row in rows] == ["mujoco", "mujoco"]
    assert [row["tested_in"]["mujoco"]["difference"] for row in rows] == [0.0, 0.0]


def test_a_policy_is_pushed_as_the_task_says_however_it_was_pushed_in_training(
    cli: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    data = torch.load(trained_run / "model_final.pt", weights_only=False)
    data[INFO_KEY]["env_changes"]["env.events.push.params.velocity"] = 9.0
    torch.save(data, tmp_path / "pushed_hard.pt")
    found = []
    for checkpoint in (trained_run / "model_final.pt", tmp_path / "pushed_hard.pt"):
        run = cli("sim2sim", TASK, checkpoint, "--engines", "mujoco", "--out", tmp_path, *SHORT)
        assert run.code == 0, run.err
        found.append(read_json(tmp_path / "sim2sim.json")["config_hash"])
    assert found[0] == found[1]


def test_the_page_needs_nothing_from_outside(compared: Comparison) -> None:
    assert not re.search(r"https?://", compared.page)
    for anchor in ("gap", "closed-loop", "open-loop", "contract", "attribution", "matrix", "origin"):
        assert f'<section id="{anchor}">' in compared.page
    assert "NaN" not in compared.page


def test_a_page_is_made_from_the_record_alone(compared: Comparison) -> None:
    same = gap_page(compared.record)
    assert re.sub("<footer>.*</footer>", "", same) == re.sub("<footer>.*</footer>", "", compared.page)


def test_whatever_is_in_a_record_is_escaped(compared: Comparison) -> None:
    page = gap_page(compared.record | {"checkpoint": "<script>alert(1)</script>"})
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--engines", "mujoko"), "unknown engine 'mujoko' (did you mean 'mujoco'?)"),
        (("--engines", "mujoco", "--margin", "-1"), "--margin must be positive"),
        (("--engines", "mujoco", "--matrix"), "--matrix needs runs"),
        (("--engines", "mujoco", "--env.num_envs", "3"), "--episodes"),
        (("--engines", "mujoco", "--episodes", "0"), "at least one episode"),
        (("--engine", "mujoco"), "did you mean '--engines'?"),
    ],
)
def test_mistakes(words: tuple[str, ...], expected: str, mistake: Callable[..., str], tmp_path: Path) -> None:
    assert expected in mistake("sim2sim", TASK, "bundled", "--out", tmp_path, *words)


def test_mistakes_in_task_and_checkpoint(mistake: Callable[..., str], tmp_path: Path) -> None:
    assert "did you mean" in mistake("sim2sim", "GeneLab-Inverted-Pendulum", "bundled", "--engines", "mujoco")
    assert "no checkpoint at" in mistake("sim2sim", TASK, tmp_path / "none.pt", "--engines", "mujoco")
    assert "goes with --matrix" in mistake("sim2sim", TASK, "bundled", "other", "--engines", "mujoco")
