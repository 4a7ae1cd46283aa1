"""The command line: what it shows, and that every mistake is one line on standard error and exit code 2."""

import pickle
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab.core.registry import find, tasks
from task_sample import SAMPLE

TASK = "GeneLab-Inverted-Pendulum-v0"
OTHER = "GeneLab-Double-Inverted-Pendulum-v0"
TINY = ("--num-envs=8", "--max-iterations=1")


@pytest.fixture(autouse=True)
def _empty_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


MISTAKES = [
    # (what is typed, what the one line must say)
    ("trian", ["trian", "train"]),
    ("train", ["task"]),
    ("play", ["task"]),
    ("eval {TASK}", ["checkpoint"]),
    ("list tsks", ["tsks", "tasks"]),
    ("list tasks --tag pendulm", ["pendulm", "pendulum"]),
    ("list robots --tag pendulum", ["--tag"]),
    ("play GeneLab-Inverted-Pendulum", ["unknown task", "'GeneLab-Inverted-Pendulum-v0'"]),
    ("train Pendulum", ["unknown task 'Pendulum'", "GeneLab-"]),
    ("info nothing", ["unknown task 'nothing'"]),
    ("eval Pendulum model.pt", ["model.pt"]),
    ("train {TASK} --num-env 8", ["--num-env", "--num-envs"]),
    ("train {TASK} --nonsense", ["--nonsense"]),
    ("train {TASK} --num-envs", ["--num-envs"]),
    ("train {TASK} --num-envs many", ["--num-envs", "integer"]),
    ("train {TASK} --num-envs 1.5", ["--num-envs", "integer"]),
    ("train {TASK} extra", ["extra"]),
    ("train {TASK} --env.rewards.alive.wieght 2", ["unknown config path", "'env.rewards.alive.weight'"]),
    ("train {TASK} --agent.algorithm 2", ["agent.algorithm expects ppo|spo, got '2'"]),
    ("train {TASK} --env.rewards 2", ["'env.rewards'", "env.rewards.alive.weight"]),
    ("train {TASK} --enf.num_envs 2", ["'env.num_envs'"]),
    ("train {TASK} --env.rewards.alive.weight heavy", ["env.rewards.alive.weight expects float, got 'heavy'"]),
    ("train {TASK} --agent.actor.rnn_type rnn", ["agent.actor.rnn_type expects lstm|gru or none, got 'rnn'"]),
    ("train {TASK} --agent.actor.hidden_dims 64,x", ["agent.actor.hidden_dims expects list of int, got '64,x'"]),
    ("train {TASK} --env.simulation.gpu maybe", ["env.simulation.gpu expects bool, got 'maybe'"]),
    ("train {TASK} --env.rewards.alive.weight", ["--env.rewards.alive.weight needs a value"]),
    ("train {TASK} --env.rewards.alive.weight --headless", ["--env.rewards.alive.weight needs a value"]),
    ("train {TASK} --vis --headless", ["--vis and --headless exclude each other"]),
    ("play {TASK} -v --headless", ["--vis and --headless exclude each other"]),
    ("train {TASK} --num-envs 8 --env.num_envs 16", ["env.num_envs is given twice"]),
    ("train {TASK} --steps 3 --max-iterations 4", ["--max-iterations"]),
    ("train {TASK} --env.simulation.steps 3", ["env.simulation.steps would have no effect"]),
    ("train {TASK} --agent.actor.rnn_hidden_dim 8", ["agent.actor.rnn_hidden_dim would have no effect", "rnn_type"]),
    ("train {TASK} --resume nowhere", ["no run at 'nowhere'"]),
    ("train {TASK} --resume {empty}", ["no run at", "run.json"]),
    ("train {OTHER} --resume {run}", [TASK, OTHER]),
    ("train {TASK} --resume {run} --log-dir x", ["--resume", "--log-dir"]),
    ("train {TASK} --resume {run} --seeds 1,2", ["--resume", "--seeds"]),
    ("train {TASK} --resume {run} --parallel 2", ["--resume", "--parallel"]),
    ("train {TASK} --resume {run} --preset cpu", ["--preset"]),
    (
        "train {TASK} --resume {run} --max-iterations 4 --agent.max_iterations 5",
        ["agent.max_iterations is given twice"],
    ),
    ("train {TASK} --resume {run} --seed 7", ["agent.seed cannot change"]),
    ("train {TASK} --checkpoint nowhere.pt", ["no checkpoint at 'nowhere.pt'"]),
    ("train {TASK} --checkpoint {truncated}", ["truncated.pt"]),
    ("train {TASK} --checkpoint {pickle}", ["pickle.pt"]),
    ("train {TASK} --checkpoint {text}", ["text.pt"]),
    ("train {TASK} --checkpoint {foreign}", ["foreign.pt' is not a genelab checkpoint"]),
    ("train {TASK} --checkpoint {run}", ["no checkpoint at"]),
    ("play {TASK} --checkpoint {truncated}", ["truncated.pt"]),
    ("play {TASK} --checkpoint {foreign}", ["foreign.pt' is not a genelab checkpoint"]),
    ("play {TASK} --agent zero --checkpoint {model}", ["--checkpoint goes with --agent trained"]),
    ("play {OTHER} --checkpoint {model}", [TASK, OTHER]),
    ("play {TASK} --agent clever", ["clever"]),
    ("play GeneLab-Inverted-Pendulum-Memory-v0 --agent trained", ["no trained policy", "--checkpoint"]),
    ("play {TASK} --agent trained --agent.algorithm.gamma 0.9 --checkpoint {model}", ["would have no effect"]),
    ("play {TASK} --agent.algorithm.gamma 0.9", ["agent.algorithm.gamma would have no effect"]),
    ("play {TASK} --num-envs 0", ["num_envs"]),
    ("play {TASK} --video clip.txt --steps 2", ["clip.txt", ".mp4"]),
    ("play {TASK} --video {file}/clip.mp4 --steps 2", ["clip.mp4"]),
    ("play {TASK} --sim bullet", ["unknown engine 'bullet'", "mujoco"]),
    ("play {TASK} --env.camera nowhere --video c.mp4 --steps 2", ["unknown camera 'nowhere'", "robot/side"]),
    ("eval {TASK} nowhere.pt", ["no checkpoint at 'nowhere.pt'"]),
    ("eval {TASK} {model} --episodes 0", ["at least one episode"]),
    ("eval {TASK} {model} --max-steps 1", ["no episode ended within 1 steps", "--max-steps"]),
    ("eval {TASK} {model} --env.num_envs 3", ["env.num_envs would have no effect", "--num-envs"]),
    ("eval {TASK} {model} --agent.seed 3", ["agent.seed would have no effect"]),
    ("eval {TASK} {model} --episodes 1 --env.episode_length_s 0.1 --out {file}/eval.json", ["eval.json"]),
    ("train {TASK} --seeds one,two", ["--seeds", "one,two"]),
    ("train {TASK} --seeds 1,1", ["twice"]),
    ("train {TASK} --seeds 1, --parallel 1", ["--seeds"]),
    ("train {TASK} --seeds 1,2 --parallel 0", ["--parallel"]),
    ("train {TASK} --seeds 1,2 --seed 3", ["--seeds and --seed exclude each other"]),
    ("train {TASK} --seeds 1,2 --agent.seed 3", ["agent.seed"]),
    ("train {TASK} --seeds 1,2 --env.num_envz 3", ["'env.num_envs'"]),
    ("train {TASK} --seeds 1,2 --log-dir {file}/runs", ["runs"]),
    ("train {TASK} --parallel 2", ["--parallel goes with --seeds"]),
    ("train {TASK} --preset gpu", ["unknown preset", "'gpu'", "cpu"]),
    ("train {TASK} --sim genezis", ["unknown engine 'genezis'"]),
    ("train {TASK} --backend rslrl", ["unknown backend", "rsl_rl"]),
    ("train {TASK} --log-dir {file}/run", ["cannot write to", "run"]),
    ("train {TASK} --log-dir {run}", ["already holds a run", "--resume"]),
    ("train {TASK} --num-envs 0", ["num_envs"]),
    ("train {TASK} --num-envs -3", ["num_envs"]),
    ("train {TASK} --max-iterations -1", ["max_iterations"]),
    ("train {TASK} --dt 0", ["env.simulation.dt must be positive"]),
    ("train {TASK} --agent.save_interval 0", ["save_interval"]),
    ("train {TASK} --agent.num_steps_per_env 0", ["num_steps_per_env"]),
    ("train {TASK} --agent.algorithm.num_mini_batches 0", ["num_mini_batches"]),
    ("train {TASK} --agent.algorithm.num_learning_epochs 0", ["num_learning_epochs"]),
    ("train {TASK} --agent.algorithm.learning_rate -1", ["learning"]),
    ("train {TASK} --agent.obs_groups.actor nothing", ["nothing"]),
    ("train {TASK} --env.events.push.interval_s none", ["interval_s"]),
    ("train {TASK} --env.events.jitter.mode interval", ["interval_s"]),
    ("train {TASK} --env.observations.policy.history 0", ["history"]),
    ("train {TASK} --env.actions.cart.latency 3,1", ["latency"]),
    ("train {TASK} --env.actions.cart.joints sled", ["sled", "slide"]),
    ("train {TASK} --env.rewards.upright.params.joint hinges", ["upright", "'hinge'"]),
    ("list --env.num_envs 3", ["'list' takes no config overrides"]),
    ("list engines --agent.seed=3", ["'list' takes no config overrides"]),
]


