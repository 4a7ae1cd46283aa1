"""The control suite over bare ``Batch.step``, one thread: control steps per second of CPU time of both, their ratio."""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import json
import statistics

from common import RESULTS, save
from env_throughput import measure
import torch

from genelab.tasks.suite import TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=0.1, help="of bare physics in a round, roughly")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="a part of the names of the tasks to measure; other rows stay")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    measured = kept()
    for spec in TASKS:
        if arguments.only in spec.id:
            once = measure(spec.id, arguments.num_envs, 3, 2, threads=1)
            steps = max(3, round(arguments.seconds * once["theirs_steps_per_s"] / arguments.num_envs))
            measured[spec.id] = measure(spec.id, arguments.num_envs, steps, arguments.rounds, threads=1)
            print(spec.id, measured[spec.id], flush=True)
            keep(measured, arguments.num_envs)


def kept() -> dict[str, dict[str, float]]:
    """What was measured before, by task."""
    path = RESULTS / "suite_throughput.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return {spec.id: found[spec.id] for spec in TASKS if spec.id in found}


def keep(measured: dict[str, dict[str, float]], num_envs: int) -> None:
    median = statistics.median(row["ratio_median"] for row in measured.values())
    what = f"environment over bare Batch.step, {num_envs} worlds, one thread, by CPU time"
    save("suite_throughput", {"what": what, "median_of_the_ratios": median, **measured}, quiet=True)


if __name__ == "__main__":
    main()
