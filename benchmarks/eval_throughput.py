"""Evaluation of 100 pendulum episodes: seconds of the whole command, and steps per second over the bare environment.

The bare environment goes through the same episodes, with the evaluation's actions from a list and not from a policy.
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import subprocess
import sys
import tempfile
import time

from common import alternate, compare, save
import torch

from genelab.experiment.inference import bundled_checkpoint
from genelab.experiment.inference import setup_policy
from genelab.rl.evaluator import evaluate, plan

TASK = "GeneLab-Inverted-Pendulum-v0"
EPISODES, WORLDS = 100, 64


def throughput(rounds: int) -> dict[str, float]:
    protocol = plan(EPISODES, WORLDS)
    checkpoint = bundled_checkpoint(TASK)
    assert checkpoint is not None
    _, inference, _ = setup_policy(TASK, checkpoint, [], num_envs=protocol.num_envs)
    env, policy = inference.env, inference.policy
    steps = protocol.episodes_per_env * env.max_episode_length
    torch.set_num_threads(1)  # as an evaluation does
    actions: list[torch.Tensor] = []
    with torch.no_grad():
        obs = env.reset(seed=0)
        for _ in range(steps):
            actions.append(policy.act(obs))
            obs = env.step(actions[-1])[0]

    def ours() -> None:
        assert evaluate(env, policy, protocol.episodes_per_env)["steps"] == steps

    def bare() -> None:
        env.reset(seed=0)
        for action in actions:
            env.step(action)

    return compare(*alternate(ours, bare, rounds), steps * env.num_envs)


def command_seconds() -> float:
    """Wall clock of the command in a process of its own, with the start of Python and all imports."""
    with tempfile.TemporaryDirectory() as directory:
        arguments = [TASK, str(bundled_checkpoint(TASK)), "--num-envs", str(WORLDS), "--episodes", str(EPISODES)]
        started = time.perf_counter()
        command = [sys.executable, "-m", "genelab", "eval", *arguments, "--out", f"{directory}/eval.json"]
        subprocess.run(command, check=True, capture_output=True)
        return round(time.perf_counter() - started, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    seconds = [command_seconds() for _ in range(3)]
    save(
        "eval_throughput",
        {"what": "evaluation over bare environment", "command_seconds": seconds, TASK: throughput(arguments.rounds)},
    )


main()
