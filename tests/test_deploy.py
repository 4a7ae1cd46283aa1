"""Every bundled policy of a robot, exported, runs in plain MuJoCo as it does here (``examples/deploy``)."""

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genelab.core.files import read_json, write_json
from genelab.core.registry import tasks
from genelab.experiment.export import ExportRequest, run_export
from genelab.experiment.inference import setup_policy
from genelab.rl import deployment
from genelab.tasks.suite import cheetah, walker

BUNDLED = Path(deployment.__file__).parents[1] / "bundled"
DEPLOY = Path(__file__).parents[1] / "examples/deploy"
TASKS = sorted(path.stem for path in BUNDLED.glob("*.pt") if not path.stem.startswith("Playground"))
"""Tasks of the control suite have starts and rewards of their own, which the example does not know."""
WORLDS, STEPS = 3, 100
"""A hundred control steps: no command changes before, and in contact the engines' rounding does not matter yet."""


def silent(line: str) -> None: ...


@pytest.fixture
def deploy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DEPLOY))
    return importlib.import_module("mujoco_onnx")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    done: dict[str, Path] = {}

    def export(task: str) -> Path:
        if task not in done:
            done[task] = tmp_path_factory.mktemp("deploy") / "policy.onnx"
            run_export(ExportRequest(task, BUNDLED / f"{task}.pt", format="onnx", out=done[task]), say=silent)
        return done[task]

    return export


def payments(task: str, checkpoint: Path, file: Path, deploy: Any, steps: int) -> Iterator[tuple[float, float]]:
    """What the same steps from the same states pay in genelab and in plain MuJoCo, in each of a few worlds."""
    exact = [("env.observations.policy.noise", "false")]
    _, setup, _ = setup_policy(task, checkpoint, exact, num_envs=WORLDS, say=silent)
    env, policy = setup.env, setup.policy
    obs = env.reset(seed=3)
    policy.reset()
    commands = {name: term.command.clone() for name, term in env.command_manager.terms.items()}
    starts = env.engine.qpos.double().numpy().copy(), env.engine.qvel.double().numpy().copy()
    paid = np.zeros(WORLDS)
    for _ in range(steps):
        obs, rewards, _, _, _ = env.step(policy.act(obs))
        paid += rewards.numpy()
    world, network, observer = deploy.load(file, np.random.default_rng(0))
    for i in range(WORLDS):
        world.set_state(starts[0][i], starts[1][i], {name: value[i].numpy() for name, value in commands.items()})
        total, length = deploy.run_episode(world, network, observer, max_steps=steps)
        assert length == steps
        yield paid[i], total


@pytest.mark.parametrize("task", TASKS)
def test_plain_mujoco_pays_what_genelab_pays_from_the_same_states(
    task: str, exported: Callable[[str], Path], deploy: Any
) -> None:
    for paid, total in payments(task, BUNDLED / f"{task}.pt", exported(task), deploy, STEPS):
        assert total == pytest.approx(paid, rel=0.01, abs=0.01)


def test_plain_mujoco_pays_a_humanoid_that_cannot_walk_yet_what_genelab_pays(
    train_tiny: Callable[..., Any], deploy: Any, tmp_path: Path
) -> None:
    task, file = "Genelab-Velocity-Flat-Unitree-G1-v0", tmp_path / "policy.onnx"
    train_tiny(tmp_path / "run", task, env__num_envs=2, agent__num_steps_per_env=8, agent__max_iterations=1)
    checkpoint = tmp_path / "run/model_final.pt"
    run_export(ExportRequest(task, checkpoint, format="onnx", out=file), say=silent)
    for paid, total in payments(task, checkpoint, file, deploy, steps=40):
        assert total == pytest.approx(paid, rel=0.01, abs=0.01)


@pytest.mark.parametrize("task", TASKS)
def test_episodes_start_and_end_in_plain_mujoco_alone(task: str, exported: Callable[[str], Path], deploy: Any) -> None:
    world, network, observer = deploy.load(exported(task), np.random.default_rng(1), noise=True)
    world.random_start()
    total, length = deploy.run_episode(world, network, observer)
    assert np.isfinite(total)
    assert length == world.metadata["episode"]["max_steps"]  # bundled policies do not fail


