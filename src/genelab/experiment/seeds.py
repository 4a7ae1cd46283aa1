"""The same training with several seeds, a process and a line for each; repeated, it continues what is unfinished."""

import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.run_files import METRICS_FILE, RUN_FILE, seed_directory
from genelab.experiment.console import Display, describe, open_display
from genelab.experiment.inference import file_digest
from genelab.experiment.launch import LocalProcesses, Watch, log_file, threads_each, work_through
from genelab.experiment.run.directory import Run, new_directory
from genelab.experiment.run.lock import locked
from genelab.experiment.run.summary import differences, settings, summarise
from genelab.experiment.setup import Say, Setup
from genelab.experiment.train import TrainRequest, resolve_training

INTERVAL_S = 60.0
"""Time between two plain lines about a seed, where standard output is not a terminal."""
TAIL = 16_384
"""Bytes at the end of a log that are read: more than one line of it."""


class SeedLines(Watch):
    """A row per seed that follows the metrics of its run, and a line for each that begins or ends."""

    def __init__(self, display: Display, seeds: dict[Path, int], total: int, unit: str, say: Say):
        self._seeds, self._say = seeds, say
        self._rows = {directory: display.row(f"seed {seed}", total, unit) for directory, seed in seeds.items()}
        for row in self._rows.values():
            row.begin(0, "waiting")

    def begin(self, directory: Path, command: list[str]) -> None:
        logged = last_line(directory / METRICS_FILE)
        self._rows[directory].begin(0 if logged is None else logged["iteration"], "starting")
        verb = "continued" if "--resume" in command else "started"
        self._say(f"seed {self._seeds[directory]}: {verb}, log {log_file(directory)}")

    def follow(self, running: Iterable[Path]) -> None:
        """Show what running seeds have logged last."""
        for directory in running:
            logged, row = last_line(directory / METRICS_FILE), self._rows[directory]
            if logged is not None and logged["iteration"] != row.done:
                row.update(logged["iteration"], describe(logged))

    def end(self, directory: Path, code: int | None) -> None:
        self.follow([directory])
        row, how = self._rows[directory], {0: "done", None: "ended elsewhere"}.get(code, "failed")
        row.status = f"{row.status}, {how}" if row.done else how
        self._say(f"seed {self._seeds[directory]}: {how if how != 'failed' else f'failed, see {log_file(directory)}'}")


def parse_seeds(text: str) -> list[int]:
    """``"1,2,3"`` as numbers, all different."""
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--seeds expects numbers with commas between them, got '{text}'") from None
    if len(set(seeds)) != len(seeds):
        raise UserError(f"--seeds names a seed twice: '{text}'")
    return seeds


def train_seeds(request: TrainRequest, seeds: list[int], parallel: int, say: Say = print, cluster: Any = None) -> int:
    """Train every seed in ``<parent>/seed_<S>``, at most `parallel` at once, and summarise. Returns the exit code."""
    setup = resolve_training(request)  # a mistake is found here, once, and not in every child
    threads = threads_each(parallel, len(seeds)) if cluster is None else needs(setup)[0]
    parent = request.log_dir or new_directory("multi-seed", request.task)
    with locked(parent):
        say(f"runs: {parent}")
        if threads is not None:
            say(f"threads per run: {threads}")
        places = {seed_directory(parent, seed): seed for seed in seeds}
        next_command = partial(training_command, request, setup, threads)
        unfinished = {directory: seed for directory, seed in places.items() if next_command(directory) is not None}
        for seed in (places[directory] for directory in places if directory not in unfinished):
            say(f"seed {seed}: finished before")
        agent_cfg = setup.agent_cfg
        with closing(open_display(INTERVAL_S)) as display:
            lines = SeedLines(display, unfinished, agent_cfg.max_iterations, agent_cfg.unit, say)
            place = LocalProcesses(threads) if cluster is None else cluster(lambda directory: needs(setup))
            completed = work_through(unfinished, next_command, place, parallel, lines)
        if not completed:
            say(f"stopped; go on with the same command and --log-dir {parent}")
            return 130
        summary = summarise(parent, say)
    return 0 if set(seeds) <= set(summary["seeds"]) else 1


def needs(setup: Setup) -> tuple[int, int]:
    """The cores and GPUs of a run on a cluster: as many as its physics has threads, one if that is left open."""
    simulation = setup.env_cfg.simulation
    return max(1, simulation.threads), int(simulation.gpu)


def training_command(request: TrainRequest, setup: Setup, threads: int | None, directory: Path) -> list[str] | None:
    """The command that trains the seed of a directory or continues that, None if there is nothing left to do."""
    if not (directory / RUN_FILE).exists():
        seed = directory.name.removeprefix("seed_")
        return ["train", *_arguments(request, threads), "--seed", seed, "--log-dir", str(directory)]
    run = Run.open(directory)
    for change in changes(run, request, setup):
        raise UserError(f"'{directory}' is a run with another {change}: choose another --log-dir")
    _, agent_cfg = run.configs()
    length = setup.agent_cfg.max_iterations
    longer = [] if agent_cfg.max_iterations == length else ["--max-iterations", str(length)]
    if run.meta["status"] == "finished" and not longer:
        return None
    return ["train", request.task, "--resume", str(directory), *longer]


def changes(run: Run, request: TrainRequest, setup: Setup) -> list[str]:
    """What a run was not begun with, of what is asked for now."""
    weights = None if request.checkpoint is None else file_digest(request.checkpoint, request.task)
    evaluation = None if request.evaluation is None else asdict(request.evaluation)
    asked = {"task": request.task, "warm_start_sha256": weights, "evaluation": evaluation}
    names = {"task": "task", "warm_start_sha256": "--checkpoint", "evaluation": "--eval-every"}
    configs = settings(*run.configs()), settings(setup.env_cfg, setup.agent_cfg)
    return [names[key] for key, value in asked.items() if run.meta.get(key) != value] + differences(*configs)


def _arguments(request: TrainRequest, threads: int | None) -> list[str]:
    """The arguments of a new run, but for its seed and directory."""
    arguments = [word for path, value in request.overrides for word in (f"--{path}", value)]
    names = ("preset", "backend", "checkpoint", "logger")
    options: dict[str, Any] = {f"--{name}": getattr(request, name) for name in names}
    if threads is not None and "--env.simulation.threads" not in arguments:
        options["--env.simulation.threads"] = threads
    if request.evaluation is not None:
        options |= {f"--eval-{name.replace('_', '-')}": v for name, v in asdict(request.evaluation).items()}
    given = (str(word) for option in options.items() if option[1] is not None for word in option)
    return [request.task, *arguments, *given]


def last_line(path: Path) -> dict[str, Any] | None:
    """The last complete line of a run's metrics, without reading all of them; None while there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL))
            whole = file.read().rpartition(b"\n")[0]
        line = json.loads(whole.rpartition(b"\n")[2])
    except (OSError, ValueError):
        return None
    return line if isinstance(line, dict) and {"iteration", "steps_per_s"} <= line.keys() else None
