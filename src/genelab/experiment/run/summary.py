"""The summary of a multi-seed training: a table, and summary.json."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from genelab.core.files import write_json
from genelab.core.run_files import SUMMARY_FILE, seed_directory
from genelab.core.stats import summarize
from genelab.core.table import Table
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.run.directory import Run
from genelab.experiment.run.metrics import ReturnCurve, consistency, run_metrics
from genelab.experiment.run.reading import RunData, read_run
from genelab.experiment.setup import evaluation_cfg
from genelab.rl.evaluator import RandomPolicy, evaluate

BASELINE_WORLDS = 64
BASELINE_SEED = 0


def summarise(task: str, parent: Path, done: list[int], failed: list[int], say: Callable[[str], None]) -> None:
    """Write and print what the finished seeds reached."""
    summary: dict[str, Any] = {"task": task, "seeds": done, "failed": failed}
    if done:
        summary["baseline"] = measure_baseline(seed_directory(parent, done[0]))
        baseline = summary["baseline"]["return_mean"]
        found = [read_run(seed_directory(parent, seed), []) for seed in done]
        curves = [return_curve(run) for run in found]
        described = [_describe(run, curve, baseline) for run, curve in zip(found, curves, strict=True)]
        runs = dict(zip(map(str, done), described, strict=True))
        summary |= {"runs": runs, "metrics": _over_seeds(described, curves, baseline)}
        _print(runs, summary["metrics"], say)
    write_json(parent / SUMMARY_FILE, summary)
    say(f"summary: {parent / SUMMARY_FILE}")


def measure_baseline(directory: Path) -> dict[str, float]:
    """The return of uniformly random actions where a run is evaluated, one episode in each of 64 worlds."""
    run = Run.open(directory)
    trained, _ = run.configs()
    cfg = evaluation_cfg(run.meta["task"], run.meta["env_changes"], trained.simulation)
    cfg.num_envs = BASELINE_WORLDS
    env = ManagerBasedRlEnv(cfg, seed=BASELINE_SEED)
    metrics = evaluate(env, RandomPolicy(env, BASELINE_SEED), 1, seed=BASELINE_SEED)["metrics"]
    env.close()
    return {key: metrics[key] for key in ("return_mean", "return_std", "return_ci95")}


def return_curve(run: RunData) -> ReturnCurve:
    """The returns of a run: of its evaluations if it has any, else of its training episodes."""
    lines = [line for line in run.evaluations or run.rows if "return_mean" in line]
    return ReturnCurve(
        returns=[line["return_mean"] for line in lines],
        steps=[line["steps"] for line in lines],
        optimiser_steps=[line["optimiser_steps"] for line in lines],
    )


def _describe(run: RunData, curve: ReturnCurve, baseline: float) -> dict[str, Any]:
    return {
        "iteration": run.meta["iteration"],
        "return_mean": curve.returns[-1] if curve.returns else None,
        "train_s": round(run.train_s or 0.0, 3),
        "weights_sha256": run.meta["weights_sha256"],
        "metrics": run_metrics(curve, baseline) if curve.returns else {},
    }


def _over_seeds(runs: list[dict[str, Any]], curves: list[ReturnCurve], baseline: float) -> dict[str, Any]:
    """Mean, standard deviation and 95 % interval of everything that all seeds have."""
    columns: dict[str, list[float | None]] = {"return_mean": [run["return_mean"] for run in runs]}
    for name in runs[0]["metrics"]:
        columns[name] = [run["metrics"].get(name) for run in runs]
    result: dict[str, Any] = {}
    for name, values in columns.items():
        known = [value for value in values if value is not None]
        if len(known) == len(runs):
            stats = summarize(known)
            result[name] = {"mean": stats.mean, "std": stats.std, "ci95": stats.ci95, "n": stats.n}
    result["consistency"] = consistency(curves, baseline) if all(curve.returns for curve in curves) else None
    return result


def _print(runs: dict[str, Any], metrics: dict[str, Any], say: Callable[[str], None]) -> None:
    rows = [
        (seed, run["iteration"], _digits(run["return_mean"]), f"{run['train_s']:.0f} s") for seed, run in runs.items()
    ]
    say(str(Table(("seed", "iterations", "return_mean", "training"), rows)))
    over_seeds = []
    for name, value in metrics.items():
        stats = value if isinstance(value, dict) else {"mean": value}
        mean, std, interval = (_digits(stats.get(key)) for key in ("mean", "std", "ci95"))
        over_seeds.append((name, mean, std, f"± {interval}" if "ci95" in stats else "-"))
    say("")
    say(str(Table(("over seeds", "mean", "std", "95 % interval"), over_seeds)))


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
