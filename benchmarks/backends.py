"""What every algorithm of every RL library learns on the inverted pendulum within a stated budget, over seeds.

Each run is ``genelab train`` with the shown overrides, evaluated on the way and at the end (deterministic policy, 100
episodes on worlds of their own). The three PPOs have the same task, worlds, networks, rollouts, epochs and budget.

    python benchmarks/backends.py --seeds 1,2,3            # everything
    python benchmarks/backends.py --only PPO --seeds 1
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from common import RESULTS, save

from genelab.core.overrides import show
from genelab.experiment.run import Run
from genelab.experiment.train import TrainRequest, train
from genelab.rl.eval_callback import EVALUATIONS_FILE, EvalSettings

TASK = "GeneLab-Inverted-Pendulum-v0"
ON_POLICY: dict[str, Any] = {"env.num_envs": 64}
OFF_POLICY: dict[str, Any] = {
    "env.num_envs": 16,
    "agent.off_policy.gradient_steps": 4,
    "agent.off_policy.learning_starts": 1000,
}
EVALUATIONS = 10


def variants() -> dict[tuple[str, str], tuple[int, dict[str, Any]]]:
    """Backend and algorithm, with the budget in environment steps and the overrides of the reference preset."""
    ppo = 307_200  # 200 rollouts of 24 steps in 64 worlds
    found: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {
        ("rsl_rl", "PPO"): (ppo, {**ON_POLICY, "agent.max_iterations": 200}),
    }
    for backend in ("skrl", "sb3"):
        found[backend, "PPO"] = (ppo, {**ON_POLICY, "agent.max_iterations": ppo})
        for algorithm, steps in {"SAC": 50_000, "TD3": 50_000, "DDPG": 50_000}.items():
            changes = {**OFF_POLICY, "agent.algorithm": algorithm, "agent.max_iterations": steps}
            found[backend, algorithm] = (steps, changes)
    return found


def learn(backend: str, algorithm: str, seed: int) -> dict[str, Any]:
    """Train once; the curve is [environment steps, deterministic return]."""
    budget, changes = variants()[backend, algorithm]
    overrides = [(path, show(value)) for path, value in {**changes, "agent.seed": seed}.items()]
    evaluation = EvalSettings(every=changes["agent.max_iterations"] // EVALUATIONS, episodes=100, num_envs=100)
    with tempfile.TemporaryDirectory() as directory:
        request = TrainRequest(
            TASK, overrides, preset="reference", backend=backend, log_dir=Path(directory) / "run", evaluation=evaluation
        )
        run, _ = train(request, say=lambda line: None)
        return {"seed": seed, "budget": budget, **_record(run)}


def _record(run: Run) -> dict[str, Any]:
    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (run.directory / name).read_text().splitlines()]

    metrics = rows("metrics.jsonl")
    steps_of = {row["iteration"]: row["steps"] for row in metrics}
    curve = [[steps_of[row["iteration"]], round(row["return_mean"], 3)] for row in rows(EVALUATIONS_FILE)]
    seconds = sum(row["collect_s"] + row["learn_s"] for row in metrics)
    return {"return_mean": curve[-1][1], "train_seconds": round(seconds, 1), "curve": curve}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--only", help="this algorithm only; what is known of others is kept")
    arguments = parser.parse_args()
    path = RESULTS / "backends.json"
    rows = json.loads(path.read_text())["rows"] if arguments.only and path.exists() else []
    rows = [row for row in rows if row["algorithm"] != arguments.only]
    for (backend, algorithm), (_, changes) in variants().items():
        if arguments.only in (None, algorithm):
            row: dict[str, Any] = {"backend": backend, "algorithm": algorithm, "overrides": changes, "runs": []}
            rows.append(row)
            for seed in map(int, arguments.seeds.split(",")):
                row["runs"].append(learn(backend, algorithm, seed))
                print(backend, algorithm, row["runs"][-1], flush=True)
                save("backends", {"task": TASK, "rows": rows}, quiet=True)


if __name__ == "__main__":
    main()
