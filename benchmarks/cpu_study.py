"""Which networks, worlds, steps and epochs solve the pendulums fastest on few cores: the study behind the cpu presets.

Every variant is a set of overrides of the reference preset. It is trained on one core (one torch and one physics
thread, as many runs side by side as there are cores) for a fixed time; ten times on the way the deterministic policy is
evaluated over 100 episodes on separate worlds. A variant has solved the task from the evaluation on after which none is
below the target. Times are processor times, which other processes on the machine disturb less than wall clock.

    python benchmarks/cpu_study.py single --seeds 1,2,3
    python benchmarks/cpu_study.py --table            # the table in docs/pendulum-study.md
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import json
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from common import RESULTS, save
import torch

from genelab.core.overrides import show
from genelab.core.registry import find
from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment import provenance
from genelab.experiment.setup import resolve
from genelab.rl.evaluator import evaluate
from genelab.rl.rsl_rl.learner import RslRlLearner

TASKS = {
    "single": ("GeneLab-Inverted-Pendulum-v0", 39.9, 40.0),
    "double": ("GeneLab-Double-Inverted-Pendulum-v0", 59.85, 180.0),
}
"""Task, target of the deterministic return, and the training time of each variant, seconds."""
EVALUATIONS = 8


def _variant(worlds: int, nets: tuple[int, ...], steps: int = 24, epochs: int = 5, **more: Any) -> dict[str, Any]:
    minibatches = more.pop("minibatches", 4)
    return {
        "env.num_envs": worlds,
        "agent.actor.hidden_dims": nets,
        "agent.critic.hidden_dims": nets,
        "agent.num_steps_per_env": steps,
        "agent.algorithm.num_learning_epochs": epochs,
        "agent.algorithm.num_mini_batches": minibatches,
        **{path.replace("__", "."): value for path, value in more.items()},
    }


_LONG = {"agent__algorithm__gamma": 0.995}
_BOLD = {**_LONG, "agent__algorithm__desired_kl": 0.02}

VARIANTS = {
    "single": [
        _variant(512, (128, 128)),
        _variant(512, (64, 64)),
        _variant(512, (32, 32)),
        _variant(256, (64, 64)),
        _variant(512, (64, 64), **_LONG),
        _variant(512, (64, 64), **_BOLD),
    ],
    "double": [
        _variant(1024, (128, 128)),
        _variant(1024, (128, 128), **_BOLD),
        _variant(512, (64, 64), **_BOLD),
    ],
}
"""Overrides of the reference preset."""


class _NoRun:
    """A run that keeps nothing, for the runner."""

    directory = Path()
    stop_requested = False

    def log(self, iteration: int, total_iterations: int, metrics: dict[str, float], unit: str) -> None: ...

    def save_checkpoint(self, name: str, data: dict[str, Any]) -> Path:
        return Path(name)

    def save_state(self, data: dict[str, Any]) -> None: ...

    def load_state(self) -> None: ...


def solve(which: str, variant: dict[str, Any], seed: int) -> dict[str, Any]:
    """Train one variant for its time; return the evaluations on the way as [seconds, samples, return]."""
    task, _, budget_s = TASKS[which]
    overrides = [(path, show(value)) for path, value in variant.items()]
    setup = resolve(task, preset="reference", overrides=[*overrides, ("agent.seed", str(seed))])
    setup.env_cfg.simulation.threads = 1
    torch.set_num_threads(1)
    torch.manual_seed(derive_seed(seed, "learner"))
    env = ManagerBasedRlEnv(setup.env_cfg, seed=seed)
    learner = RslRlLearner(env, setup.agent_cfg, infos={})
    env.randomize_episode_start()
    eval_cfg = find(task).env_cfg(play=True)
    eval_cfg.num_envs, eval_cfg.simulation.threads = 50, 1
    eval_env = ManagerBasedRlEnv(eval_cfg)
    trained_s, curve = 0.0, []
    while trained_s < budget_s:
        start = time.process_time()
        while time.process_time() - start < budget_s / EVALUATIONS:
            setup.agent_cfg.max_iterations = learner.iteration + 1
            learner.learn_in(_NoRun())
        trained_s += time.process_time() - start
        value = evaluate(eval_env, learner.policy(eval_env.num_envs), 2)["metrics"]["return_mean"]
        curve.append([round(trained_s, 1), learner.steps, round(value, 3)])
    print(which, show(tuple(variant.values())), seed, curve, flush=True)
    return {"seed": seed, "curve": curve}


def solved_at(curve: list[list[float]], target: float) -> float | None:
    """Seconds from which on no evaluation is below the target."""
    solved = None
    for seconds, _, value in curve:
        solved = (solved or seconds) if value >= target else None
    return solved


def study(which: str, seeds: list[int]) -> None:
    task, target, budget_s = TASKS[which]
    with ProcessPoolExecutor(provenance.cores(), mp_context=get_context("spawn")) as pool:
        jobs = [(v, [pool.submit(solve, which, v, seed) for seed in seeds]) for v in VARIANTS[which]]
        rows = []
        for variant, results in jobs:
            rows.append({"overrides": variant, "runs": [result.result() for result in results]})
            save(f"cpu_study_{which}", {"task": task, "target": target, "budget_s": budget_s, "rows": rows}, quiet=True)


def table() -> str:
    """The results as Markdown."""
    lines = []
    for which, (task, target, budget_s) in TASKS.items():
        path = RESULTS / f"cpu_study_{which}.json"
        if not path.exists():
            continue
        lines += [f"### {task}: {budget_s:.0f} s on one core, target {target}", ""]
        lines += ["| worlds | nets | gamma | KL target | solved after (s) | last return | samples/s |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
        for row in json.loads(path.read_text())["rows"]:
            o, curves = row["overrides"], [run["curve"] for run in row["runs"]]
            times = [solved_at(curve, target) for curve in curves]
            rate = statistics.median(curve[-1][1] / curve[-1][0] for curve in curves)
            lines.append(
                f"| {o['env.num_envs']} | {'-'.join(map(str, o['agent.actor.hidden_dims']))} "
                f"| {o.get('agent.algorithm.gamma', 0.99)} | {o.get('agent.algorithm.desired_kl', 0.01)} "
                f"| {', '.join('-' if t is None else f'{t:.0f}' for t in times)} "
                f"| {', '.join(f'{curve[-1][2]:.2f}' for curve in curves)} | {rate / 1000:.0f} k |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=list(TASKS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--table", action="store_true", help="print the results as a Markdown table")
    arguments = parser.parse_args()
    if arguments.table:
        print(table())
    else:
        study(arguments.which or "single", [int(seed) for seed in arguments.seeds.split(",")])


if __name__ == "__main__":
    main()
