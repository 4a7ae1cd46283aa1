"""The summary of a multi-seed training: a table, and summary.json."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genelab.core.config import flatten, to_dict
from genelab.core.errors import RunStopped, UserError
from genelab.core.files import write_json
from genelab.core.ranges import finite
from genelab.core.run_files import RUN_FILE, SUMMARY_FILE, seed_directory
from genelab.core.stats import interquartile_mean, summarize
from genelab.core.table import Table
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.run.directory import Run
from genelab.experiment.run.metrics import ReturnCurve, consistency, run_metrics
from genelab.experiment.run.reading import RunData
from genelab.experiment.setup import Say, evaluation_cfg
from genelab.rl.backends import unit_of
from genelab.rl.evaluator import RandomPolicy, evaluate

BASELINE_SEED = 0
MAY_DIFFER = {"agent.seed", "agent.max_iterations", "env.simulation.threads"}
"""What runs of one training may have each to itself."""


def summarise(parent: Path, say: Say = print) -> dict[str, Any]:
    """Write and print what the finished seeds below a directory reached, from their files alone."""
    runs, notes = _find_runs(parent)
    done = [seed for seed, run in runs.items() if run is not None and run.status == "finished"]
    failed = [seed for seed, run in runs.items() if run is None or run.status in ("failed", "diverged")]
    found = [run for run in runs.values() if run is not None]
    for run in found[1:]:
        # What one of them is too old to know is at its default there: files say that once they are read as configs.
        alike = not differences(found[0].config, run.config)
        both = [] if alike else [settings(*Run.open(one.directory).configs()) for one in (found[0], run)]
        for path in differences(*both) if both else ():
            names = f"{found[0].name} and {run.name}"
            raise UserError(f"the runs in '{parent}' are not of one training: {names} differ in {path}")
    summary: dict[str, Any] = {
        "task": found[0].meta.get("task") if found else None,
        "seeds": done,
        "failed": failed,
        "unfinished": [seed for seed in runs if seed not in (*done, *failed)],
    }
    if done:
        summary["baseline"] = measure_baseline(seed_directory(parent, done[0]))
        baseline = summary["baseline"]["return_mean"]
        finished = [run for run in found if run.status == "finished"]
        curves = [return_curve(run) for run in finished]
        described = [_describe(run, curve, baseline) for run, curve in zip(finished, curves, strict=True)]
        by_seed = dict(zip(map(str, done), described, strict=True))
        summary |= {"runs": by_seed, "metrics": _over_seeds(described, curves, baseline)}
        _print(by_seed, summary["metrics"], unit_of(finished[0].meta.get("backend")), say)
    for note in notes:
        say(note)
    for kind in ("failed", "unfinished"):
        if summary[kind]:
            say(f"{kind}: seed {', '.join(map(str, summary[kind]))}")
    try:
        write_json(parent / SUMMARY_FILE, summary)
    except OSError as error:
        raise RunStopped(f"cannot write '{parent / SUMMARY_FILE}': {error.strerror}") from error
    say(f"summary: {parent / SUMMARY_FILE}")
    return summary


def _find_runs(parent: Path) -> tuple[dict[int, RunData | None], list[str]]:
    """The run of every seed, None where it ended before there was one; and notes on what is not readable."""
    names = (path.name.removeprefix("seed_").removesuffix(".log") for path in parent.glob("seed_*"))
    seeds = sorted({int(name) for name in names if name.lstrip("-").isdecimal()})
    if not seeds:
        what = "is one run" if (parent / RUN_FILE).exists() else "has no directory seed_<S>"
        raise UserError(f"'{parent}' {what}: a summary is over the directory of several seeds")
    notes: list[str] = []
    homes = {seed: seed_directory(parent, seed) for seed in seeds}
    return {seed: RunData(home, notes) if (home / RUN_FILE).exists() else None for seed, home in homes.items()}, notes


def settings(env_cfg: Any, agent_cfg: Any) -> dict[str, Any]:
    """All values of the configs of a run, by dotted path."""
    return flatten({"env": to_dict(env_cfg), "agent": to_dict(agent_cfg)})


def differences(config: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Dotted paths at which the configs of two runs differ, other than in what may."""
    paths = dict.fromkeys((*config, *other))
    return [path for path in paths if path not in MAY_DIFFER and config.get(path) != other.get(path)]


