"""Put a trained policy into the package: python benchmarks/bundle.py RUN/model_final.pt …

Keeps networks and origin, drops the optimiser. Then makes the suite of all bundled policies and its reference anew.
"""

import argparse
import json
from pathlib import Path

import torch

from genelab.core.files import write_atomic, write_json
from genelab.experiment.benchmark import BenchmarkRequest, run_benchmark
from genelab.experiment.bundle import PREFIX, directory
from genelab.rl.checkpoint import read_checkpoint


def bundle(path: Path) -> None:
    """Copy one checkpoint."""
    checkpoint = {key: value for key, value in read_checkpoint(path).items() if key != "optimizer_state_dict"}
    target = directory() / f"{checkpoint['infos']['task']}.pt"
    write_atomic(target, lambda temporary: torch.save(checkpoint, temporary))
    print(f"{target.name}: {target.stat().st_size / 1024:.0f} KiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+", type=Path)
    for path in parser.parse_args().checkpoints:
        bundle(path)
    suite = [
        {"task": path.stem, "checkpoint": f"{PREFIX}{path.stem}", "episodes": 100, "seed": 0, "num_envs": 64}
        for path in sorted(directory().glob("*.pt"))
    ]
    write_json(directory() / "suite.json", suite)
    report = run_benchmark(BenchmarkRequest(suite=directory() / "suite.json", out=directory() / "reference.json"))
    print(json.dumps([result["return_mean"] for result in report["results"]]))


main()
