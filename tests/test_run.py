"""Runs: what is on disk, that the seed decides everything, and that a run continues exactly wherever it was cut off."""

import random
import resource
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from genelab.core.files import read_json
from genelab.core.stored_config import from_dict
from genelab.experiment.run.directory import new_directory
from genelab.rl.checkpoint import read_checkpoint, read_tensors
from runs import leftovers, meta, metrics, start, wait_for_iteration

TASK = "GeneLab-Inverted-Pendulum-v0"
LONG = 60
"""Iterations of the runs that are cut off: a few seconds."""
LONG_RUN = (
    *("--num-envs", "16", "--max-iterations", str(LONG), "--agent.save_interval", "3"),
    *("--agent.algorithm.decay_learning_rate", "false"),
)
STEADY = {"agent__algorithm__decay_learning_rate": "false"}
"""A learning rate that falls depends on how long a run is to be, so that one made longer is not the longer one."""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., Any]) -> Path:
    """A run of `LONG` iterations that nothing happened to."""
    directory = tmp_path_factory.mktemp("uninterrupted") / "run"
    train_tiny(directory, agent__max_iterations=LONG, agent__save_interval=3, **STEADY)
    return directory


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory, train_tiny: Callable[..., Any]) -> Path:
    """The first three iterations of the same run."""
    directory = tmp_path_factory.mktemp("short") / "run"
    train_tiny(directory, **STEADY)
    return directory


# What is on disk


def test_run_json_says_what_was_run_with_what_and_how_it_ended(trained_run: Path) -> None:
    found = meta(trained_run)
    expected = {"task": TASK, "seed": 42, "preset": "cpu", "backend": "rsl_rl", "engine": "mujoco"}
    assert expected.items() <= found.items()
    assert {"command", "versions", "git_commit", "machine", "torch_threads", "started_at", "config_hash"} <= set(found)
    assert (found["status"], found["iteration"]) == ("finished", 3)
    assert found["torch_threads"] == torch.get_num_threads()
    assert {"python", "genelab", "torch", "mujoco"} <= set(found["versions"])


def test_a_run_can_be_rebuilt_from_its_params(trained_run: Path) -> None:
    env_cfg, agent_cfg = (from_dict(Any, read_json(trained_run / f"params/{name}.json")) for name in ("env", "agent"))
    assert env_cfg.num_envs == 16
    assert agent_cfg.max_iterations == 3


def test_metrics_have_one_line_per_iteration(trained_run: Path) -> None:
    lines = metrics(trained_run)
    assert [line["iteration"] for line in lines] == [1, 2, 3]
    assert [line["steps"] for line in lines] == [16 * 48, 2 * 16 * 48, 3 * 16 * 48]
    assert {"learning_rate", "action_std", "loss/value", "failed_worlds"} <= set(lines[-1])


def test_metrics_are_in_tensorboard_too(trained_run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(trained_run)).Reload()
    lines = metrics(trained_run)
    logged = events.Scalars("loss/value")
    assert [event.step for event in logged] == [1, 2, 3]
    assert [event.value for event in logged] == pytest.approx([line["loss/value"] for line in lines])


def test_there_is_a_checkpoint_every_save_interval_and_at_the_end(uninterrupted: Path) -> None:
    names = {path.name for path in uninterrupted.glob("model_*.pt")}
    assert names == {"model_final.pt", *(f"model_{i}.pt" for i in range(3, LONG + 1, 3))}
    assert read_checkpoint(uninterrupted / "model_6.pt", TASK)["iter"] == 6
    assert read_checkpoint(uninterrupted / "model_final.pt", TASK)["iter"] == LONG


def test_no_temporary_files_are_left(trained_run: Path, uninterrupted: Path) -> None:
    assert leftovers(trained_run) == []
    assert leftovers(uninterrupted) == []


def test_the_default_directory_is_named_after_backend_task_and_time_and_never_taken_twice(tmp_path: Path) -> None:
    first = new_directory("rsl_rl", TASK, tmp_path)
    first.mkdir(parents=True)
    second = new_directory("rsl_rl", TASK, tmp_path)
    assert first.parent == tmp_path / "rsl_rl" / TASK
    assert first != second
    assert not second.exists()


# The seed decides


def test_the_same_seed_gives_the_same_weights(train_tiny: Callable[..., Any], tmp_path: Path) -> None:
    _, once = train_tiny(tmp_path / "1", agent__seed=7)
    _, again = train_tiny(tmp_path / "2", agent__seed=7)
    assert once.weights_sha256 == again.weights_sha256
    assert metrics(tmp_path / "1") == metrics(tmp_path / "2")


