"""Environment steps per second with sb3's replay buffer filled from them, over the environment alone.

Both take the same random actions; ours also turns observations into numpy arrays and stores every transition.
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse

from common import alternate, compare, save
import torch

from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import OffPolicyCfg, Sb3AgentCfg
from genelab.rl.sb3.learner import Sb3Learner


def measure(task: str, num_envs: int, steps: int, rounds: int) -> dict[str, float]:
    cfg = find(task).env_cfg()
    cfg.num_envs = num_envs
    env = ManagerBasedRlEnv(cfg)
    env.randomize_episode_start()
    # learning never starts, so actions are random and cost what the bare loop's cost
    off_policy = OffPolicyCfg(learning_starts=10**12, buffer_size=200_000)
    learner = Sb3Learner(env, Sb3AgentCfg(algorithm="SAC", off_policy=off_policy), {})

    @torch.no_grad()
    def ours() -> None:
        for _ in range(steps):
            learner.collect()

    def theirs() -> None:
        for _ in range(steps):
            env.step(torch.empty(num_envs, env.num_actions).uniform_(-1.0, 1.0))

    alternate(ours, theirs, 2)  # warm up
    return compare(*alternate(ours, theirs, rounds), steps * num_envs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    task = "GeneLab-Inverted-Pendulum-v0"
    measured = measure(task, arguments.num_envs, arguments.steps, arguments.rounds)
    what = "environment with sb3's replay buffer over the environment alone"
    save("sb3_throughput", {"what": what, "num_envs": arguments.num_envs, task: measured})


main()
