"""Training steps per second of this commit over an earlier one, in turns in one run, at equal networks and epochs.

Each turn is a training process of its own, from this checkout and from a worktree of the other commit, in the same
Python environment. The first iterations of each are left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import save

ROOT = Path(__file__).parents[1]
TASK = "Genelab-Velocity-Flat-Unitree-Go1-v0"
SETTINGS = (
    "--preset cpu --seed 1 --env.num_envs 1024 --env.simulation.dt 0.005 --env.decimation 4 "
    "--agent.actor.hidden_dims 128,128,128 --agent.critic.hidden_dims 128,128,128 "
    "--agent.algorithm.num_learning_epochs 4"
)
WARM_UP = 3


def rate(source: Path, iterations: int, run: Path) -> float:
    """Steps per second of a training from this source: the median over its iterations."""
    command = [sys.executable, "-m", "genelab", "train", TASK, *SETTINGS.split(), "--log-dir", str(run)]
    command += ["--agent.max_iterations", str(WARM_UP + iterations)]
    environment = os.environ | {"PYTHONPATH": str(source / "src")}
    subprocess.run(command, cwd=source, env=environment, check=True, stdout=subprocess.DEVNULL)
    rows = (run / "metrics.jsonl").read_text().splitlines()[WARM_UP:]
    return statistics.median(json.loads(row)["steps_per_s"] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--iterations", type=int, default=12, help="per turn")
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    rates: dict[str, list[float]] = {"ours": [], "theirs": []}
    with tempfile.TemporaryDirectory() as directory:
        sources = {"ours": ROOT, "theirs": Path(directory) / "theirs"}
        worktree = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*worktree, "add", "--detach", str(sources["theirs"]), arguments.commit], check=True)
        try:
            for turn in range(arguments.rounds):
                for name in rates if turn % 2 == 0 else reversed(rates):
                    run = Path(directory) / f"{name}_{turn}"
                    rates[name].append(rate(sources[name], arguments.iterations, run))
        finally:
            subprocess.run([*worktree, "remove", "--force", str(sources["theirs"])], check=True)
    ratios = [ours / theirs for ours, theirs in zip(rates["ours"], rates["theirs"], strict=True)]
    result = {
        "what": f"training over training at {arguments.commit}: {TASK} {SETTINGS}",
        "ratio_median": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        **{f"{name}_steps_per_s": round(statistics.median(values)) for name, values in rates.items()},
    }
    save("against_commit", result)


main()
