"""genelab train"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import Dt, Gpu, Headless, Sim, Task, Vis, shortcuts
from genelab.core.errors import UserError


def train(
    ctx: typer.Context,
    task: Task,
    num_envs: Annotated[int | None, typer.Option(help="Number of worlds (env.num_envs).")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Learning iterations (agent.max_iterations).")] = None,
    steps: Annotated[int | None, typer.Option(help="Alias of --max-iterations.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random (agent.seed).")] = None,
    seeds: Annotated[str | None, typer.Option(help="Several seeds, e.g. 1,2,3: one process each.")] = None,
    parallel: Annotated[
        int | None, typer.Option(help="With --seeds: how many at once (1).", show_default=False)
    ] = None,
    log_dir: Annotated[Path | None, typer.Option(help="Exact directory of the run.")] = None,
    preset: Annotated[str, typer.Option(help="auto, cpu or reference; auto takes cpu on a CPU.")] = "auto",
    sim: Sim = None,
    backend: Annotated[str | None, typer.Option(help="RL library, if the task has agents for several.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Start from the weights of this checkpoint.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this directory exactly.")] = None,
    vis: Vis = False,
    headless: Headless = False,
    gpu: Gpu = False,
    dt: Dt = None,
) -> int:
    """Train a task.

    Example: genelab train GeneLab-Inverted-Pendulum-v0 --seed 1 --agent.algorithm.learning_rate 3e-4
    """
    if steps is not None and max_iterations is not None and steps != max_iterations:
        raise UserError("--steps is an alias of --max-iterations: give one of them")
    user = shortcuts(
        ctx.obj,
        vis=vis,
        headless=headless,
        gpu=gpu,
        dt=dt,
        sim=sim,
        more={
            "env.num_envs": num_envs,
            "agent.max_iterations": max_iterations if max_iterations is not None else steps,
            "agent.seed": seed,
        },
    )
    if resume is not None:
        _exclude("--resume", {"--seeds": seeds, "--log-dir": log_dir, "--checkpoint": checkpoint, "--backend": backend})
        if preset != "auto":
            raise UserError("--preset has no place beside --resume: the run keeps its preset")
        return _resume(task, resume, user)
    if seeds is not None:
        _exclude("--seeds", {"--seed": seed})
        return _train_seeds(task, seeds, parallel or 1, log_dir, ctx, user, preset, backend, checkpoint)
    if parallel is not None:
        raise UserError("--parallel goes with --seeds")
    return _train_one(task, user, preset, backend, log_dir, checkpoint)


def _train_one(
    task: str,
    user: list[tuple[str, str]],
    preset: str,
    backend: str | None,
    log_dir: Path | None,
    checkpoint: Path | None,
) -> int:
    from genelab.experiment.train import TrainRequest
    from genelab.experiment.train import train as start

    command = shlex.join(["genelab", *sys.argv[1:]])
    run, result = start(TrainRequest(task, user, preset, backend, log_dir, checkpoint, command), say=typer.echo)
    return _report(task, run, result)


def _resume(task: str, directory: Path, user: list[tuple[str, str]]) -> int:
    from genelab.experiment.train import resume as go_on

    run, result = go_on(task, directory, user, say=typer.echo)
    return _report(task, run, result)


def _report(task: str, run, result) -> int:  # type: ignore[no-untyped-def]
    typer.echo(f"checkpoint: {result.checkpoint}")
    typer.echo(f"weights sha256: {result.weights_sha256}")
    if not result.finished:
        typer.echo(f"stopped after iteration {result.iteration}; go on with:")
        typer.echo(f"  {shlex.join(['genelab', 'train', task, '--resume', str(run.directory)])}")
        return 130
    return 0


def _train_seeds(
    task: str,
    seeds: str,
    parallel: int,
    log_dir: Path | None,
    ctx: typer.Context,
    user: list[tuple[str, str]],
    preset: str,
    backend: str | None,
    checkpoint: Path | None,
) -> int:
    from genelab.experiment.seeds import parse_seeds, train_seeds
    from genelab.experiment.setup import resolve
    from genelab.experiment.train import UNUSED_IN_TRAINING

    resolve(task, preset=preset, backend=backend, user=user, unused=UNUSED_IN_TRAINING)  # a mistake fails here, once
    arguments = [word for path, value in user for word in (f"--{path}", value)]
    arguments += ["--preset", preset]
    arguments += ["--backend", backend] if backend is not None else []
    arguments += ["--checkpoint", str(checkpoint)] if checkpoint is not None else []
    return train_seeds(task, parse_seeds(seeds), parallel, log_dir, arguments, say=typer.echo)


def _exclude(flag: str, others: dict[str, object]) -> None:
    for name, value in others.items():
        if value is not None:
            raise UserError(f"{flag} and {name} exclude each other")