@pytest.fixture
def places(tmp_path: Path, trained_run: Path) -> dict[str, Any]:
    """Good and bad files that the commands above name."""
    model = trained_run / "model_final.pt"
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("a regular file")
    (tmp_path / "text.pt").write_text("no weights in here")
    (tmp_path / "pickle.pt").write_bytes(pickle.dumps({"infos": {"task": TASK}}))
    (tmp_path / "truncated.pt").write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    torch.save({"state_dict": {"weight": torch.zeros(2)}}, tmp_path / "foreign.pt")
    shutil.copytree(trained_run, tmp_path / "run")
    files = {name: tmp_path / f"{name}.pt" for name in ("text", "pickle", "truncated", "foreign")}
    directories = {"empty": tmp_path / "empty", "file": tmp_path / "file", "run": tmp_path / "run", "model": model}
    return {"TASK": TASK, "OTHER": OTHER, **files, **directories}


@pytest.mark.parametrize(("typed", "said"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_a_mistake_is_one_line_that_says_what_is_wrong(
    typed: str, said: list[str], places: dict[str, Any], mistake: Callable[..., str]
) -> None:
    arguments = typed.format(**places).split()
    if arguments[0] == "train" and len(arguments) > 1:  # should a mistake go unnoticed, then at a small size
        arguments[2:2] = [flag for flag in TINY if flag.split("=")[0] not in arguments and "--resume" not in arguments]
    error = mistake(*arguments)
    assert error.startswith("genelab: ")
    for words in said:
        assert words in error


@pytest.mark.parametrize(
    "typed", ["train {TASK} --num-env 8", "play {TASK} --sim bullet", "trian", "eval {TASK} {text}"]
)
def test_a_mistake_is_one_line_in_a_real_process_too(
    typed: str, places: dict[str, Any], genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = genelab(*typed.format(**places).split(), cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("content", ["", "not json", "[]", "{}", '{"task": "GeneLab-Inverted-Pendulum-v0"}'], ids=repr)
def test_resuming_from_a_run_file_of_another_program_is_a_one_line_error(
    content: str, mistake: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text(content)
    assert "run" in mistake("train", TASK, "--resume", "run")


def test_resuming_without_the_configs_is_a_one_line_error(
    trained_run: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    (tmp_path / "run/params/env.json").unlink()
    assert "env.json" in mistake("train", TASK, "--resume", "run")


def test_resuming_from_a_truncated_state_is_a_one_line_error(
    trained_run: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    state = tmp_path / "run/state/resume.pt"
    state.write_bytes(state.read_bytes()[:5000])
    assert "resume.pt" in mistake("train", TASK, "--resume", "run")


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize("command", ["play", "train"])
def test_a_window_without_a_display_is_a_one_line_error_that_offers_what_works(
    command: str, mistake: Callable[..., str]
) -> None:
    assert "--headless" in mistake(command, TASK, "--vis", "--num-envs", 2)


@pytest.mark.usefixtures("no_display")
def test_a_training_that_finds_no_display_does_not_leave_a_run_that_claims_to_be_running(
    mistake: Callable[..., str], tmp_path: Path
) -> None:
    mistake("train", TASK, "--vis", *TINY, "--log-dir", "run")
    run_file = tmp_path / "run/run.json"
    assert not run_file.exists() or '"status": "running"' not in run_file.read_text()


def test_a_mistake_in_a_training_leaves_no_run_behind(mistake: Callable[..., str], tmp_path: Path) -> None:
    mistake("train", TASK, *TINY, "--env.rewards.upright.params.joint", "nothing", "--log-dir", "run")
    assert not (tmp_path / "run").exists()


def test_a_broken_run_elsewhere_does_not_hide_the_newest_policy(
    cli: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "logs/rsl_rl/good")
    (tmp_path / "logs/rsl_rl/broken").mkdir()
    (tmp_path / "logs/rsl_rl/broken/run.json").write_text("{half a fi")
    assert cli("play", TASK, "--agent", "trained", "--steps", 2).code == 0


def test_no_arguments_show_the_help(cli: Callable[..., Any]) -> None:
    outcome = cli()
    assert outcome.code == 0
    assert all(command in outcome.out for command in ("list", "info", "play", "train", "eval"))


@pytest.mark.parametrize("command", ["list", "info", "play", "train", "eval"])
def test_the_help_of_each_command_has_an_example(command: str, cli: Callable[..., Any]) -> None:
    outcome = cli(command, "--help")
    assert outcome.code == 0
    assert f"Example: genelab {command} " in " ".join(outcome.out.split())


def test_the_version_is_shown(cli: Callable[..., Any]) -> None:
    assert re.fullmatch(r"genelab \d+\.\d+\.\d+\n", cli("--version").out)


def test_list_shows_every_task(cli: Callable[..., Any]) -> None:
    lines = cli("list", "tasks").out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == sorted(tasks())
    assert cli("list").out.splitlines() == lines


def test_list_shows_only_the_tasks_with_a_tag(cli: Callable[..., Any]) -> None:
    lines = cli("list", "--tag", "recurrent").out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["GeneLab-Inverted-Pendulum-Memory-v0"]


@pytest.mark.parametrize(
    ("kind", "row"), [("robots", "pole"), ("engines", r"mujoco\s+yes"), ("backends", r"rsl_rl\s+yes")]
)
def test_list_shows_robots_engines_and_backends(kind: str, row: str, cli: Callable[..., Any]) -> None:
    outcome = cli("list", kind)
    assert outcome.code == 0
    assert re.search(row, outcome.out)


@pytest.mark.parametrize("task", SAMPLE)
def test_info_shows_the_tables_of_the_mdp_and_the_presets(task: str, cli: Callable[..., Any]) -> None:
    outcome = cli("info", task)
    assert outcome.code == 0
    for kind in ("actions", "observations", "rewards", "terminations"):
        names = getattr(find(task).env_cfg(), kind)
        assert re.search(rf"^{kind}", outcome.out, re.MULTILINE)
        if kind != "observations":
            assert all(re.search(rf"^{name}  ", outcome.out, re.MULTILINE) for name in names)
    assert "Preset reference" in outcome.out
    assert "Preset cpu (in use)" in outcome.out
    assert all(re.search(rf"^{re.escape(path)}  ", outcome.out, re.MULTILINE) for path in find(task).preset("cpu"))


def test_info_shows_the_published_result(cli: Callable[..., Any]) -> None:
    assert "39.977" in cli("info", TASK).out


def test_info_overrides_lists_every_path_with_type_and_value(cli: Callable[..., Any]) -> None:
    out = cli("info", TASK, "--overrides", "--preset", "reference").out
    assert re.search(r"^--env\.num_envs +int +1 to 1,000,000 +4096$", out, re.MULTILINE)
    assert re.search(r"^--agent\.actor\.rnn_type +lstm\|gru or none +none$", out, re.MULTILINE)
    assert "Preset" not in out


def test_info_shows_values_with_overrides_applied(cli: Callable[..., Any]) -> None:
    out = cli("info", TASK, "--env.rewards.alive.weight", 2).out
    assert re.search(r"^--env\.rewards\.alive\.weight +float +2\.0$", out, re.MULTILINE)


@pytest.mark.parametrize("agent", ["zero", "random"])
@pytest.mark.parametrize("task", SAMPLE)
def test_play_runs_every_task_without_a_policy(task: str, agent: str, cli: Callable[..., Any]) -> None:
    outcome = cli("play", task, "--agent", agent, "--steps", 5, "--headless")
    assert outcome.code == 0, outcome.err
    assert "played 5 steps" in outcome.out


def test_play_is_as_long_as_steps_says(cli: Callable[..., Any]) -> None:
    assert "played 7 steps" in cli("play", TASK, "--steps", 7).out


def test_play_without_a_window_has_an_end_by_default(cli: Callable[..., Any]) -> None:
    assert "played 240 steps" in cli("play", TASK).out


def test_max_steps_wins_over_steps(cli: Callable[..., Any]) -> None:
    assert "played 3 steps" in cli("play", TASK, "--steps", 7, "--max-steps", 3).out


def test_play_takes_the_number_of_worlds_from_the_flag_or_the_override(cli: Callable[..., Any]) -> None:
    assert "in 3 worlds" in cli("play", TASK, "--num-envs", 3, "--steps", 2).out
    assert "in 4 worlds" in cli("play", TASK, "--env.num_envs", 4, "--steps", 2).out
    assert "in 1 worlds" in cli("play", TASK, "--steps", 2).out


def test_play_runs_a_checkpoint(cli: Callable[..., Any], trained_run: Path) -> None:
    outcome = cli("play", TASK, "--checkpoint", trained_run / "model_final.pt", "--steps", 5)
    assert outcome.code == 0, outcome.err
    assert "played 5 steps" in outcome.out


def test_play_trained_takes_the_newest_local_run_and_says_which(
    cli: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        shutil.copytree(trained_run, tmp_path / "logs/rsl_rl" / name, copy_function=shutil.copyfile)
    outcome = cli("play", TASK, "--agent", "trained", "--steps", 2)
    assert outcome.code == 0, outcome.err
    assert "checkpoint: logs/rsl_rl/new/model_final.pt" in outcome.out


@pytest.mark.parametrize("agent", ["random", "trained"])
def test_play_writes_a_video(agent: str, cli: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    checkpoint = ("--checkpoint", trained_run / "model_final.pt") if agent == "trained" else ()
    outcome = cli("play", TASK, "--agent", agent, *checkpoint, "--steps", 10, "--video", "clips/clip.mp4")
    assert outcome.code == 0, outcome.err
    content = (tmp_path / "clips/clip.mp4").read_bytes()
    assert content[4:8] == b"ftyp"
    assert len(content) > 1000
    assert [path.name for path in (tmp_path / "clips").iterdir()] == ["clip.mp4"]


def test_play_prints_what_was_overridden(cli: Callable[..., Any]) -> None:
    out = cli("play", TASK, "--steps", 2, "--env.rewards.alive.weight=2").out
    assert "env.simulation.steps: 240 -> 2" in out
    assert "env.rewards.alive.weight: 1.0 -> 2.0" in out


@pytest.mark.parametrize(
    "flags",
    [
        ("--num-envs", "8", "--max-iterations", "1", "--log-dir", "run"),
        ("--num_envs", "8", "--max_iterations", "1", "--log_dir", "run"),
        ("--num_envs=8", "--steps=1", "--log_dir=run"),
        ("--env.num-envs", "8", "--agent.max_iterations=1", "--log-dir", "run"),
    ],
    ids=" ".join,
)
def test_flags_work_in_both_spellings(flags: tuple[str, ...], cli: Callable[..., Any], tmp_path: Path) -> None:
    outcome = cli("train", TASK, *flags)
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "run/model_final.pt").is_file()
    assert "env.num_envs: 64 -> 8" in outcome.out
    assert "agent.max_iterations: 150 -> 1" in outcome.out


def test_train_prints_the_run_the_preset_and_every_override(cli: Callable[..., Any]) -> None:
    out = cli("train", TASK, *TINY, "--agent.algorithm.learning_rate=3e-4", "--dt", "0.004").out
    assert "preset: cpu" in out
    assert "env.num_envs: 4096 -> " in out
    assert "agent.algorithm.learning_rate: 0.001 -> 0.0003" in out
    assert "env.simulation.dt: 0.005 -> 0.004" in out
    assert re.search(
        r"^run: logs/rsl_rl/GeneLab-Inverted-Pendulum-v0/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", out, re.MULTILINE
    )


def test_the_reference_preset_leaves_the_task_as_it_is(cli: Callable[..., Any], tmp_path: Path) -> None:
    out = cli("train", TASK, *TINY, "--preset", "reference", "--log-dir", "run").out
    assert "preset: reference" in out
    assert "hidden_dims" not in out