def test_whatever_else_was_random_in_the_process_does_not_matter(
    train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    torch.manual_seed(99)
    torch.rand(3)
    _, result = train_tiny(tmp_path / "run")
    assert result.weights_sha256 == meta(trained_run)["weights_sha256"]


def test_another_seed_gives_other_weights(train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    _, result = train_tiny(tmp_path / "run", agent__seed=8)
    assert result.weights_sha256 != meta(trained_run)["weights_sha256"]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_physics_threads_does_not_change_the_weights(
    threads: int, train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    _, result = train_tiny(tmp_path / "run", env__simulation__threads=threads)
    assert result.weights_sha256 == meta(trained_run)["weights_sha256"]


def test_a_process_of_its_own_gives_the_same_weights(
    genelab: Callable[..., subprocess.CompletedProcess[str]], trained_run: Path, tmp_path: Path
) -> None:
    done = genelab("train", TASK, "--num-envs", 16, "--max-iterations", 3, "--log-dir", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"weights sha256: {meta(trained_run)['weights_sha256']}" in done.stdout


# Exact resume


def test_a_run_killed_at_a_random_moment_resumes_to_the_same_weights_and_metrics(
    uninterrupted: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    directory = tmp_path / "run"
    process = start(tmp_path, "train", TASK, *LONG_RUN, "--log-dir", "run")
    moment = random.uniform(1, LONG * 0.7)
    wait_for_iteration(process, [directory], int(moment))
    time.sleep(0.05 * (moment % 1))
    process.kill()
    process.communicate()
    assert meta(directory)["status"] == "running"
    outcome = cli("train", TASK, "--resume", directory)
    assert outcome.code == 0, outcome.err
    assert meta(directory)["weights_sha256"] == meta(uninterrupted)["weights_sha256"], f"killed at {moment}"
    assert metrics(directory) == metrics(uninterrupted), f"killed at {moment}"
    assert meta(directory)["status"] == "finished"


def test_a_run_killed_before_its_first_state_was_saved_starts_again(
    uninterrupted: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    shutil.copytree(uninterrupted, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/state")
    for model in (tmp_path / "run").glob("model_*.pt"):
        model.unlink()
    outcome = cli("train", TASK, "--resume", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    assert meta(tmp_path / "run")["weights_sha256"] == meta(uninterrupted)["weights_sha256"]
    assert metrics(tmp_path / "run") == metrics(uninterrupted)


def test_a_half_written_last_line_of_the_metrics_is_dropped_on_resume(
    trained_run: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    with (tmp_path / "run/metrics.jsonl").open("a") as file:
        file.write('{"iteration": 4, "ste')
    assert cli("train", TASK, "--resume", tmp_path / "run", "--max-iterations", 5).code == 0
    assert [line["iteration"] for line in metrics(tmp_path / "run")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("state", ["untouched", "lost"])
def test_a_finished_run_that_is_resumed_is_what_it_was(
    state: str, trained_run: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    if state == "lost":
        (tmp_path / "run/state/resume.pt").unlink()
    assert cli("train", TASK, "--resume", tmp_path / "run").code == 0
    assert meta(tmp_path / "run")["weights_sha256"] == meta(trained_run)["weights_sha256"]
    assert metrics(tmp_path / "run") == metrics(trained_run)


RECURRENT = {
    "lstm actor": {"agent__actor__rnn_type": "lstm"},
    "gru actor": {"agent__actor__rnn_type": "gru"},
    "both lstm": {"agent__actor__rnn_type": "lstm", "agent__critic__rnn_type": "lstm"},
    "two layers": {"agent__actor__rnn_type": "gru", "agent__actor__rnn_num_layers": 2},
}


@pytest.mark.parametrize(
    ("task", "networks"),
    [*((TASK, networks) for networks in RECURRENT), ("GeneLab-Inverted-Pendulum-Memory-v0", "lstm actor")],
)
def test_a_recurrent_run_continues_exactly(
    task: str, networks: str, train_tiny: Callable[..., Any], cli: Callable[..., Any], tmp_path: Path
) -> None:
    settings = {**STEADY, "agent__algorithm__symmetry": "none", **RECURRENT[networks]}
    _, whole = train_tiny(tmp_path / "whole", task, agent__max_iterations=6, **settings)
    train_tiny(tmp_path / "cut", task, agent__max_iterations=2, **settings)
    outcome = cli("train", task, "--resume", tmp_path / "cut", "--max-iterations", 6)
    assert outcome.code == 0, outcome.err
    assert meta(tmp_path / "cut")["weights_sha256"] == whole.weights_sha256
    assert metrics(tmp_path / "cut") == metrics(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_saves_a_checkpoint_and_says_how_to_go_on(
    number: signal.Signals,
    uninterrupted: Path,
    cli: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = start(tmp_path, "train", TASK, *LONG_RUN, "--log-dir", "run")
    wait_for_iteration(process, [tmp_path / "run"], 5)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    stopped = meta(tmp_path / "run")
    assert stopped["status"] == "stopped"
    assert read_checkpoint(tmp_path / f"run/model_{stopped['iteration']}.pt")["iter"] == stopped["iteration"]
    printed = next(line for line in out.splitlines() if "--resume" in line)
    monkeypatch.chdir(tmp_path)
    assert cli(*shlex.split(printed)[1:]).code == 0
    assert meta(tmp_path / "run")["weights_sha256"] == meta(uninterrupted)["weights_sha256"]
    assert metrics(tmp_path / "run") == metrics(uninterrupted)


def test_a_run_that_was_made_longer_stays_longer_when_it_is_interrupted_and_resumed(
    uninterrupted: Path, short: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(short, tmp_path / "run")
    process = start(tmp_path, "train", TASK, "--resume", "run", "--max-iterations", str(LONG))
    wait_for_iteration(process, [tmp_path / "run"], 6)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    printed = next(line for line in out.splitlines() if "--resume" in line)
    monkeypatch.chdir(tmp_path)
    assert cli(*shlex.split(printed)[1:]).code == 0
    assert meta(tmp_path / "run")["iteration"] == LONG
    assert meta(tmp_path / "run")["weights_sha256"] == meta(uninterrupted)["weights_sha256"]


def test_the_torch_threads_of_a_run_are_restored_on_resume(
    train_tiny: Callable[..., Any], cli: Callable[..., Any], tmp_path: Path
) -> None:
    before = torch.get_num_threads()
    try:
        train_tiny(tmp_path / "run", agent__torch_threads=2, agent__max_iterations=1)
        assert meta(tmp_path / "run")["torch_threads"] == 2
        torch.set_num_threads(1)
        assert cli("train", TASK, "--resume", tmp_path / "run", "--max-iterations", 2).code == 0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    "change",
    [
        ("--env.rewards.alive.weight", "2"),
        ("--agent.algorithm.gamma", "0.9"),
        ("--num-envs", "8"),
        ("--dt", "0.004"),
        ("--seed", "1"),
    ],
    ids=lambda change: change[0],
)
def test_a_resumed_run_refuses_another_config(
    change: tuple[str, str], trained_run: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    assert "cannot change in a resumed run" in mistake("train", TASK, "--resume", tmp_path / "run", *change)


def test_a_resumed_run_accepts_what_it_already_is(trained_run: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    same = ("--num-envs", 16, "--seed", 42, "--agent.algorithm.gamma", 0.99)
    assert cli("train", TASK, "--resume", tmp_path / "run", *same).code == 0


def test_a_resumed_run_refuses_to_end_before_where_it_is(
    trained_run: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    assert "max_iterations" in mistake("train", TASK, "--resume", tmp_path / "run", "--max-iterations", 2)


# When the disk is full


def limited(size: int) -> Callable[[], None]:
    """Files of a process can grow to `size` bytes, no further: what a full disk does."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("room", [100, 3_000, 60_000])
def test_a_full_disk_is_one_line_and_leaves_checkpoint_and_state_intact(
    room: int, trained_run: Path, genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    shutil.copytree(trained_run, tmp_path / "run")
    kept = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.pt")}
    options = ("--resume", "run", "--max-iterations", 8)
    done = genelab("train", TASK, *options, cwd=tmp_path, preexec_fn=limited(room))
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "cannot write to" in done.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.pt")} == kept
    assert leftovers(tmp_path / "run") == []
    assert read_tensors(tmp_path / "run/state/resume.pt")["checkpoint"]["iter"] == 3


def test_a_run_goes_on_exactly_once_there_is_room_again(
    uninterrupted: Path,
    short: Path,
    genelab: Callable[..., subprocess.CompletedProcess[str]],
    cli: Callable[..., Any],
    tmp_path: Path,
) -> None:
    shutil.copytree(short, tmp_path / "run")
    options = ("--resume", "run", "--max-iterations", LONG)
    assert genelab("train", TASK, *options, cwd=tmp_path, preexec_fn=limited(60_000)).returncode == 1
    assert cli("train", TASK, "--resume", tmp_path / "run", "--max-iterations", LONG).code == 0
    assert meta(tmp_path / "run")["weights_sha256"] == meta(uninterrupted)["weights_sha256"]
    assert metrics(tmp_path / "run") == metrics(uninterrupted)


def test_a_new_run_on_a_full_disk_is_one_line(
    genelab: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    options = ("--num-envs", 8, "--max-iterations", 1, "--log-dir", "run")
    done = genelab("train", TASK, *options, cwd=tmp_path, preexec_fn=limited(60_000))
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "nothing had been saved yet" in done.stderr


# Warm start


def test_a_warm_start_changes_the_result(train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path) -> None:
    _, result = train_tiny(tmp_path / "run", checkpoint=trained_run / "model_final.pt")
    assert result.weights_sha256 != meta(trained_run)["weights_sha256"]
    assert meta(tmp_path / "run")["warm_start"] == str(trained_run / "model_final.pt")


def test_a_run_that_began_with_a_bundled_policy_says_which_wherever_the_package_is(
    train_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    begin_with = "bundled:GeneLab-Inverted-Pendulum-v0"
    nets = {"agent__actor__hidden_dims": "64,64", "agent__critic__hidden_dims": "64,64"}
    train_tiny(tmp_path / "run", checkpoint=Path(begin_with), agent__max_iterations=0, **nets)
    assert meta(tmp_path / "run")["warm_start"] == begin_with
    assert len(meta(tmp_path / "run")["warm_start_sha256"]) == 64


def test_a_run_does_not_begin_again_with_other_weights_than_it_did(
    train_tiny: Callable[..., Any], trained_run: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    checkpoint = tmp_path / "begin.pt"
    shutil.copy(trained_run / "model_final.pt", checkpoint)
    train_tiny(tmp_path / "run", checkpoint=checkpoint)
    shutil.rmtree(tmp_path / "run/state")
    checkpoint.write_bytes(checkpoint.read_bytes() + b"changed")
    outcome = cli("train", TASK, "--resume", tmp_path / "run")
    assert outcome.code == 2
    assert "has changed since" in outcome.err
    checkpoint.unlink()
    outcome = cli("train", TASK, "--resume", tmp_path / "run")
    assert outcome.code == 2
    assert str(checkpoint) in outcome.err
    assert meta(tmp_path / "run")["status"] == "finished"  # as it was: nothing ran


def test_a_warm_start_begins_with_the_weights_of_the_checkpoint(
    train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    _, result = train_tiny(tmp_path / "run", checkpoint=trained_run / "model_final.pt", agent__max_iterations=0)
    assert result.weights_sha256 == meta(trained_run)["weights_sha256"]


def test_a_warm_started_run_resumes_exactly(
    train_tiny: Callable[..., Any], trained_run: Path, cli: Callable[..., Any], tmp_path: Path
) -> None:
    checkpoint = trained_run / "model_final.pt"
    _, whole = train_tiny(tmp_path / "whole", checkpoint=checkpoint, agent__max_iterations=3)
    train_tiny(tmp_path / "cut", checkpoint=checkpoint, agent__max_iterations=1)
    assert cli("train", TASK, "--resume", tmp_path / "cut", "--max-iterations", 3).code == 0
    assert meta(tmp_path / "cut")["weights_sha256"] == whole.weights_sha256


@pytest.mark.parametrize(
    "change",
    [
        ("--agent.actor.hidden_dims", "32,32"),
        ("--agent.actor.rnn_type", "lstm", "--agent.algorithm.symmetry", "none"),
    ],
    ids=lambda c: c[0],
)
def test_a_warm_start_refuses_a_checkpoint_that_does_not_fit(
    change: tuple[str, ...], trained_run: Path, mistake: Callable[..., str], tmp_path: Path
) -> None:
    warm = ("--checkpoint", trained_run / "model_final.pt", "--log-dir", tmp_path / "run")
    assert "does not fit" in mistake("train", TASK, "--num-envs", 8, "--max-iterations", 1, *warm, *change)


def test_a_warm_start_that_is_refused_can_be_repeated_with_the_same_log_dir(
    trained_run: Path, mistake: Callable[..., str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    common = ("--num-envs", 8, "--max-iterations", 1, "--log-dir", tmp_path / "run")
    mistake("train", TASK, *common, "--checkpoint", trained_run / "model_final.pt", "--agent.actor.hidden_dims", 8)
    assert cli("train", TASK, *common).code == 0


def test_a_warm_start_sees_the_newest_frame_of_a_history_as_the_policy_saw_its_only_one(
    train_tiny: Callable[..., Any], trained_run: Path, tmp_path: Path
) -> None:
    begin: dict[str, Any] = {"checkpoint": trained_run / "model_final.pt", "agent__max_iterations": 0}
    train_tiny(tmp_path / "run", **begin, env__observations__policy__history=3)
    before, now = (
        torch.load(run / "model_final.pt", weights_only=False)["actor_state_dict"]["mlp.0.weight"]
        for run in (trained_run, tmp_path / "run")
    )
    assert torch.equal(now[:, 16:], before)
    assert not now[:, :16].any()
