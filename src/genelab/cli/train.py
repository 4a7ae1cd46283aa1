"""genelab train"""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genelab.cli.options import ARGUMENTS, Dt, Gpu, Headless, Sim, Task, Vis, backend, is_ray, option, preset, shortcuts
from genelab.core.errors import UserError
from genelab.core.ranges import Count, check
from genelab.experiment.console import say
from genelab.experiment.run.logs import LOGGERS
from genelab.rl.eval_settings import EvalSettings

if TYPE_CHECKING:
    from genelab.experiment.run.directory import Run
    from genelab.rl.backends.base import TrainResult

_run = partial(option, panel="Runs and seeds")
_eval = partial(option, panel="Evaluation during training")


def train(
    ctx: typer.Context,
    task: Task,
    num_envs: Annotated[int | None, option("Train in this many worlds (env.num_envs).")] = None,
    max_iterations: Annotated[int | None, option("Learn so many iterations; skrl, sb3: steps (--steps).")] = None,
    steps: Annotated[int | None, typer.Option(hidden=True, help="The same as --max-iterations.")] = None,
    workers: Annotated[int | None, option("Simulate in this many processes (agent.rollout.workers).")] = None,
    gpus: Annotated[int | None, option("Train on so many GPUs, a process each.")] = None,
    num_envs_per_gpu: Annotated[int | None, option("Have this many worlds on each GPU.")] = None,
    seed: Annotated[int | None, _run("Fix everything random (agent.seed).")] = None,
    seeds: Annotated[str | None, _run("Train with several seeds, such as 1,2,3, each in a process.")] = None,
    parallel: Annotated[int | None, _run("Train this many seeds at once (1).")] = None,
    launcher: Annotated[str, _run("Train here (local), or on a cluster (ray).")] = "local",
    address: Annotated[str | None, _run("Take the Ray cluster at this address.")] = None,
    log_dir: Annotated[Path | None, _run("Put the run into exactly this directory.")] = None,
    preset: Annotated[str, preset("Use these settings of the task (auto: cpu on a CPU).")] = "auto",
    sim: Sim = None,
    backend: Annotated[str | None, backend("Learn with this RL library, if the task has several.")] = None,
    checkpoint: Annotated[Path | None, _run("Start from this checkpoint, 'bundled' or bundled:<task>.")] = None,
    resume: Annotated[Path | None, _run("Continue the run in this directory exactly.")] = None,
    eval_every: Annotated[int | None, _eval("Evaluate every so many iterations.")] = None,
    eval_episodes: Annotated[int | None, _eval("Run this many episodes (10).")] = None,
    eval_num_envs: Annotated[int | None, _eval("Use at most this many worlds (as training).")] = None,
    eval_seed: Annotated[int | None, _eval("Fix everything random in evaluations (0).")] = None,
    logger: Annotated[
        str, _run("Log to tensorboard, or to wandb (Weights & Biases) as well.", complete=lambda: LOGGERS)
    ] = "tensorboard",
    vis: Vis = False,
    headless: Headless = False,
    gpu: Gpu = False,
    dt: Dt = None,
) -> int:
    """Train a policy for a task and write a run: checkpoints, metrics, all it takes to continue.

    Example: genelab train GeneLab-Inverted-Pendulum-v0 --seed 1 --agent.algorithm.learning_rate 3e-4
    """
    from genelab.experiment import cluster, together
    from genelab.experiment import train as training
    from genelab.experiment.seeds import parse_seeds, train_seeds

    if steps is not None and max_iterations is not None and steps != max_iterations:
        raise UserError("--steps is an alias of --max-iterations: give one of them")
    if num_envs_per_gpu is not None:
        processes = gpus or together.started()
        if processes is None or num_envs is not None:
            raise UserError("--num-envs-per-gpu goes with --gpus, in place of --num-envs")
        num_envs = num_envs_per_gpu * processes
    iterations = steps if max_iterations is None else max_iterations
    more = {"env.num_envs": num_envs, "agent.max_iterations": iterations, "agent.seed": seed}
    more |= {"agent.rollout.workers": workers, "agent.rollout.learners": gpus}
    overrides = shortcuts(ctx.obj, vis=vis, headless=headless, gpu=gpu or gpus is not None, dt=dt, sim=sim, more=more)
    on_ray = is_ray(launcher, address)
    if resume is not None:
        given = {"--seeds": seeds, "--log-dir": log_dir, "--checkpoint": checkpoint, "--backend": backend}
        given |= {"--eval-every": eval_every, "--parallel": parallel, "--preset": None if preset == "auto" else preset}
        given |= {"--logger": None if logger == "tensorboard" else logger}
        for flag, value in given.items():
            if value is not None:
                raise UserError(f"{flag} has no place beside --resume: the run keeps its settings")
        return _report(*training.resume(task, resume, overrides, say, cluster.workers(address) if on_ray else None))
    command = shlex.join(["genelab", *ctx.meta[ARGUMENTS]])
    evaluation = _evaluation(eval_every, {"episodes": eval_episodes, "num_envs": eval_num_envs, "seed": eval_seed})
    request = training.TrainRequest(task, overrides, preset, backend, log_dir, checkpoint, command, evaluation, logger)
    if seeds is not None:
        if any(path.replace("-", "_") == "agent.seed" for path, _ in overrides):
            raise UserError("--seeds and --seed exclude each other (agent.seed is the same)")
        several, place = parse_seeds(seeds), partial(cluster.RayRuns, address) if on_ray else None
        default = len(several) if on_ray else 1
        return train_seeds(request, several, default if parallel is None else parallel, say, place)
    if parallel is not None:
        raise UserError("--parallel goes with --seeds")
    return _report(*training.train(request, say, cluster.workers(address) if on_ray else None))


def _evaluation(every: int | None, settings: dict[str, int | None]) -> EvalSettings | None:
    given = {name: value for name, value in settings.items() if value is not None}
    if every is None:
        if given:
            raise UserError(f"--eval-{next(iter(given)).replace('_', '-')} goes with --eval-every")
        return None
    check("--eval-every", every, Count)
    return EvalSettings(every=every, **given)


def _report(run: "Run", result: "TrainResult") -> int:
    say(f"checkpoint: {result.checkpoint}")
    say(f"weights sha256: {result.weights_sha256}")
    if not result.finished:
        say(f"stopped after {result.unit} {result.iteration}; go on with:")
        say(f"  {shlex.join(['genelab', 'train', run.meta['task'], '--resume', str(run.directory)])}")
        return 130
    return 0
