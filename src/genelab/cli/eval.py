"""genelab eval"""

from typing import Annotated, Any

import typer

from genelab.cli.options import Checkpoint, Dt, Gpu, Out, Seed, Sim, Task, option, shortcuts
from genelab.core.table import Table
from genelab.experiment.console import say


def evaluate(
    ctx: typer.Context,
    task: Task,
    checkpoint: Checkpoint,
    num_envs: Annotated[int, typer.Option(help="Use at most this many worlds.")] = 64,
    episodes: Annotated[int, typer.Option(help="Run this many episodes, the same number in every world.")] = 100,
    seed: Seed = 0,
    deterministic: Annotated[
        bool, typer.Option("--deterministic/--stochastic", help="Take mean or sampled actions.")
    ] = True,
    noise: Annotated[bool, typer.Option("--noise/--no-noise", help="Let the actor see with or without noise.")] = True,
    out: Out = None,
    max_steps: Annotated[int | None, option("Stop after this many control steps.")] = None,
    sim: Sim = None,
    gpu: Gpu = False,
    dt: Dt = None,
) -> None:
    """Evaluate a checkpoint over a fixed number of episodes per world.

    Example: genelab eval GeneLab-Inverted-Pendulum-v0 logs/…/model_final.pt --episodes 100 --out eval.json
    """
    from genelab.experiment.evaluate import run_evaluation

    record = run_evaluation(
        task,
        checkpoint,
        shortcuts(ctx.obj, gpu=gpu, dt=dt, sim=sim),
        num_envs=num_envs,
        episodes=episodes,
        seed=seed,
        deterministic=deterministic,
        noise=noise,
        max_steps=max_steps,
        out=out,
        say=say,
    )
    metrics = record["metrics"]
    returns = f"return_mean {metrics['return_mean']:.3f} ± {metrics['return_ci95']:.3f} (95 %)"
    success = "-" if metrics["success_rate"] is None else f"{metrics['success_rate']:.3f}"
    size = f"{record['num_episodes']} episodes, {record['wall_clock_seconds']:.1f} s"
    say(f"{returns}, length_mean {metrics['length_mean']:.1f}, success_rate {success}, {size}")
    if record["failed_worlds"]:
        say(f"the physics of a world broke down {record['failed_worlds']} times (failed_worlds)")
    for name in [key.removeprefix("per_") for key in record if key.startswith("per_")]:
        say(_group_table(name, record[f"per_{name}"]))
    if not record["complete"]:
        say(f"stopped by --max-steps before every world had its {record['episodes_per_env']} episodes")
    if out is not None:
        say(f"written to {out}")


def _group_table(name: str, groups: list[dict[str, Any]]) -> Table:
    """Return, length, success and the task's metrics of each group of worlds."""
    metrics = list(groups[0]["task"])
    rows = []
    for group in groups:
        success = "-" if group["success_rate"] is None else f"{group['success_rate']:.2f}"
        numbers = [f"{group['return_mean']:.2f}", f"{group['length_mean']:.0f}", success]
        tasks = [f"{group['task'][metric]:.3f}" for metric in metrics]
        rows.append([str(group[name]), str(group["episodes"]), *numbers, *tasks])
    return Table((name, "episodes", "return", "length", "success", *metrics), rows)
