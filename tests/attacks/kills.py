"""Trainings killed at random moments, inside writes too, and resumed until they are done: the weights must be the same.

Each training is a fork of this process, so that imports are paid once. It kills itself: at one of the operations on
files in its run directory, which Python announces to audit hooks, or a moment after it, in the middle of a write.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import genelab.rl.rsl_rl.learner
import genelab.rl.sb3.learner
import genelab.rl.skrl.learner
from attacks import Trial
from genelab.cli.main import run as genelab
from genelab.core.files import read_json, read_json_lines

TASK = "GeneLab-Inverted-Pendulum-v0"
SMALL = ("--num-envs", "4", "--env.episode_length_s", "0.2")
OFF_POLICY = ("--agent.off_policy.learning_starts", "40", "--agent.off_policy.buffer_size", "120",
              "--agent.off_policy.batch_size", "16", "--agent.off_policy.log_interval", "10")  # fmt: skip
TINY = ("--agent.hidden_dims", "16,16", "--agent.save_interval", "40", "--max-iterations", "160")
RSL_RL = ("--max-iterations", "6", "--agent.save_interval", "1", "--agent.num_steps_per_env", "8")
TRAININGS = {
    "rsl_rl ppo": RSL_RL,
    "rsl_rl lstm": (*RSL_RL, "--agent.actor.rnn_type", "lstm", "--agent.algorithm.symmetry", "none"),
    "rsl_rl workers": (*RSL_RL, "--workers", "2"),
    "rsl_rl with evaluations": (*RSL_RL, "--eval-every", "2", "--eval-episodes", "2"),
    "skrl PPO": ("--backend", "skrl", "--agent.algorithm", "PPO", "--agent.on_policy.num_steps", "10", *TINY),
    "skrl SAC": ("--backend", "skrl", "--agent.algorithm", "SAC", *OFF_POLICY, *TINY),
    "sb3 PPO": ("--backend", "sb3", "--agent.algorithm", "PPO", "--agent.on_policy.num_steps", "10", *TINY),
    "sb3 TD3": ("--backend", "sb3", "--agent.algorithm", "TD3", *OFF_POLICY, *TINY),
}
CLOCK = {"steps_per_s", "collect_s", "learn_s"}
PATIENCE_S = 120.0


def run(count: int, seed: int, trainings: tuple[str, ...] = tuple(TRAININGS)) -> Iterator[Trial]:
    """Kill trainings `count` times in all, one to three times each."""
    yield from in_a_fresh_process("attacks.kills", count, seed, ",".join(trainings))


def attack(count: int, seed: int, trainings: tuple[str, ...]) -> Iterator[Trial]:
    """What `run` does, in this process."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        undisturbed = {name: Undisturbed(name, Path(place) / name.replace(" ", "_")) for name in trainings}
        killed = 0
        while killed < count:
            one = undisturbed[trainings[killed % len(trainings)]]
            kills = [_draw_kill(draw, one.operations) for _ in range(min(draw.choice([1, 1, 2, 3]), count - killed))]
            directory = Path(place) / "killed"
            shutil.rmtree(directory, ignore_errors=True)
            killed += len(kills)
            yield _attempt(one, directory, kills)


class Undisturbed:
    """What a training comes to if nothing happens to it, and how many operations on files it takes."""

    def __init__(self, name: str, directory: Path):
        self.name = name
        counted = directory.with_suffix(".count")
        code, said = in_a_fork(lambda: train(name, directory), lambda: _count_operations(directory, counted))
        if code != 0:
            raise RuntimeError(f"{name} does not train: {said}")
        self.operations = int(counted.read_text())
        self.result = result_of(directory)


def _draw_kill(draw: random.Random, operations: int) -> tuple[int, float]:
    """At which operation, and how many seconds after it; 0 is just before it happens."""
    return draw.randrange(1, operations + 1), draw.choice([0.0, 0.0, draw.uniform(1e-5, 3e-3), draw.uniform(0.0, 0.05)])


