"""What workers bring: collection in worker processes over collection in one process with as many threads.

Wall-clock times of two programs that share the cores with others say little, so every thread's CPU time is read from
the kernel, and what the times would be on free cores follows from it:

- in one process, physics runs on all cores and everything else on one: the CPU time of physics (all threads) divided by
  the cores, plus that of everything else;
- with workers, the CPU time of a worker (all have as many worlds), plus that of the learner.

The same for a whole iteration. Its serial part is what runs on one core while the others wait: in an update, what the
calling thread computes more than torch's other threads. Wall-clock times are recorded too, for machines that are free.
"""

import os

os.environ["GOMP_SPINCOUNT"] = "0"  # a thread that waits for others must not look as if it computed

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import save
import env_throughput
import torch

from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.rl.rsl_rl.worker import part, tensors

GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"


def threads_cpu(pid: int) -> dict[int, float]:
    """CPU seconds of each thread of a process, by its id; the calling thread has that of the process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(task.name): int((task / "schedstat").read_text().split()[0]) / 1e9 for task in tasks}


class Measured:
    """A learner, and what its phases took."""

    def __init__(self, num_envs: int, cores: int, workers: int):
        setup = resolve(GO1, preset="cpu")
        setup.env_cfg.num_envs, setup.env_cfg.simulation.threads = num_envs, cores
        setup.agent_cfg.rollout.workers = workers
        cls = RslRlLearner.in_training(setup.agent_cfg)
        self.learner: Any = cls(ManagerBasedRlEnv(setup.env_cfg, seed=1), setup.agent_cfg, infos={})
        self.cores, self.method = cores, self.learner.method
        self.learner.start()
        self.phases: list[dict[str, float]] = []
        self.physics = {"main": 0.0, "all": 0.0}
        """CPU seconds of physics in this process: of the calling thread, and of all threads."""
        engine = self.learner.env.engine
        self._step, engine.step = engine.step, self._timed_step

    def _timed_step(self, n: int = 1) -> None:
        main, all_threads = time.thread_time(), time.process_time()
        self._step(n)
        self.physics["main"] += time.thread_time() - main
        self.physics["all"] += time.process_time() - all_threads

    def pids(self) -> list[int]:
        crew = getattr(self.learner, "crew", None)
        return [] if crew is None else [worker.process.pid for worker in crew.workers.values()]

    def times(self, work: Callable[[], Any]) -> dict[str, float]:
        """Wall-clock seconds, and CPU seconds of the calling thread, of the other threads and of a worker."""
        me, pids, start = os.getpid(), self.pids(), time.perf_counter()
        before, workers = threads_cpu(me), [sum(threads_cpu(pid).values()) for pid in pids]
        work()
        wall, after = time.perf_counter() - start, threads_cpu(me)
        spent = {thread: seconds - before.get(thread, 0.0) for thread, seconds in after.items()}
        busy = [sum(threads_cpu(pid).values()) - earlier for pid, earlier in zip(pids, workers, strict=True)]
        others = sum(seconds for thread, seconds in spent.items() if thread != me)
        return {"wall": wall, "main": spent[me], "others": others, "worker": sum(busy) / max(1, len(busy))}

    def iterate(self) -> None:
        """Collect and learn once, and note what it took."""
        self.physics = {"main": 0.0, "all": 0.0}
        collect = self.times(self.learner._collect)
        learn = self.times(lambda: (self.method.compute_advantages(), self.method.update()))
        books = self.times(lambda: self.learner._log({}))
        # In the parallel parts of an update all threads do the same; the rest is the calling thread's.
        parallel = learn["others"] / (self.cores - 1)
        serial = learn["main"] - parallel + books["main"]
        if self.pids():
            collected, serial = collect["main"] + collect["worker"], serial + collect["main"]
        else:
            terms = collect["main"] - self.physics["main"]
            collected, serial = terms + self.physics["all"] / self.cores, serial + terms
        iteration = collected + learn["main"] + books["main"]
        self.phases.append(
            {
                "collect_s": collected,
                "collect_wall_s": collect["wall"],
                "iteration_s": iteration,
                "serial_s": serial,
                "serial_share": serial / iteration,
                "serial_share_of_learning": (learn["main"] - parallel) / iteration,
                "hand_over_s": collect["main"] if self.pids() else 0.0,
            }
        )

    def median(self, name: str) -> float:
        return statistics.median(phase[name] for phase in self.phases)


def bytes_moved(learner: Any) -> dict[str, float]:
    """What is written to shared memory or sent for a sample, by what it is."""
    samples = learner.env.num_envs * learner.agent_cfg.actions_per_iteration
    weights = sum(value.nbytes for network in learner.networks().values() for value in network.state_dict().values())
    moved = {
        "rollouts": sum(tensor.nbytes for tensor in tensors(part(learner.method.storage, slice(None)))),
        "weights": weights * len(learner.crew.shards),
        "states": sum(map(len, learner.crew.states)),
    }
    return {name: round(value / samples, 1) for name, value in moved.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--cores", type=int, default=2, help="threads in one process, and workers")
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.cores)
    settings = (arguments.num_envs, arguments.cores)
    alone, sharded = Measured(*settings, workers=0), Measured(*settings, workers=arguments.cores)
    for measured in (alone, sharded):
        measured.iterate()
        measured.phases.clear()  # it was the warm-up
    for i in range(arguments.rounds):
        for measured in (alone, sharded) if i % 2 == 0 else (sharded, alone):
            measured.iterate()
    pairs = list(zip(alone.phases, sharded.phases, strict=True))
    ratios = {
        name: [round(one[name] / two[name], 3) for one, two in pairs]
        for name in ("collect_s", "collect_wall_s", "iteration_s")
    }
    bare = env_throughput.measure(GO1, arguments.num_envs // arguments.cores, 20, arguments.rounds, threads=1)
    result = {
        "what": "Go1 flat, cpu preset: workers over one process, from the CPU times of all threads",
        "num_envs": arguments.num_envs,
        "cores": arguments.cores,
        "collection_ratio_median": statistics.median(ratios["collect_s"]),
        "collection_ratios": ratios["collect_s"],
        "iteration_ratio_median": statistics.median(ratios["iteration_s"]),
        "collection_wall_ratio_median": statistics.median(ratios["collect_wall_s"]),
        "environment_over_bare_step_on_one_thread": bare,
        "one_process": {name: round(alone.median(name), 4) for name in alone.phases[0]},
        "workers": {name: round(sharded.median(name), 4) for name in sharded.phases[0]},
        "bytes_per_sample": bytes_moved(sharded.learner),
        "rounds": arguments.rounds,
    }
    alone.learner.close(), sharded.learner.close()
    save("workers", result)


if __name__ == "__main__":
    main()
