"""What Ray costs: the Go1 with two workers, as processes of this machine and as actors of a Ray cluster in it.

    python benchmarks/ray_workers.py [--rounds 3] [--iterations 12] [--out FILE]

Rounds in turns; the first two iterations of a training, in which caches fill, do not count. Times are by the clock:
nothing else should run.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from genelab.core.files import read_json_lines, write_json
from genelab.experiment.cluster import workers
from genelab.experiment.train import TrainRequest, train
from genelab.rl.rsl_rl.shards import ShardedLearner
from genelab.rl.rsl_rl.worker import part, tensors

TASK = "Genelab-Velocity-Flat-Unitree-Go1-v0"


def seconds(kind: Any, iterations: int) -> tuple[float, float]:
    """Median seconds of collecting and of a whole iteration."""
    with tempfile.TemporaryDirectory() as directory:
        overrides = [("agent.rollout.workers", "2"), ("agent.max_iterations", str(iterations))]
        train(TrainRequest(TASK, overrides, "cpu", log_dir=Path(directory) / "run"), lambda line: None, kind)
        lines = read_json_lines(Path(directory) / "run/metrics.jsonl")[2:]
    collect = statistics.median(line["collect_s"] for line in lines)
    return collect, statistics.median(line["collect_s"] + line["learn_s"] for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    sizes: list[float] = []
    build = ShardedLearner.build

    def measured(learner: ShardedLearner) -> None:
        build(learner)
        samples = learner.agent_cfg.steps_per_iteration(learner.env.num_envs)
        sizes.append(sum(t.nbytes for t in tensors(part(learner.method.storage, slice(None)))) / samples)

    ShardedLearner.build = measured
    kinds = {"processes": None, "ray": workers(None)}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(given.rounds):
        for name, kind in kinds.items():
            found[name].append(seconds(kind, given.iterations))
            print(name, *(f"{value:.3f} s" for value in found[name][-1]), flush=True)
    ratios = [[ray[i] / here[i] for here, ray in zip(*found.values(), strict=True)] for i in range(2)]
    result = {
        "task": TASK,
        "seconds": found,
        "ray over processes, collecting": statistics.median(ratios[0]),
        "ray over processes, iteration": statistics.median(ratios[1]),
        "bytes per sample": sizes[0],
    }
    print(json.dumps(result, indent=2))
    if given.out is not None:
        write_json(given.out, result)


if __name__ == "__main__":
    main()
