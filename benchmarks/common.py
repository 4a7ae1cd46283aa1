"""What the benchmarks share: alternating measurements and result files."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genelab.experiment import provenance

RESULTS = Path(__file__).parent / "results"


def alternate(
    a: Callable[[], None], b: Callable[[], None], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[list[float], list[float]]:
    """Seconds of each call of `a` and `b`, taken in turns so that a noisy machine disturbs both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(rounds):
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            start = clock()
            (a, b)[which]()
            times[which].append(clock() - start)
    return times


def compare(ours_s: list[float], theirs_s: list[float], steps: int) -> dict[str, float]:
    """Rates and the median over rounds of the ratio of both, each ratio from one round."""
    ratios = [t / o for o, t in zip(ours_s, theirs_s, strict=True)]
    return {
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "ours_steps_per_s": round(steps / statistics.median(ours_s)),
        "theirs_steps_per_s": round(steps / statistics.median(theirs_s)),
        "rounds": len(ratios),
    }


def save(name: str, result: dict[str, Any], quiet: bool = False) -> None:
    """Print a result and keep it as ``results/<name>.json`` with the command and the machine."""
    record = {
        "command": f"python benchmarks/{name}.py {' '.join(sys.argv[1:])}".strip(),
        "measured_at": provenance.now(),
        "git_commit": provenance.git_commit(),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        **result,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    if not quiet:
        print(json.dumps(result, indent=2))
