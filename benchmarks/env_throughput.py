"""Environment steps per second over bare ``Batch.step`` on the same model, states, controls and substeps.

The inverted pendulum is also stepped through gymnasium's vector interface, with numpy arrays.

The bare loop does nothing but copy controls in and step. Before each round it takes over the environment's states, so
that both step the same physics.
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import time

from common import alternate, compare, save
import numpy as np
import torch
from mujoco.batch import Batch

from genelab.clients.gym import GymVectorEnv
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve

PENDULUM = "GeneLab-Inverted-Pendulum-v0"


def targets(env: ManagerBasedRlEnv, action: torch.Tensor) -> np.ndarray:
    """What the environment makes of an action."""
    env.action_manager.process(action)
    return env.engine.ctrl.double().numpy()


def measure(
    task: str, num_envs: int, steps: int, rounds: int, threads: int = 0, gymnasium: bool = False
) -> dict[str, float]:
    """Rates and ratio of a task; with one thread by CPU time, which other work on the machine disturbs less."""
    cfg = resolve(task, preset="cpu").env_cfg
    cfg.num_envs, cfg.simulation.threads = num_envs, threads
    vector = GymVectorEnv(cfg) if gymnasium else None
    if vector is not None:
        vector.reset(seed=0)
    env = ManagerBasedRlEnv(cfg) if vector is None else vector.env
    env.randomize_episode_start()
    bare = Batch(env.scene.model, num_envs, threads)
    ctrl = bare.bind("ctrl")
    actions = [0.3 * torch.randn(num_envs, env.num_actions) for _ in range(steps)]
    controls = [targets(env, action) for action in actions]

    def ours() -> None:
        for action in actions:
            env.step(action) if vector is None else vector.step(action.numpy())

    def theirs() -> None:
        for control in controls:
            ctrl[:] = control
            bare.step(nstep=cfg.decimation)

    def one_round() -> tuple[list[float], list[float]]:
        bare.state[:] = env.engine.state_dict()["rows"].numpy()
        return alternate(ours, theirs, 1, time.process_time if threads == 1 else time.perf_counter)

    one_round()  # warm up
    results = [one_round() for _ in range(rounds)]
    return compare([r[0][0] for r in results], [r[1][0] for r in results], steps * num_envs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    cases = {
        PENDULUM: 4096,
        "GeneLab-Double-Inverted-Pendulum-v0": 4096,
        "Genelab-Velocity-Flat-Unitree-Go1-v0": 1024,
        "Genelab-Velocity-Rough-Unitree-Go1-v0": 1024,
        "Genelab-Velocity-Flat-Unitree-G1-v0": 1024,
    }
    measured = {
        task: {"num_envs": worlds, **measure(task, worlds, arguments.steps, arguments.rounds)}
        for task, worlds in cases.items()
    }
    gym = measure(PENDULUM, cases[PENDULUM], arguments.steps, arguments.rounds, gymnasium=True)
    measured[f"gymnasium: {PENDULUM}"] = {"num_envs": cases[PENDULUM], **gym}
    save("env_throughput", {"what": "environment over bare Batch.step, cpu presets", **measured})


if __name__ == "__main__":
    main()
