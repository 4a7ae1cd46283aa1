"""Learners in several processes: the weights of one process with the same shards, exact resume, one run."""

import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from genelab.experiment.train import TrainRequest, train
from runs import leftovers, meta, metrics, start, wait_for_iteration

pytestmark = pytest.mark.xdist_group("learners")  # they share a training
TASK = "GeneLab-Inverted-Pendulum-v0"
LEARNING_RATE, EPOCHS, MINI_BATCHES = 1e-3, 2, 2
SETTINGS = {
    "env.num_envs": "32",
    "env.episode_length_s": "0.5",
    "agent.num_steps_per_env": "16",
    "agent.save_interval": "1",
    "agent.torch_threads": "1",
    "agent.actor.obs_normalization": "true",
    "agent.algorithm.learning_rate": str(LEARNING_RATE),
    "agent.algorithm.num_learning_epochs": str(EPOCHS),
    "agent.algorithm.num_mini_batches": str(MINI_BATCHES),
    "agent.algorithm.normalize_v_targets": "true",
}
"""Everything that learners exchange: gradients, divergences, advantages, normalisers of observations and returns."""
DOTTED = [word for path, value in SETTINGS.items() for word in (f"--{path}", value)]
TOGETHER = ("--agent.rollout.learners", "2")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def training(cwd: Path, name: str, iterations: int, *more: str) -> list[str]:
    """The words of a training in a directory of its own."""
    return ["train", TASK, *DOTTED, "--max-iterations", str(iterations), "--log-dir", str(cwd / name), *more]


def torchrun(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *TORCHRUN, *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180)


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A training that starts its two processes itself, and evaluates."""
    cwd = tmp_path_factory.mktemp("learners")
    process = start(cwd, *training(cwd, "run", 4, "--eval-every", "2", "--eval-episodes", "2", *TOGETHER))
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    return SimpleNamespace(directory=cwd / "run", out=out, err=err)


def weights(checkpoint: Path) -> torch.Tensor:
    stored = torch.load(checkpoint, weights_only=True)
    parts = [stored[name] for name in ("actor_state_dict", "critic_state_dict", "value_normalizer_state_dict")]
    return torch.cat([value.double().flatten() for part in parts for value in part.values()])


def test_two_processes_learn_what_one_process_with_two_shards_learns(launched: SimpleNamespace, tmp_path: Path) -> None:
    overrides = [*SETTINGS.items(), ("agent.rollout.workers", "2"), ("agent.max_iterations", "4")]
    train(TrainRequest(TASK, overrides, log_dir=tmp_path / "run"), say=lambda line: None)
    one, two = (weights(directory / "model_1.pt") for directory in (tmp_path / "run", launched.directory))
    # Adam moves a weight by at most about the learning rate. The gradient of 512 samples (256 and their mirror images)
    # that are added up in another order differs by about sqrt(512) * 6e-8 = 1.4e-6 of its parts, which is 1 % of
    # gradients down to 1e-4 of them; smaller ones are rare, and hardly the same in every step.
    assert float((one - two).abs().max()) < 0.01 * LEARNING_RATE * EPOCHS * MINI_BATCHES
    assert not torch.equal(one, two)
    same = ("return_mean", "length_mean", "steps", "reward/alive", "failed_worlds", "termination/time_out")
    first = [metrics(directory)[0] for directory in (tmp_path / "run", launched.directory)]
    assert [first[0][name] for name in same] == [first[1][name] for name in same]


def test_one_process_writes_the_run_and_speaks(launched: SimpleNamespace) -> None:
    assert launched.err.strip() == ""
    assert launched.out.count("run: ") == launched.out.count("weights sha256") == 1
    assert [line["iteration"] for line in metrics(launched.directory)] == [1, 2, 3, 4]
    assert metrics(launched.directory)[-1]["steps"] == 4 * 16 * 32
    assert len((launched.directory / "evaluations.jsonl").read_text().splitlines()) == 2
    assert leftovers(launched.directory) == []


STOPS = """
import os, signal, sys
from genelab.cli.main import main
from genelab.rl.rsl_rl.ranks import RankLearner

run_iteration = RankLearner.run_iteration

def stops_after_two(learner):
    if os.environ["RANK"] == "0" and learner.iteration == 1:
        os.kill(os.getpid(), signal.SIGINT)
    return run_iteration(learner)

