"""All attacks in their long form, in two processes at a time: `make soak`.

    PYTHONPATH=tests python -m attacks.soak --out results/soak.json

It ends with exit code 1 if anything broke. The report says how each attack ended and lists what broke.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from attacks import Trial
from genelab.core.files import write_json
from genelab.experiment.provenance import machine, stamp

PLAN = {"kills": (100, 25), "damage": (500, 125), "structure": (200, 50), "fuzz": (1000, 125), "faults": (40, 20)}
"""Attempts of each attack, and how many of them one process makes."""
LIMIT_S = 1800
"""A process that takes longer is stopped, and counts as broken."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the report")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="part of the attempts to make")
    parser.add_argument("--only", nargs="*", choices=PLAN, default=list(PLAN))
    parser.add_argument("--chunk", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.chunk:
        name, count, seed = arguments.chunk
        for trial in import_module(f"attacks.{name}").run(int(count), int(seed)):
            print(json.dumps(asdict(trial)), flush=True)
        return 0
    report = soak(arguments.only, arguments.share, arguments.seed)
    if arguments.out is not None:
        write_json(arguments.out, report)
        print(f"report: {arguments.out}")
    return 1 if any(attack["broke"] for attack in report["attacks"].values()) else 0


def soak(names: list[str], share: float, seed: int) -> dict[str, Any]:
    """Make the planned attempts and report how they ended."""
    chunks = []
    for name in names:
        count, size = PLAN[name]
        count = max(1, round(share * count))
        sizes = [size] * (count // size) + [count % size] * (count % size > 0)
        chunks += [(name, part, 1000 * seed + i) for i, part in enumerate(sizes)]
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(_chunk, chunks))
    attacks = {}
    for name in names:
        mine = [result for (attack, *_), result in zip(chunks, ended, strict=True) if attack == name]
        trials = [trial for result in mine for trial in result[0]]
        outcomes = Counter(trial.outcome for trial in trials)
        attacks[name] = {
            "attempts": len(trials),
            "refused": outcomes["refused"],
            "passed": outcomes["passed"],
            "broke": outcomes["broke"],
            "process_s": round(sum(seconds for _, seconds in mine)),
            "broken": [str(trial) for trial in trials if trial.outcome == "broke"],
        }
        print(f"{name}: " + ", ".join(f"{value} {key}" for key, value in attacks[name].items() if key != "broken"))
        print(*attacks[name]["broken"], sep="\n", end="\n" if attacks[name]["broken"] else "")
    return {
        "seed": seed,
        "wall_s": round(time.monotonic() - began),
        "attacks": attacks,
        "machine": machine(),
        **stamp(),
    }


def _chunk(chunk: tuple[str, int, int]) -> tuple[list[Trial], float]:
    """Make some attempts in a process of their own: what crashes or hangs there is found here."""
    began = time.monotonic()
    name, count, seed = chunk
    words = [sys.executable, "-W", "ignore", "-m", "attacks.soak", "--chunk", name, str(count), str(seed)]
    path = os.pathsep.join((str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")))
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=LIMIT_S, env={**os.environ, "PYTHONPATH": path}
        )
        output, problem = done.stdout, f"exit code {done.returncode}: {done.stderr[-2000:]}" if done.returncode else ""
    except subprocess.TimeoutExpired as error:
        output, problem = (error.stdout or b"").decode(), f"not done after {LIMIT_S} s"
    trials = [Trial(**json.loads(line)) for line in output.splitlines() if line.startswith('{"what"')]
    if problem:
        trials.append(Trial(f"python -m attacks.soak --chunk {name} {count} {seed}", "broke", problem))
    print(f"{name}, seed {seed}: {len(trials)} attempts in {time.monotonic() - began:.0f} s", flush=True)
    return trials, time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
