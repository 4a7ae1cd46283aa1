"""What a control step of the Franka's SAC costs, by size of the networks and of the batch.

A control step is one step of 64 worlds and 8 gradient steps on what the replay buffer holds. All variants take turns,
so that a noisy machine disturbs all alike; each is stated as a part of the reference preset's.

    OMP_NUM_THREADS=1 python benchmarks/franka_updates.py
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import statistics
import time
from typing import Any

from common import save

import torch

from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.rl.sb3.learner import Sb3Learner

TASK = "GeneLab-Franka-Pick-And-Place-v0"
VARIANTS = {"512, batch 2048": (512, 2048), "512, batch 256": (512, 256), "256, batch 1024": (256, 1024)}
VARIANTS |= {"256, batch 256": (256, 256)}
ROUNDS, FILL = 12, 210
"""Timed rounds, and control steps before: two episodes, since hindsight takes whole ones."""


def learner(width: int, batch: int) -> Sb3Learner:
    """The reference preset's learner with other networks, and a buffer that can be learnt from."""
    changes = {"agent.hidden_dims": f"{width},{width},{width}", "agent.off_policy.batch_size": str(batch)}
    setup = resolve(TASK, preset="reference", overrides=list(changes.items()))
    one = Sb3Learner(ManagerBasedRlEnv(setup.env_cfg, seed=0), setup.agent_cfg, {})
    for _ in range(FILL):
        _collect(one)
    return one


@torch.no_grad()
def _collect(one: Sb3Learner) -> None:
    one.collect()
    one.control_steps += 1


def _times(one: Sb3Learner) -> tuple[float, float]:
    start = time.perf_counter()
    _collect(one)
    collected = time.perf_counter()
    one.update()
    return collected - start, time.perf_counter() - collected


def main() -> None:
    learners = {name: learner(*sizes) for name, sizes in VARIANTS.items()}
    for one in learners.values():
        one.update()
    rounds = [{name: _times(one) for name, one in learners.items()} for _ in range(ROUNDS)]
    rows: dict[str, Any] = {}
    for name in VARIANTS:
        shares = [sum(times[name]) / sum(times["512, batch 2048"]) for times in rounds]
        learning = [times[name][1] / sum(times[name]) for times in rounds]
        rows[name] = {
            "of_reference": round(statistics.median(shares), 3),
            "share_of_learning": round(statistics.median(learning), 3),
            "ms": round(1e3 * statistics.median(sum(times[name]) for times in rounds), 1),
        }
    save("franka_updates", {"task": TASK, "torch_threads": torch.get_num_threads(), "variants": rows})


if __name__ == "__main__":
    main()
