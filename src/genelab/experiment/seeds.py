"""The same training with several seeds, one process each."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.run_files import seed_directory
from genelab.experiment import provenance
from genelab.experiment.run.summary import summarise
from genelab.experiment.train import TrainRequest, resolve_training


def parse_seeds(text: str) -> list[int]:
    """``"1,2,3"`` as numbers, all different."""
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--seeds expects numbers with commas between them, got '{text}'") from None
    if len(set(seeds)) != len(seeds):
        raise UserError(f"--seeds names a seed twice: '{text}'")
    return seeds


def train_seeds(request: TrainRequest, seeds: list[int], parallel: int, say: Callable[[str], None] = print) -> int:
    """Train every seed in ``<parent>/seed_<S>``, at most `parallel` at once, and summarise. Returns the exit code."""
    if parallel < 1:
        raise UserError(f"--parallel must be at least 1, not {parallel}")
    resolve_training(request)  # a mistake is found here, once, and not in every child
    task, arguments = request.task, _arguments(request)
    parent = request.log_dir
    if parent is None:
        parent = Path("logs/multi-seed") / task / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to '{parent}': {error.strerror}") from error
    say(f"runs: {parent}")
    threads = max(1, provenance.cores() // min(parallel, len(seeds)))
    environment = dict(os.environ)
    if parallel > 1:  # runs that fight for cores are slower than runs with fewer threads
        environment.setdefault("OMP_NUM_THREADS", str(threads))
        if "--env.simulation.threads" not in arguments:
            arguments = [*arguments, "--env.simulation.threads", str(threads)]
        say(f"threads per run: {threads}")
    waiting, running, failed = list(seeds), {}, []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop the children as Ctrl-C does
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                seed = waiting.pop(0)
                running[seed] = _start(task, seed, parent, arguments, environment)
                say(f"seed {seed}: started, log {_log(parent, seed)}")
            time.sleep(0.2)
            for seed, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[seed]
                if process.returncode != 0:
                    failed.append(seed)
                say(f"seed {seed}: {'done' if process.returncode == 0 else f'failed, see {_log(parent, seed)}'}")
    except KeyboardInterrupt:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
        say(f"stopped; each seed can be continued with --resume {parent}/seed_<S>")
        return 130
    summarise(task, parent, [seed for seed in seeds if seed not in failed], failed, say)
    return 1 if failed else 0


def _arguments(request: TrainRequest) -> list[str]:
    """The command line of a child, but for its seed and directory."""
    arguments = [word for path, value in request.overrides for word in (f"--{path}", value)]
    options: dict[str, Any] = {
        "--preset": request.preset,
        "--backend": request.backend,
        "--checkpoint": request.checkpoint,
    }
    if request.evaluation is not None:
        options |= {f"--eval-{name.replace('_', '-')}": v for name, v in asdict(request.evaluation).items()}
    return arguments + [str(word) for option in options.items() if option[1] is not None for word in option]


def _start(
    task: str, seed: int, parent: Path, arguments: list[str], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    directory = seed_directory(parent, seed)
    command = [sys.executable, "-m", "genelab", "train", task, *arguments]
    command += ["--seed", str(seed), "--log-dir", str(directory)]
    with _log(parent, seed).open("wb") as log:
        # In a session of its own, so that Ctrl-C reaches it once, through `train_seeds`: twice would stop it unsaved.
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)


def _log(parent: Path, seed: int) -> Path:
    return parent / f"seed_{seed}.log"
