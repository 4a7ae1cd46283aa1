"""Training steps per second of genelab over a hand-written loop (`handwritten_*.py`).

Both use rsl_rl's PPO with the same networks, epochs, minibatches and worlds; genelab also logs, as in a real run.
"""

# ruff: noqa: I001  (common imports genelab, and that before torch: it sets how torch's threads wait)
import argparse
import tempfile
from pathlib import Path
from typing import Any

from common import alternate, compare, save

from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.run.directory import Run
from genelab.experiment.setup import resolve
from genelab.mdp.symmetry import Mirror
from genelab.rl.rsl_rl.learner import RslRlLearner
from handwritten_g1 import G1
from handwritten_go1 import Go1
from handwritten_loop import HandwrittenLoop
from handwritten_pendulum import Pendulum

PENDULUM, GO1 = "GeneLab-Inverted-Pendulum-v0", "Genelab-Velocity-Flat-Unitree-Go1-v0"
HUMANOID = "Genelab-Velocity-Flat-Unitree-G1-v0"


def handwritten(task: str, env: ManagerBasedRlEnv) -> Pendulum | Go1 | G1:
    model = env.scene.model
    if task == PENDULUM:
        return Pendulum(model, env.num_envs)
    return (Go1 if task == GO1 else G1)(model, env.num_envs, env.cfg.decimation, env.scene.default_qpos)


def measure(task: str, preset: str, iterations: int, rounds: int) -> dict[str, Any]:
    setup = resolve(task, preset=preset)
    setup.agent_cfg.save_interval = 10**9
    env = ManagerBasedRlEnv(setup.env_cfg, seed=1)
    symmetry = setup.agent_cfg.algorithm.symmetry
    mirror = None if symmetry is None else Mirror(env, symmetry.table)
    theirs = HandwrittenLoop(handwritten(task, env), setup.agent_cfg, mirror)
    learner = RslRlLearner(env, setup.agent_cfg, infos={})
    env.randomize_episode_start()
    with tempfile.TemporaryDirectory() as directory:
        run = Run.create(Path(directory) / "run", {}, setup.env_cfg, setup.agent_cfg)

        def ours() -> None:
            setup.agent_cfg.max_iterations = learner.iteration + iterations
            learner.learn_in(run)

        def by_hand() -> None:
            for _ in range(iterations):
                theirs.iterate()

        ours(), by_hand()  # warm up
        ours_s, theirs_s = alternate(ours, by_hand, rounds)
        run.close("finished")
    steps = iterations * env.num_envs * setup.agent_cfg.num_steps_per_env
    return {"num_envs": env.num_envs, **compare(ours_s, theirs_s, steps)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=8, help="per round")
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    cases = ((PENDULUM, "cpu"), (PENDULUM, "reference"), (GO1, "cpu"), (HUMANOID, "cpu"))
    measured = {
        f"{task} {preset}": measure(task, preset, arguments.iterations, arguments.rounds) for task, preset in cases
    }
    save("train_throughput", {"what": "training over a hand-written loop", **measured})


main()
