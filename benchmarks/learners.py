"""What learners do alike: the part of an iteration that is not shared out among processes that learn together.

Every process simulates its worlds and differentiates the losses of its samples. The rest is the same in all of them:
drawing mini-batches, adding up gradients, clipping them, Adam, and the books. Its CPU time, of all threads of the first
process, is the serial part. Waiting for others is neither; the clock says how much of it there is.

What gradients cost however few samples they are of is in what is shared out. It is measured beside it.
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from common import save
import torch

from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.experiment.together import make_env
from genelab.rl.methods.peers import Peers, SharedSums
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.rl.rsl_rl.ranks import RankLearner

GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"


class Stopwatch:
    """CPU seconds of all threads of this process, by what they were spent on."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - start

        return timed


def measure(num_envs: int, rounds: int) -> dict[str, Any]:
    """In every process; what the first one returns counts."""
    count = torch.distributed.get_world_size()
    setup = resolve(GO1, preset="cpu")
    setup.env_cfg.num_envs, setup.agent_cfg.rollout.learners = num_envs, count
    torch.set_num_threads(1)
    RslRlLearner._collect = (watch := Stopwatch()).around("rollouts", RslRlLearner._collect)
    SharedSums._wait = watch.around("waiting", SharedSums._wait)  # it looks at the others again and again
    Peers.rows = watch.around("drawing", Peers.rows)
    torch.distributed.all_reduce = watch.around("sums of gloo", torch.distributed.all_reduce)  # of normalisers
    learner: Any = RankLearner(make_env(setup.env_cfg, setup.agent_cfg), setup.agent_cfg, infos={})
    if torch.distributed.get_rank() > 0:
        learner.follow()
        return {}
    method = learner.method
    method._differentiate = watch.around("gradients", method._differentiate)
    method._batches = watch.around("mini-batches", lambda batches=method._batches: list(batches()))
    for network in (method.actor, method.critic):
        network.update_normalization = watch.around("normalisers", network.update_normalization)
    learner.start()
    iterations = []
    for _ in range(rounds + 1):
        watch.spent, wall, cpu = {}, time.perf_counter(), time.process_time()
        learner.run_iteration()
        iterations.append({**watch.spent, "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall})
    learner.close()
    medians = {name: statistics.median(found[name] for found in iterations[1:]) for name in iterations[0]}
    alike = statistics.median(found["cpu"] - _not_alike(found) for found in iterations[1:])
    return {
        "what": "Go1 flat, cpu preset, learners: CPU time of an iteration in the first process",
        "num_envs": num_envs,
        "learners": count,
        "seconds": {name: round(value, 4) for name, value in medians.items()},
        "serial_s": round(alike, 4),
        "serial_share": round(alike / (medians["cpu"] - medians["waiting"]), 4),
        "gradients_of_24_samples_s": round(_few_samples(), 5),
        "gradient_steps": method.num_learning_epochs * method.num_mini_batches,
        "rounds": rounds,
    }


def _not_alike(found: dict[str, float]) -> float:
    """CPU seconds of an iteration that are shared out, or spent looking whether others are ready."""
    shared = sum(found[name] for name in ("rollouts", "gradients", "mini-batches", "normalisers"))
    return found["waiting"] + shared - found["drawing"] - found["sums of gloo"]


def _few_samples() -> float:
    """CPU seconds of the gradients of a mini-batch of 24 samples."""
    setup = resolve(GO1, preset="cpu")
    setup.env_cfg.num_envs = setup.agent_cfg.algorithm.num_mini_batches
    learner = RslRlLearner(ManagerBasedRlEnv(setup.env_cfg, seed=1), setup.agent_cfg, infos={})
    learner._collect()
    method: Any = learner.method
    method.compute_advantages()
    batch, times = next(method._batches()), []
    for _ in range(200):
        start = time.process_time()
        method._differentiate(batch, 1.0)
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--learners", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    if "RANK" not in os.environ:
        torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone")
        words = (*torchrun, f"--nproc-per-node={arguments.learners}", __file__, *sys.argv[1:])
        raise SystemExit(subprocess.run(words, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode)
    torch.distributed.init_process_group("gloo", timeout=timedelta(minutes=10))
    result = measure(arguments.num_envs, arguments.rounds)
    if result:
        save("learners", result)


if __name__ == "__main__":
    main()