def _attempt(one: Undisturbed, directory: Path, kills: list[tuple[int, float]]) -> Trial:
    what = f"{one.name} killed at operations " + ", ".join(f"{at} + {1e3 * after:.2f} ms" for at, after in kills)
    deaths = 0
    for at, after in [*kills, (0, 0.0)]:  # the last one is left alone
        begun = (directory / "run.json").exists()
        code, said = in_a_fork(
            lambda begun=begun: resume(directory) if begun else train(one.name, directory),
            lambda at=at, after=after: _kill_at(directory, at, after) if at else None,
        )
        deaths += code < 0
        if code > 0 or code == -signal.SIGUSR1:
            return Trial(what, "broke", said)
    if result_of(directory) != one.result:
        return Trial(what, "broke", "other weights or metrics than without the kills")
    left = [path.name for path in directory.rglob("*") if path.suffix == ".tmp" or path.name == "run.lock"]
    if left:
        return Trial(what, "broke", f"left behind: {', '.join(left)}")
    return Trial(what, "passed", f"died {deaths} times")


# Trainings in forks


def in_a_fresh_process(module: str, *arguments: object) -> Iterator[Trial]:
    """The trials of a module that is run as a program: torch does not learn in forks of a process that has learnt."""
    here = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Trial(**json.loads(line))
    if process.returncode != 0:
        raise RuntimeError(f"{module} ended with {process.returncode}")


def tell(trials: Iterator[Trial]) -> None:
    """Print trials for `in_a_fresh_process`."""
    for trial in trials:
        print(json.dumps(asdict(trial)), flush=True)


def train(name: str, directory: Path) -> int:
    return genelab(["train", TASK, *SMALL, *TRAININGS[name], "--log-dir", str(directory)])


def resume(directory: Path) -> int:
    return genelab(["train", TASK, "--resume", str(directory)])


def in_a_fork(work: Callable[[], int], prepare: Callable[[], object]) -> tuple[int, str]:
    """Exit code of `work` (negative: the signal it died of) and what it wrote to standard error."""
    with tempfile.TemporaryFile() as error:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(error.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                torch.set_num_threads(1)
                prepare()
                code = work()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        code = _wait(child)
        error.seek(0)
        return code, error.read().decode(errors="replace").strip()[-500:]


def _wait(child: int) -> int:
    """The exit code of a child; one that hangs is ended by SIGUSR1."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGUSR1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def watch(directory: Path, operation: Callable[[], None]) -> None:
    """Call `operation` before every operation on a file in a directory."""
    below = f"{directory}{os.sep}"

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate") and any(
            isinstance(argument, str | os.PathLike) and os.fspath(argument).startswith(below) for argument in arguments
        ):
            operation()

    sys.addaudithook(hook)


def _count_operations(directory: Path, counted: Path) -> None:
    done = 0

    def operation() -> None:
        nonlocal done
        done += 1
        with open(counted, "w") as file:  # beside the directory: not counted itself
            file.write(str(done))

    watch(directory, operation)


def _kill_at(directory: Path, at: int, after: float) -> None:
    left = at

    def operation() -> None:
        nonlocal left
        left -= 1
        if left == 0 and after == 0.0:
            os.kill(os.getpid(), signal.SIGKILL)
        elif left == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends a process wherever it is, as SIGKILL does
            signal.setitimer(signal.ITIMER_REAL, after)

    watch(directory, operation)


def result_of(directory: Path) -> list[Any]:
    """The weights, how the run ended, and all that was recorded but times."""
    meta = read_json(directory / "run.json")
    lines = [read_json_lines(directory / name) for name in ("metrics.jsonl", "evaluations.jsonl")]
    rows = [[{key: value for key, value in row.items() if key not in CLOCK} for row in rows] for rows in lines]
    return [meta["weights_sha256"], meta["status"], meta["iteration"], rows]


if __name__ == "__main__":
    tell(attack(int(sys.argv[1]), int(sys.argv[2]), tuple(sys.argv[3].split(","))))
