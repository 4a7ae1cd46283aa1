"""Training steps per second of genelab over the hand-written loop in `handwritten_pendulum.py`.

Both use rsl_rl's PPO with the same networks, epochs, minibatches and worlds; genelab also logs, as in a real run.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from common import alternate, compare, save
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.run import Run
from genelab.experiment.setup import resolve
from genelab.rl.rsl_rl.runner import Runner, train_cfg
from handwritten_pendulum import HandwrittenLoop

TASK = "GeneLab-Inverted-Pendulum-v0"


def measure(preset: str, iterations: int, rounds: int) -> dict[str, Any]:
    setup = resolve(TASK, preset=preset)
    setup.agent_cfg.save_interval = 10**9
    env = ManagerBasedRlEnv(setup.env_cfg, seed=1)
    theirs = HandwrittenLoop(env.scene.model, env.num_envs, train_cfg(setup.agent_cfg, env))
    runner = Runner(env, setup.agent_cfg, infos={})
    env.randomize_episode_start()
    with tempfile.TemporaryDirectory() as directory:
        run = Run.create(Path(directory) / "run", {}, setup.env_cfg, setup.agent_cfg)

        def ours() -> None:
            setup.agent_cfg.max_iterations = runner.current_learning_iteration + iterations
            runner.learn_in(run)

        def handwritten() -> None:
            for _ in range(iterations):
                theirs.iterate()

        ours(), handwritten()  # warm up
        ours_s, theirs_s = alternate(ours, handwritten, rounds)
        run.close("finished")
    steps = iterations * env.num_envs * setup.agent_cfg.num_steps_per_env
    return {"num_envs": env.num_envs, **compare(ours_s, theirs_s, steps)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=8, help="per round")
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    measured = {preset: measure(preset, arguments.iterations, arguments.rounds) for preset in ("cpu", "reference")}
    save("train_throughput", {"what": "training over a hand-written loop", "task": TASK, **measured})


main()