def measure_baseline(directory: Path) -> dict[str, float]:
    """The return of uniformly random actions where a run is evaluated, one episode in each of 64 worlds."""
    run = Run.open(directory)
    trained, _ = run.configs()
    cfg = evaluation_cfg(run.meta["task"], run.meta["env_changes"], trained.simulation)
    cfg.num_envs = 64
    env = ManagerBasedRlEnv(cfg, seed=BASELINE_SEED)
    metrics = evaluate(env, RandomPolicy(env, BASELINE_SEED), 1, seed=BASELINE_SEED)["metrics"]
    env.close()
    return {key: metrics[key] for key in ("return_mean", "return_std", "return_ci95")}


def return_curve(run: RunData) -> ReturnCurve:
    """The returns of a run: of its evaluations if it has any, else of its training episodes."""
    names = ("return_mean", "steps", "optimiser_steps")
    lines = [[finite(line.get(name)) for name in names] for line in run.evaluations or run.rows]
    complete = [[value for value in line if value is not None] for line in lines if None not in line]
    returns, steps, optimiser_steps = zip(*complete, strict=True) if complete else ((), (), ())
    return ReturnCurve(returns, steps, optimiser_steps)


def _describe(run: RunData, curve: ReturnCurve, baseline: float) -> dict[str, Any]:
    return {
        "iteration": run.meta.get("iteration"),
        "return_mean": curve.returns[-1] if curve.returns else None,
        "train_s": round(run.train_s or 0.0, 3),
        "weights_sha256": run.meta.get("weights_sha256"),
        "metrics": run_metrics(curve, baseline) if curve.returns else {},
    }


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation, 95 % interval, worst and interquartile mean of a number that every seed has."""
    middle, interval = interquartile_mean(values)
    return {**asdict(summarize(values)), "worst": min(values), "iqm": middle, "iqm_ci95": list(interval)}


def _over_seeds(runs: list[dict[str, Any]], curves: list[ReturnCurve], baseline: float) -> dict[str, Any]:
    """The spread of everything that all seeds have, and how consistent they are."""
    numbers = [{"return_mean": run["return_mean"], **run["metrics"]} for run in runs]
    columns: dict[str, list[Any]] = {name: [of_run.get(name) for of_run in numbers] for name in numbers[0]}
    result: dict[str, Any] = {name: spread(values) for name, values in columns.items() if None not in values}
    result["consistency"] = consistency(curves, baseline) if all(curve.returns for curve in curves) else None
    return result


def _print(runs: dict[str, Any], metrics: dict[str, Any], unit: str, say: Say) -> None:
    rows = [(s, run["iteration"], _digits(run["return_mean"]), f"{run['train_s']:.0f} s") for s, run in runs.items()]
    say(str(Table(("seed", f"{unit}s", "return_mean", "training"), rows)))
    say("")
    titles = ("over seeds", "mean", "std", "95 % interval", "worst", "middle half", "its 95 % interval")
    say(str(Table(titles, [(name, *_columns(value)) for name, value in metrics.items()])))


def _columns(stats: Any) -> tuple[str, ...]:
    if not isinstance(stats, dict):
        return (_digits(stats), *"-----")
    mean, std, interval, worst, middle = (_digits(stats[key]) for key in ("mean", "std", "ci95", "worst", "iqm"))
    return mean, std, f"± {interval}", worst, middle, " to ".join(map(_digits, stats["iqm_ci95"]))


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"
