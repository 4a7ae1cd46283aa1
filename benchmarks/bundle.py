"""Put a trained policy into the package: python benchmarks/bundle.py RUN/model_final.pt …

Keeps networks and origin, drops optimisers and what sb3's off-policy actors do not act with. Then makes the suite of
all bundled policies and its reference anew.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from genelab.core.files import write_atomic, write_json
from genelab.experiment.benchmark import run_benchmark
from genelab.experiment.inference import PREFIX, bundle_directory
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint
from genelab.rl.sb3.learner import ACTOR


def to_act(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """What of a checkpoint a policy needs to act."""
    if checkpoint[INFO_KEY]["backend"] != "sb3":
        return {key: value for key, value in checkpoint.items() if key != "optimizer_state_dict"}
    weights = checkpoint["parameters"]["policy"]
    actor = {name: value for name, value in weights.items() if name.startswith(ACTOR)}
    kept = {key: checkpoint[key] for key in ("normalizer", "iter", INFO_KEY) if key in checkpoint}
    return {"parameters": {"policy": actor or weights}, **kept}


def bundle(path: Path) -> None:
    """Copy one checkpoint."""
    checkpoint = to_act(read_checkpoint(path))
    target = bundle_directory() / f"{checkpoint[INFO_KEY]['task']}.pt"
    write_atomic(target, lambda temporary: torch.save(checkpoint, temporary))
    print(f"{target.name}: {target.stat().st_size / 1024:.0f} KiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+", type=Path)
    for path in parser.parse_args().checkpoints:
        bundle(path)
    suite = [
        {"task": path.stem, "checkpoint": f"{PREFIX}{path.stem}", "episodes": 100, "seed": 0, "num_envs": 64}
        for path in sorted(bundle_directory().glob("*.pt"))
    ]
    write_json(bundle_directory() / "suite.json", suite)
    report = run_benchmark(bundle_directory() / "suite.json", out=bundle_directory() / "reference.json")
    print(json.dumps([result["return_mean"] for result in report["results"]]))


main()
