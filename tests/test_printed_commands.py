"""The commands that the documentation prints, as printed, at tiny sizes.

Some are copied here from the documents; those of the tutorials are read from their pages, with all other blocks.
Placeholders (TASK_ID, <TASK>, <P>, <DATE>, the path of a checkpoint) are filled in, and flags that make the run small
are added behind.
"""

import json
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from genelab.core.registry import tasks, unregister

ROOT = Path(__file__).parent.parent
PENDULUMS = ("GeneLab-Inverted-Pendulum-v0", "GeneLab-Double-Inverted-Pendulum-v0")

PLAY = [
    "genelab play TASK_ID --steps 128",
    "genelab play TASK_ID --agent random --steps 128",
]
PLAY_WITH_A_WINDOW = [
    "genelab play TASK_ID --vis",
    "genelab play TASK_ID --vis --max-steps 500",
]
TRAIN_SEEDS = "genelab train <TASK> --seeds 1,2,3 --parallel <P> --log_dir logs/reference/<TASK>/<DATE>"
EVAL_SEED = (
    'genelab eval <TASK> "logs/reference/<TASK>/<DATE>/seed_${s}/model_final.pt" '
    '--num-envs 64 --episodes 100 --seed 0 --out "logs/reference/<TASK>/<DATE>/seed_${s}/eval.json"'
)
EVAL = (
    "genelab eval GeneLab-Inverted-Pendulum-v0 logs/rsl_rl/exp1/.../model_500.pt "
    "--num-envs 64 --episodes 100 --seed 0 --deterministic --out eval.json"
)

TRAIN_WITH_EVALUATIONS = (
    "genelab train GeneLab-Inverted-Pendulum-v0 --max_iterations 1000 --num_envs 64 --seed 0 "
    "--eval-every 100 --eval-episodes 16"
)
BENCHMARK = [
    "genelab benchmark --suite suite.json --out report.json",
    "genelab benchmark --suite suite.json --reference baseline.json --tolerance 0.1",
]

COLLECT_DEMOS = (
    "python -m genelab_franka.collect_demos --num-envs 64 --steps 1000 --out logs/reference/franka-pp/demos.npz"
)
TRAIN_FRANKA = (
    "GENELAB_SB3_DEMO_PATH=logs/reference/franka-pp/demos.npz genelab train GeneLab-Franka-Pick-And-Place-v0 "
    "--seeds 1,2,3 --parallel 1 --log_dir logs/reference/franka-pp/<DATE>"
)
EVAL_FRANKA = (
    'genelab eval GeneLab-Franka-Pick-And-Place-v0 "logs/reference/franka-pp/<DATE>/seed_${s}/model.zip" '
    '--num-envs 64 --episodes 100 --seed 0 --out "logs/reference/franka-pp/<DATE>/seed_${s}/eval.json"'
)

TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
CLUSTER = ROOT / "docs/tutorials/cluster.md"
"""It is run where a cluster is, in test_ray.py."""
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
"""A block of a page: its language, the file it is to be saved as, its text."""
NEEDED = {"mjwarp": "mujoco_warp", "sb3": "stable_baselines3", "skrl": "skrl", "--viewer web": "viser"}
"""What stands in a tutorial, and the module that it takes."""
SMALLER = {
    "train": "--num-envs 8 --max-iterations 2",
    "eval": "--num-envs 2 --episodes 2 --env.episode_length_s 0.5",
    "play": "--max-steps 5",
    "sim2sim": "--episodes 2 --env.episode_length_s 0.5",
    "policy.onnx": "--episodes 2",
    "pendulums.toml": "overrides.agent.max_iterations = 1\noverrides.env.num_envs = 8\n",
}
"""What is added to commands, to the example that runs an exported policy, and to files, to make them small."""
NOT_RUN = ("make ", "pip ", ". ", "ray ")
"""Commands that install, or set up a cluster."""


def words(command: str, **places: str) -> list[str]:
    """The arguments of a printed command, with its placeholders filled in."""
    for name, value in places.items():
        command = command.replace({"s": "${s}", "TASK_ID": "TASK_ID"}.get(name, f"<{name}>"), value)
    program, *arguments = shlex.split(command)
    assert program == "genelab"
    return arguments


@pytest.fixture(autouse=True)
def _empty_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", PLAY)
@pytest.mark.parametrize("task", PENDULUMS)
def test_play(command: str, task: str, cli: Callable[..., Any]) -> None:
    outcome = cli(*words(command, TASK_ID=task))
    assert outcome.code == 0, outcome.err
    assert "played 128 steps" in outcome.out


