"""The same training with several seeds, one process each. Repeated, it continues what is unfinished."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.json_data import flatten
from genelab.core.run_files import RUN_FILE, seed_directory
from genelab.experiment.launch import LocalProcesses, threads_each, work_through
from genelab.experiment.run.directory import Run, new_directory
from genelab.experiment.run.lock import locked
from genelab.experiment.run.seed_lines import SeedLines
from genelab.experiment.run.summary import differences, summarise
from genelab.experiment.setup import Setup
from genelab.experiment.train import TrainRequest, resolve_training
from genelab.experiment.warm_start import file_digest


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
    """Train every seed in ``<parent>/seed_<S>``, at most `parallel` at once, and summarise. Returns the exit code.

    Seeds that have finished are left alone, those that were begun are continued.
    """
    threads = threads_each(parallel, len(seeds))
    setup = resolve_training(request)  # a mistake is found here, once, and not in every child
    parent = request.log_dir or new_directory("multi-seed", request.task)
    with locked(parent):
        say(f"runs: {parent}")
        if threads is not None:
            say(f"threads per run: {threads}")
        places = {seed_directory(parent, seed): seed for seed in seeds}

        def next_command(directory: Path) -> list[str] | None:
            return training_command(request, setup, directory, places[directory], threads)

        unfinished = {}
        for directory, seed in places.items():
            if next_command(directory) is None:
                say(f"seed {seed}: finished before")
            else:
                unfinished[directory] = seed
        agent_cfg = setup.agent_cfg
        with closing(SeedLines(unfinished, agent_cfg.max_iterations, agent_cfg.unit, say)) as lines:
            completed = work_through(unfinished, next_command, LocalProcesses(threads), parallel, lines)
        if not completed:
            say(f"stopped; go on with the same command and --log-dir {parent}")
            return 130
        summary = summarise(parent, say)
    return 0 if set(seeds) <= set(summary["seeds"]) else 1


def training_command(
    request: TrainRequest, setup: Setup, directory: Path, seed: int, threads: int | None
) -> list[str] | None:
    """The command that trains a seed or continues its training, None if there is nothing left to do."""
    if not (directory / RUN_FILE).exists():
        return ["train", *_arguments(request, threads), "--seed", str(seed), "--log-dir", str(directory)]
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
    both = (run.configs(), (setup.env_cfg, setup.agent_cfg))
    configs = [flatten({"env": to_dict(env), "agent": to_dict(agent)}) for env, agent in both]
    return [names[key] for key, value in asked.items() if run.meta.get(key) != value] + differences(*configs)


def _arguments(request: TrainRequest, threads: int | None) -> list[str]:
    """The arguments of a new run, but for its seed and directory."""
    arguments = [word for path, value in request.overrides for word in (f"--{path}", value)]
    options: dict[str, Any] = {f"--{name}": getattr(request, name) for name in ("preset", "backend", "checkpoint")}
    if threads is not None and "--env.simulation.threads" not in arguments:
        options["--env.simulation.threads"] = threads
    if request.evaluation is not None:
        options |= {f"--eval-{name.replace('_', '-')}": v for name, v in asdict(request.evaluation).items()}
    given = (str(word) for option in options.items() if option[1] is not None for word in option)
    return [request.task, *arguments, *given]
