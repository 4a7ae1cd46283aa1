"""Presets change a task's configs and add to them: the task itself is the same for all of them."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab import mdp
from genelab.core import overrides
from genelab.core.registry import find, tasks
from genelab.envs import (
    CurriculumTermCfg,
    DoneTermCfg,
    EventTermCfg,
    ManagerBasedRlEnv,
    MetricTermCfg,
    ObservationTermCfg,
    RampCfg,
)
from genelab.experiment.inference import setup_policy
from genelab.experiment.setup import apply_run_changes, resolve
from genelab.mdp import UniformCommandCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlSymmetryCfg
from genelab.tasks.velocity import go1
from genelab.tasks.velocity.builder import velocity

GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
AIDS = ("progress", "trot", "swing", "alive")


@pytest.mark.parametrize("play", [False, True], ids=["train", "play"])
@pytest.mark.parametrize("task", tasks())
def test_a_task_has_no_ramps(task: str, play: bool) -> None:
    configs = overrides.configs({"env": find(task).env_cfg(play=play)})
    assert not [path for path, config in configs if isinstance(config, RampCfg)]


def test_the_shaping_of_the_go1_is_in_its_cpu_preset_only() -> None:
    assert not set(AIDS) & set(find(GO1).env_cfg().rewards)
    assert not set(AIDS) & set(resolve(GO1, preset="reference").env_cfg.rewards)
    shaped = resolve(GO1, preset="cpu").env_cfg
    assert list(shaped.rewards) == [*find(GO1).env_cfg().rewards, *AIDS]
    assert [shaped.rewards[name].weight for name in AIDS] == [2.0, 2.0, 2.0, 3.0]
    assert shaped.rewards["joint_acc"].ramp == shaped.rewards["action_rate"].ramp
    assert shaped.rewards["joint_acc"].ramp == RampCfg(start=0.05, end=1.0, steps=4800)
    assert shaped.commands["velocity"].ramp == RampCfg(start=0.3, end=1.0, steps=2400)


@pytest.mark.parametrize("preset", ["cpu", "long", "spo", "robust"])
def test_only_the_rewards_of_the_task_are_left_when_a_training_of_the_go1_ends(preset: str) -> None:
    setup, task = resolve(GO1, preset=preset), find(GO1).env_cfg().rewards
    end = 24 * setup.agent_cfg.max_iterations
    factors = {name: term.ramp.factor(end) for name, term in setup.env_cfg.rewards.items() if term.ramp is not None}
    assert factors == {name: float(name in task) for name in factors}
    assert set(setup.env_cfg.rewards) - set(task) <= set(factors)


def test_a_user_overrides_what_a_preset_added_and_the_preset_stays_as_it_is() -> None:
    typed = [
        ("env.rewards.trot.weight", "7"),
        ("env.rewards.joint_acc.ramp.steps", "12"),
        ("env.rewards.progress.ramp", "none"),
    ]
    changed = resolve(GO1, preset="cpu", overrides=typed).env_cfg.rewards
    assert (changed["trot"].weight, changed["joint_acc"].ramp.steps, changed["progress"].ramp) == (7.0, 12, None)
    again = resolve(GO1, preset="cpu").env_cfg.rewards
    assert (again["trot"].weight, again["joint_acc"].ramp.steps, again["progress"].ramp.steps) == (2.0, 4800, 9600)


def test_a_preset_that_is_played_leaves_its_training_aids_out() -> None:
    played, task = resolve(GO1, play=True, preset="cpu").env_cfg, find(GO1).env_cfg(play=True)
    task.simulation.dt, task.decimation, task.simulation.iterations = 0.02 / 3, 3, 4
    assert played == task


def test_a_robust_policy_is_evaluated_where_a_plain_one_is() -> None:
    for task in (GO1, GO1.replace("Flat", "Rough")):
        trained = resolve(task, preset="robust").env_cfg
        assert {"gains", "contacts", "latency"} <= set(trained.events) - set(resolve(task, preset="cpu").env_cfg.events)
        played, plain = (resolve(task, play=True, preset=name).env_cfg for name in ("robust", "cpu"))
        for name, group in plain.observations.items():
            group.history = played.observations[name].history  # what a policy sees stays with it
        assert played == plain


@pytest.fixture
def generous(monkeypatch: pytest.MonkeyPatch) -> str:
    """A preset that adds a term of every kind."""
    changes: dict[str, Any] = {
        "env.observations.policy.terms.lin_vel": ObservationTermCfg(mdp.base_lin_vel),
        "env.commands.bend": UniformCommandCfg(low=(0.0,), high=(1.0,)),
        "env.commands.velocity": VelocityCommandCfg(lin_x=(0.0, 2.0), ramp=RampCfg(start=0.0, end=1.0, steps=10)),
        "env.metrics.tilt": MetricTermCfg(mdp.tilt_l2),
        "env.events.kick": EventTermCfg(
            mdp.push_root, mode="interval", interval_s=(1.0, 2.0), params={"xy": 2.0, "yaw": 0.0}
        ),
        "env.terminations.leaning": DoneTermCfg(mdp.tilted, params={"limit": 0.4}),
        "env.curriculum.commands": CurriculumTermCfg(
            mdp.velocity_curriculum, params={"command": "velocity", "stages": ((5, "lin_x", 0.0, 3.0),)}
        ),
        **go1.FLAT_PRESETS["cpu"],
    }
    monkeypatch.setitem(go1.FLAT_PRESETS, "generous", changes)
    return "generous"


def test_what_a_run_stores_of_its_preset_is_plain_data(generous: str) -> None:
    changes = resolve(GO1, preset=generous).env_changes()
    assert json.loads(json.dumps(changes)).keys() == changes.keys()
    assert changes["env.rewards.trot"]["weight"] == 2.0


def test_an_evaluation_has_what_a_preset_adds_to_the_task_and_no_aids_to_training(generous: str) -> None:
    stored = json.loads(json.dumps(resolve(GO1, preset=generous).env_changes()))
    evaluation, task = resolve(GO1, play=True, preset="reference"), find(GO1).env_cfg(play=True)
    apply_run_changes(evaluation, stored)
    cfg = evaluation.env_cfg
    assert cfg.observations["policy"].terms["lin_vel"] == ObservationTermCfg(mdp.base_lin_vel)
    assert cfg.commands["bend"] == UniformCommandCfg(low=(0.0,), high=(1.0,))
    assert cfg.commands["velocity"] == VelocityCommandCfg(lin_x=(0.0, 2.0))
    assert cfg.metrics["tilt"] == MetricTermCfg(mdp.tilt_l2)
    assert (cfg.simulation.dt, cfg.decimation) == (0.02 / 3, 3)
    for kind in ("rewards", "terminations", "events", "curriculum"):
        assert getattr(cfg, kind) == getattr(task, kind), kind


def test_how_often_a_preset_asks_for_what_is_not_how_a_policy_is_evaluated() -> None:
    g1, share = GO1.replace("Go1", "G1"), "env.commands.velocity.forward_share"
    assert resolve(g1, preset="cpu").env_cfg.commands["velocity"].forward_share == 0.1
    assert share not in resolve(g1, preset="cpu").env_changes()
    assert resolve(g1, play=True, preset="cpu").env_cfg.commands == find(g1).env_cfg(play=True).commands
    typed = resolve(g1, preset="cpu", overrides=[(share, "0.5")])
    assert typed.env_changes()[share] == 0.5


def test_a_training_environment_gets_all_that_a_run_stored(generous: str) -> None:
    trained = resolve(GO1, preset=generous)
    rebuilt = resolve(GO1, preset="reference")
    apply_run_changes(rebuilt, json.loads(json.dumps(trained.env_changes())))
    rebuilt.env_cfg.num_envs = trained.env_cfg.num_envs
    rebuilt.env_cfg.simulation.iterations = trained.env_cfg.simulation.iterations  # the solver's are not the policy's
    rebuilt.env_cfg.commands["velocity"].forward_share = 0.0  # nor is how often training asks for what
    assert rebuilt.env_cfg == trained.env_cfg


def test_a_policy_trained_with_shaping_is_evaluated_without(tmp_path: Path, train_tiny: Callable[..., Any]) -> None:
    train_tiny(tmp_path / "run", task=GO1, env__num_envs=2, agent__max_iterations=1)
    _, inference, _ = setup_policy(GO1, tmp_path / "run/model_final.pt", [], num_envs=2, say=lambda line: None)
    env = inference.env
    assert list(env.cfg.rewards) == list(find(GO1).env_cfg(play=True).rewards)
    assert env.cfg.decimation == 3
    env.close()


def test_the_symmetry_of_a_preset_can_be_switched_off() -> None:
    assert isinstance(resolve(GO1, preset="cpu").agent_cfg.algorithm.symmetry, RslRlSymmetryCfg)
    typed = [("agent.algorithm.symmetry", "none")]
    assert resolve(GO1, preset="cpu", overrides=typed).agent_cfg.algorithm.symmetry is None


# Robots of the velocity family are tables


def test_a_robot_with_history_randomisation_and_stages_is_a_table() -> None:
    table = replace(
        go1.GO1,
        history=3,
        command=VelocityCommandCfg(lin_x=(-1.0, 2.0)),
        critic={"gravity_again": ObservationTermCfg(mdp.projected_gravity)},
        randomize={
            "mass": EventTermCfg(
                mdp.randomize_mass, mode="startup", params={"bodies": ("trunk",), "low": -1.0, "high": 2.0}
            )
        },
        curriculum={
            "commands": CurriculumTermCfg(
                mdp.velocity_curriculum, params={"command": "velocity", "stages": ((5, "lin_x", 0.0, 3.0),)}
            )
        },
    )
    cfg = velocity(table)
    cfg.num_envs, cfg.simulation.dt, cfg.decimation = 2, 0.005, 4
    env = ManagerBasedRlEnv(cfg)
    assert {name: tuple(value.shape) for name, value in env.obs.items()} == {"policy": (2, 135), "critic": (2, 153)}
    env.step(torch.zeros(2, env.num_actions))
    env.close()
    assert velocity(table, play=True).events.keys() == {"place"}
    assert velocity(table, play=True).curriculum == {}


def test_what_is_changed_in_a_task_does_not_change_the_robots_table() -> None:
    cfg = go1.flat()
    cfg.rewards["tilt"].weight = 5.0
    cfg.commands["velocity"].lin_x = (0.0, 0.0)
    assert go1.flat().rewards["tilt"].weight == -1.0
    assert go1.flat().commands["velocity"].lin_x == (-1.0, 1.0)


@pytest.mark.parametrize("task", [task for task in tasks() if task.startswith("Playground-")])
def test_what_helps_a_task_of_the_suite_to_begin_is_gone_before_its_score_is_taken(task: str) -> None:
    setup = resolve(task, preset="cpu")
    env, agent = setup.env_cfg, setup.agent_cfg
    steps = agent.num_steps_per_env * agent.action_repeat
    assert agent.max_iterations * steps * env.num_envs <= 20_000_000
    scored = (agent.max_iterations - 100) * steps - 1000  # of the last hundred iterations, episodes of 1000 steps
    assert next(iter(env.rewards)) == "reward"
    assert all(term.ramp.end == 0.0 and term.ramp.steps <= scored for term in list(env.rewards.values())[1:])
    for name, term in (env.terminations | env.events).items():
        assert name not in ("restart", "restart_solved", "start_nearer", "fallen") or term.params["until"] <= scored


def test_restarts_are_as_frequent_as_asked_for_and_end() -> None:
    cfg = find("Playground-CartpoleBalance-v0").env_cfg()
    cfg.num_envs, cfg.simulation.threads = 512, 1
    cfg.terminations["restart"] = DoneTermCfg(mdp.restart, params={"every": 0.1, "until": 20}, time_out=True)
    env = ManagerBasedRlEnv(cfg)
    truncated = torch.stack([env.step(torch.zeros(512, 1))[3] for _ in range(25)]).float().mean(dim=1)
    assert truncated[0] == pytest.approx(0.1, abs=0.04), "a control step is a tenth of the time between restarts"
    assert truncated[:20].sum() == pytest.approx(0.1 * 20 / 2, abs=0.2)
    assert truncated[20:].sum() == 0.0


def test_worlds_whose_task_is_done_restart_by_themselves() -> None:
    cfg = find("Playground-FingerTurnEasy-v0").env_cfg()
    cfg.num_envs, cfg.simulation.threads = 512, 1
    params = {"every": cfg.control_dt, "until": 1000}
    cfg.terminations["restart_solved"] = DoneTermCfg(mdp.restart_solved, params=params, time_out=True)
    env = ManagerBasedRlEnv(cfg)
    *_, truncated, extras = env.step(torch.zeros(512, 2))
    assert 0.05 < float(truncated.float().mean()) < 0.5, "the tip is in its target by chance"
    assert torch.equal(extras["is_success"], truncated)


def test_who_has_fallen_begins_anew_at_first_and_lies_later() -> None:
    cfg = find("Playground-HumanoidStand-v0").env_cfg()
    cfg.num_envs, cfg.simulation.threads = 2, 1
    cfg.terminations["fallen"] = DoneTermCfg(mdp.fallen, params={"height": 0.9, "until": 100})
    env = ManagerBasedRlEnv(cfg)
    terminated = torch.stack([env.step(torch.zeros(2, 21))[2] for _ in range(300)])
    assert terminated[:100].any(), "a limp humanoid is on the ground within 2.5 s"
    assert not terminated[100:].any()
    assert (env.robot.root_pos[:, 2] < 0.9).all()


def test_starts_are_nearer_to_zero_at_first_and_everywhere_in_the_end() -> None:
    cfg = find("Playground-AcrobotSwingup-v0").env_cfg()
    cfg.num_envs, cfg.simulation.threads = 512, 1
    cfg.events["nearer"] = EventTermCfg(mdp.start_nearer, params={"until": 20})
    env = ManagerBasedRlEnv(cfg)

    def mean_angle() -> float:
        env.reset()
        return float(env.robot.joint_pos.abs().mean())

    assert mean_angle() == pytest.approx(math.pi / 4, abs=0.1), "half of the way on average"
    env.step_count = 20
    assert mean_angle() == pytest.approx(math.pi / 2, abs=0.1)