@pytest.mark.parametrize("suffix", ["", ".metadata.json", ".scene.xml"])
def test_a_damaged_file_is_refused(suffix: str, exported: Callable[[str], Path], deploy: Any, tmp_path: Path) -> None:
    path = exported(TASKS[0])
    for part in ("", ".metadata.json", ".scene.xml"):
        content = bytearray(Path(f"{path}{part}").read_bytes())
        if part == suffix:
            content[len(content) // 2] ^= 1
        Path(f"{tmp_path / path.name}{part}").write_bytes(content)
    with pytest.raises(SystemExit, match=f"'.*{path.name}{suffix}' is damaged"):
        deploy.load(tmp_path / path.name, np.random.default_rng(0))


def test_metadata_of_another_structure_end_in_one_line_or_run(
    exported: Callable[[str], Path], deploy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exported("GeneLab-Inverted-Pendulum-v0")
    for part in ("", ".scene.xml"):
        Path(f"{tmp_path / path.name}{part}").write_bytes(Path(f"{path}{part}").read_bytes())
    whole = read_json(Path(f"{path}.metadata.json"))
    monkeypatch.setattr("sys.argv", ["mujoco_onnx.py", str(tmp_path / path.name), "--episodes", "1"])
    refused: dict[str, str] = {}
    for key in whole:
        for other in (None, [], "x", {}):
            write_json(Path(f"{tmp_path / path.name}.metadata.json"), {**whole, key: other})
            try:
                deploy.main()
            except SystemExit as error:
                refused[key] = str(error)
    assert {"sha256", "scene", "obs_groups"} <= set(refused)
    assert not any("\n" in line for line in refused.values())


def test_the_metadata_of_a_walking_robot_says_what_its_joints_and_sensors_are(exported: Callable[[str], Path]) -> None:
    path = exported("Genelab-Velocity-Rough-Unitree-Go1-v0")
    metadata = json.loads(Path(f"{path}.metadata.json").read_text())
    robot, scan = metadata["robot"], metadata["sensors"]["height_scan"]
    assert robot["damping"][:3] == [1.0, 2.0, 2.0]
    assert robot["armature"] == [0.01] * 12
    assert robot["friction_loss"] == [0.2] * 12
    assert robot["actuator_kinds"] == ["position"] * 12
    assert (robot["joint_types"][0], robot["joint_axes"][0]) == ("hinge", [1.0, 0.0, 0.0])
    assert (scan["body"], scan["unit"], len(scan["grid"]["ahead"])) == ("robot/trunk", "m", 187)
    terms = {term["name"]: term for term in metadata["obs_groups"]["policy"]["terms"]}
    assert (terms["ang_vel"]["term"], terms["ang_vel"]["unit"], terms["ang_vel"]["frame"]) == (
        "base_ang_vel",
        "rad/s",
        "root body",
    )
    assert terms["command"]["unit"] == "m/s, m/s, rad/s"
    assert terms["height_scan"]["frame"] == "heading of the body"
    assert metadata["episode"]["commands"]["velocity"]["kind"] == "velocity"


def test_every_term_of_every_task_is_in_the_vocabulary() -> None:
    for task in tasks().values():
        if not task.agents:
            continue
        cfg = task.env_cfg(play=True)
        terms = [term for group in cfg.observations.values() for term in group.terms.values()]
        terms += [*cfg.rewards.values(), *cfg.terminations.values(), *cfg.events.values()]
        assert [term.func for term in terms if deployment.word_of(term.func) is None] == []
        assert {type(command) for command in cfg.commands.values()} <= set(deployment.COMMANDS)


def test_terms_of_a_task_of_its_own_are_called_after_its_module() -> None:
    assert deployment.word_of(walker.upright_at_speed) == "walker_upright_at_speed"
    assert deployment.word_of(cheetah.SettledStart) == "cheetah_settled_start"
    assert deployment.word_of(test_every_term_of_every_task_is_in_the_vocabulary) is None