@pytest.mark.parametrize("command", PLAY_WITH_A_WINDOW)
def test_play_with_a_window_where_there_is_none(
    command: str, mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "no display" in mistake(*words(command, TASK_ID=PENDULUMS[0]))


def test_train_three_seeds_and_evaluate_each(cli: Callable[..., Any], tmp_path: Path) -> None:
    places = {"TASK": PENDULUMS[0], "DATE": "2026-05-20", "P": "3"}
    tiny = ("--num_envs", "8", "--max_iterations", "1")
    trained = cli(*words(TRAIN_SEEDS, **places), *tiny)
    assert trained.code == 0, trained.out + trained.err
    parent = tmp_path / "logs/reference" / PENDULUMS[0] / "2026-05-20"
    assert json.loads((parent / "summary.json").read_text())["seeds"] == [1, 2, 3]
    for seed in ("1", "2", "3"):
        command = words(EVAL_SEED.replace("--episodes 100", "--episodes 4"), **places, s=seed)
        outcome = cli(*command, "--env.episode_length_s", "0.5")
        assert outcome.code == 0, outcome.err
        assert json.loads((parent / f"seed_{seed}/eval.json").read_text())["num_episodes"] == 4


def test_evaluate_a_checkpoint(cli: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    printed = EVAL.replace("logs/rsl_rl/exp1/.../model_500.pt", str(trained_run / "model_final.pt"))
    outcome = cli(*words(printed), "--env.episode_length_s", "0.5")
    assert outcome.code == 0, outcome.err
    record = json.loads((tmp_path / "eval.json").read_text())
    printed_fields = {"task", "checkpoint", "num_episodes", "metrics", "wall_clock_seconds", "seed", "deterministic"}
    assert {*printed_fields, "evaluated_at"} <= set(record)
    assert {"return_mean", "return_std", "length_mean", "success_rate"} <= set(record["metrics"])
    assert (record["num_episodes"], record["seed"], record["deterministic"]) == (100, 0, True)


def test_train_with_evaluations(cli: Callable[..., Any]) -> None:
    smaller = TRAIN_WITH_EVALUATIONS.replace("1000", "4").replace("--eval-every 100", "--eval-every 2")
    outcome = cli(*words(smaller), "--env.episode_length_s", "0.5")
    assert outcome.code == 0, outcome.err
    assert "evaluation at iteration 4" in outcome.out


def test_benchmark_a_suite_and_compare_it_with_a_baseline(cli: Callable[..., Any], trained_run: Path) -> None:
    entry = {"task": PENDULUMS[0], "checkpoint": str(trained_run / "model_final.pt"), "episodes": 4, "num_envs": 4}
    Path("suite.json").write_text(json.dumps([{**entry, "seed": 0}]))
    assert cli(*words(BENCHMARK[0])).code == 0
    Path("report.json").rename("baseline.json")
    outcome = cli(*words(BENCHMARK[1]))
    assert outcome.code == 0, outcome.err
    assert "ok" in outcome.out


def test_collect_demonstrations_train_from_them_and_evaluate_each_seed(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    smaller = COLLECT_DEMOS.replace("--num-envs 64", "--num-envs 2").replace("--steps 1000", "--steps 102")
    collected = subprocess.run([sys.executable, *shlex.split(smaller)[1:]], capture_output=True, text=True)
    assert collected.returncode == 0, collected.stderr
    setting, _, train = TRAIN_FRANKA.partition(" ")
    monkeypatch.setenv(*setting.split("="))
    tiny = {"batch_size": 8, "learning_starts": 4, "gradient_steps": 1}
    settings = [word for name, value in tiny.items() for word in (f"--agent.off_policy.{name}", str(value))]
    places = {"DATE": "2026-05-20"}
    trained = cli(*words(train, **places), "--num-envs", "2", "--max-iterations", "8", *settings)
    assert trained.code == 0, trained.out + trained.err
    for seed in ("1", "2", "3"):
        outcome = cli(*words(EVAL_FRANKA.replace("--episodes 100", "--episodes 2"), **places, s=seed))
        assert outcome.code == 0, outcome.err
        record = json.loads((tmp_path / f"logs/reference/franka-pp/2026-05-20/seed_{seed}/eval.json").read_text())
        assert record["metrics"]["success_rate"] is not None


@pytest.mark.parametrize(("form", "name"), [("torchscript", "policy.ts"), ("onnx", "policy.onnx")])
def test_export(form: str, name: str, cli: Callable[..., Any], trained_run: Path) -> None:
    outcome = cli("export", PENDULUMS[0], trained_run / "model_final.pt", "--format", form, "--out", name)
    assert outcome.code == 0, outcome.err
    assert Path(name).exists()
    assert Path(f"{name}.metadata.json").exists()


@pytest.mark.parametrize("page", [page for page in TUTORIALS if page != CLUSTER], ids=lambda page: page.stem)
def test_a_tutorial_runs_as_printed(page: Path, cli: Callable[..., Any], script: Callable[..., None]) -> None:
    run_page(page, cli, script)


def run_page(page: Path, cli: Callable[..., Any], script: Callable[..., None]) -> None:
    """Run all blocks of a page."""
    text, names = page.read_text(), {"__name__": "tutorial"}
    for module in (module for sign, module in NEEDED.items() if sign in text):
        pytest.importorskip(module)
    for language, file, block in BLOCK.findall(text):
        if file:
            first_of_several = re.sub(r"= \[([^,\]]*),.*\]", r"= [\1]", block)
            Path(file).write_text(first_of_several + SMALLER.get(file, ""))
        elif language == "python":
            exec(compile(block, page.name, "exec"), names)
        else:
            assert language == "sh", "a block that is neither run nor saved"
            for command in block.splitlines():
                if not command.startswith(NOT_RUN):
                    run_smaller(command, cli, script)


def run_smaller(command: str, cli: Callable[..., Any], script: Callable[..., None]) -> None:
    program, *arguments = shlex.split(command)
    if program == "genelab":
        outcome = cli(*arguments, *SMALLER.get(arguments[0], "").split())
        assert outcome.code == 0, outcome.out + outcome.err
    else:
        assert program == "python", command
        script(*arguments, *SMALLER.get(arguments[1], "").split())


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Run a Python script in this process. The tasks that it registers are forgotten after the test."""
    known = set(tasks())

    def call(path: str, *arguments: str) -> None:
        file = ROOT / path if path.startswith("examples/") else Path(path)
        monkeypatch.setattr(sys, "argv", [str(file), *arguments])
        monkeypatch.syspath_prepend(str(file.parent))
        code: str | int | None = 0
        try:
            runpy.run_path(str(file), run_name="__main__")
        except SystemExit as end:
            code = end.code
        assert not code, f"{path} {' '.join(arguments)}"

    yield call
    for added in set(tasks()) - known:
        unregister(added)
