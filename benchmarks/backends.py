"""What every algorithm of every RL library learns on the inverted pendulum within a stated budget, over seeds.

Each run is ``genelab train TASK --backend B --agent.algorithm A``, evaluated on the way and at the end (deterministic
policy, 100 episodes on worlds of their own). All have the same task and networks; the three PPOs also the same budget,
worlds, rollouts and epochs. Off-policy algorithms take fewer steps in fewer worlds and learn more from each.

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

from genelab.core.files import read_json_lines
from genelab.core.overrides import show
from genelab.experiment.run.directory import Run
from genelab.experiment.train import TrainRequest, train
from genelab.rl.eval_callback import EVALUATIONS_FILE, EvalSettings

TASK = "GeneLab-Inverted-Pendulum-v0"
WORLDS, ROLLOUTS = 64, 200
STEPS = WORLDS * ROLLOUTS * 24
"""The budget of the cpu presets of skrl and sb3 in environment steps, and here of rsl_rl too."""
OFF_POLICY = {"env.num_envs": 16, "agent.max_iterations": 40_000, "agent.decay_learning_rate": True}
EVALUATIONS = 10


def variants() -> dict[tuple[str, str], dict[str, Any]]:
    """Backend and algorithm, with the overrides of the reference preset."""
    found: dict[tuple[str, str], dict[str, Any]] = {
        ("rsl_rl", "PPO"): {"env.num_envs": WORLDS, "agent.max_iterations": ROLLOUTS}
    }
    for backend in ("skrl", "sb3"):
        found[backend, "PPO"] = {"env.num_envs": WORLDS, "agent.max_iterations": STEPS, "agent.algorithm": "PPO"}
        for algorithm in ("SAC", "TD3", "DDPG"):
            found[backend, algorithm] = {**OFF_POLICY, "agent.algorithm": algorithm}
    return found


def learn(backend: str, algorithm: str, seed: int) -> dict[str, Any]:
    """Train once; the curve is [environment steps, deterministic return]."""
    changes = variants()[backend, algorithm]
    overrides = [(path, show(value)) for path, value in {**changes, "agent.seed": seed}.items()]
    evaluation = EvalSettings(every=changes["agent.max_iterations"] // EVALUATIONS, episodes=100, num_envs=100)
    with tempfile.TemporaryDirectory() as directory:
        request = TrainRequest(
            TASK, overrides, preset="reference", backend=backend, log_dir=Path(directory) / "run", evaluation=evaluation
        )
        run, result = train(request, say=lambda line: None)
        if not result.finished:
            raise SystemExit("stopped: an unfinished run is not a result")
        return {"seed": seed, **_record(run)}


def _record(run: Run) -> dict[str, Any]:
    def rows(name: str) -> list[dict[str, Any]]:
        return read_json_lines(run.directory / name)

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
    for (backend, algorithm), changes in variants().items():
        if arguments.only in (None, algorithm):
            row: dict[str, Any] = {"backend": backend, "algorithm": algorithm, "overrides": changes, "runs": []}
            rows.append(row)
            for seed in map(int, arguments.seeds.split(",")):
                row["runs"].append(learn(backend, algorithm, seed))
                print(backend, algorithm, row["runs"][-1], flush=True)
                save("backends", {"task": TASK, "rows": rows}, quiet=True)


if __name__ == "__main__":
    main()