RankLearner.run_iteration = stops_after_two
main(sys.argv[1:])
"""


def test_torchrun_and_a_resumed_run_give_the_same_weights(launched: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "stops.py").write_text(STOPS)
    evaluation = ("--eval-every", "2", "--eval-episodes", "2")
    begun = torchrun(tmp_path, "stops.py", *training(tmp_path, "run", 4, *evaluation))
    assert "go on with:" in begun.stdout, begun.stderr
    again = start(tmp_path, "train", TASK, "--resume", str(tmp_path / "run"))
    _, err = again.communicate(timeout=180)
    assert again.returncode == 0, err
    assert meta(tmp_path / "run")["weights_sha256"] == meta(launched.directory)["weights_sha256"]
    assert metrics(tmp_path / "run") == metrics(launched.directory)


def test_all_learners_know_that_a_resumed_run_is_longer(launched: SimpleNamespace, tmp_path: Path) -> None:
    run = shutil.copytree(launched.directory, tmp_path / "run")
    # Its learning rate falls to zero with the last iteration. Learners with other weights are an error.
    again = start(tmp_path, "train", TASK, "--resume", str(run), "--max-iterations", "6")
    _, err = again.communicate(timeout=180)
    assert again.returncode == 0, err


def test_ctrl_c_ends_all_processes_after_an_iteration(tmp_path: Path) -> None:
    process = start(tmp_path, *training(tmp_path, "run", 100_000, *TOGETHER), start_new_session=True)
    wait_for_iteration(process, [tmp_path / "run"], 2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert "go on with:" in out
    assert meta(tmp_path / "run")["status"] == "stopped"


SUMS = """
import sys, time
import torch
from torch import distributed
from genelab.rl.methods.peers import Peers

distributed.init_process_group("gloo")
ours, rank = Peers(0, 2), distributed.get_rank()
assert ours._shared is not None
for turn, size in enumerate((3, 5000, 10, 6000, 6000, 1)):
    torch.manual_seed(2 * turn + rank)
    numbers = torch.randn(size)
    expected = numbers.clone()
    distributed.all_reduce(expected)
    time.sleep(0.02 * (turn % 2 == rank))  # now the one is late, now the other
    ours.add_up([numbers[:1], numbers[1:]])
    assert torch.equal(numbers, expected)
if rank == 1:
    sys.exit("left alone")
ours.add_up([numbers])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="sums go through gloo on other processors")
def test_sums_in_shared_memory_are_those_of_gloo_and_do_not_wait_for_the_dead(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    failed = torchrun(tmp_path, "sums.py")
    assert "left alone" in failed.stderr
    assert "AssertionError" not in failed.stderr


FAULTY = """
import os, sys
from genelab.cli.main import main
from genelab.envs import ManagerBasedRlEnv

step = ManagerBasedRlEnv.step

def fails_in_the_second_process(env, actions):
    if os.environ["RANK"] == "1" and env.step_count > 20:
        raise KeyError("a mistake in a term")
    return step(env, actions)

ManagerBasedRlEnv.step = fails_in_the_second_process
main(sys.argv[1:])
"""


def test_an_error_in_a_follower_arrives_with_its_shard(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    failed = torchrun(tmp_path, "faulty.py", *training(tmp_path, "run", 4))
    assert failed.returncode != 0
    assert failed.stderr.count("RuntimeError: shard 2 of 2: KeyError: 'a mistake in a term'") == 1
    assert meta(tmp_path / "run")["status"] == "failed"


ENDING = """
import atexit, sys
from torch import distributed
from genelab.cli.main import main

atexit.register(lambda: sys.stderr.write(f"still together: {distributed.is_initialized()};"))
main(sys.argv[1:])
"""


def test_learners_part_before_they_end(tmp_path: Path) -> None:
    """A thread of gloo's that drops a tensor while Python ends aborts the process: one run of twelve ended with 241."""
    (tmp_path / "ending.py").write_text(ENDING)
    ended = torchrun(tmp_path, "ending.py", *training(tmp_path, "run", 1))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("still together: False;") == 2


def test_learners_that_cannot_be_are_one_line(mistake: Callable[..., str], tmp_path: Path) -> None:
    words = ("train", TASK, "--log-dir", tmp_path / "run", *TOGETHER)
    assert "recurrent networks learn in one process" in mistake(
        *words, "--agent.actor.rnn_type", "lstm", "--agent.algorithm.symmetry", "none"
    )
    assert "env.num_envs, 33, does not divide evenly" in mistake(*words, "--num-envs", "33")
    assert "mini-batches of 48 samples are too small, 128 is the least" in mistake(*words, "--num-envs", "4")
    assert "exclude each other" in mistake(*words, "--workers", "2")
    assert "only rsl_rl learns in several processes" in mistake(*words, "--backend", "sb3")
    assert "--num-envs-per-gpu goes with --gpus" in mistake(*words, "--num-envs-per-gpu", "2")
    if torch.cuda.device_count() < 2:
        assert "2 learners need a GPU each" in mistake(*words[:4], "--gpus", "2", "--num_envs_per_gpu", "64")
    assert not (tmp_path / "run").exists()
