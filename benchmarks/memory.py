"""Peak memory of 4096 pendulum worlds: the environment alone, and two training iterations of the reference preset."""

import json
import resource
import subprocess
import sys

from common import save

TASK = "GeneLab-Inverted-Pendulum-v0"


def environment() -> None:
    import torch

    from genelab.core.registry import find
    from genelab.envs import ManagerBasedRlEnv

    env = ManagerBasedRlEnv(find(TASK).env_cfg())
    for _ in range(50):
        env.step(torch.zeros(env.num_envs, env.num_actions))


def training() -> None:
    import tempfile

    from genelab.cli.main import run

    with tempfile.TemporaryDirectory() as directory:
        arguments = ["train", TASK, "--preset", "reference", "--max-iterations", "2", "--log-dir", f"{directory}/run"]
        assert run(arguments) == 0


def main() -> None:
    if len(sys.argv) > 1:
        {"environment": environment, "training": training}[sys.argv.pop()]()
        print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2))
        return
    peaks = {}
    for what in ("environment", "training"):
        done = subprocess.run([sys.executable, __file__, what], capture_output=True, text=True, check=True)
        peaks[f"{what}_peak_gib"] = round(json.loads(done.stdout.splitlines()[-1]), 3)
    save("memory", {"what": "peak resident memory", "task": TASK, "num_envs": 4096, **peaks})


main()
