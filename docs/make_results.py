"""Tables of the README, the studies and the pages of tasks, made from the run files in results/."""

import json
import statistics
from pathlib import Path
from typing import Any

from genelab.core.stats import interquartile_mean
from genelab.core.table import Table

RESULTS = Path(__file__).parent.parent / "results"
MEMORY = RESULTS / "GeneLab-Inverted-Pendulum-Memory-v0"
MEMORY_VARIANTS = {
    "cpu": "LSTM, the `cpu` preset",
    "gru": "GRU",
    "mlp": "MLP",
    "mlp-always-shown": "MLP, the place is always shown",
    "mlp-never-shown": "MLP, the place is never shown",
}
"""Kept runs of the memory task, and what is particular to them."""
GO1_FLAT = RESULTS / "Genelab-Velocity-Flat-Unitree-Go1-v0/cpu"
GO1_LONG = RESULTS / "Genelab-Velocity-Flat-Unitree-Go1-v0/long"
G1_FLAT = RESULTS / "Genelab-Velocity-Flat-Unitree-G1-v0/cpu"
G1_LONG = RESULTS / "Genelab-Velocity-Flat-Unitree-G1-v0/long"
G1_ROUGH = RESULTS / "Genelab-Velocity-Rough-Unitree-G1-v0/cpu"
GO1_ROUGH = RESULTS / "Genelab-Velocity-Rough-Unitree-Go1-v0/cpu"


def results_table() -> Table:
    """The runs kept in results/, one row per task and preset."""
    rows = []
    studied = [MEMORY / name for name in MEMORY_VARIANTS if name != "cpu"]  # compared in docs/pendulum-study.md
    for directory in sorted(path for path in RESULTS.glob("*/*") if path.is_dir() and path not in studied):
        runs = sorted((_run(path) for path in directory.glob("seed_*")), key=lambda run: run["seed"])
        returns = [run["return"] for run in runs]
        middle, (low, high) = interquartile_mean(returns)
        shares = [run["success"] for run in runs if run["success"] is not None]
        success = {f"{share:.0%}" for share in (min(shares), max(shares))} if shares else set()
        seconds = statistics.median(run["seconds"] for run in runs)
        cores = sorted({run["cores"] for run in runs})
        rows.append(
            (
                directory.parent.name,
                directory.name,
                _seeds([run["seed"] for run in runs]),
                f"{statistics.mean(returns):.3f}",
                f"{min(returns):.3f}",
                f"{middle:.3f} ({low:.3f} to {high:.3f})" if len(runs) > 1 else "",
                " to ".join(sorted(success, key=lambda text: int(text[:-1]))),
                f"{runs[0]['samples'] / 1e6:.1f} M",
                f"{seconds:.0f} s, {' or '.join(cores)}",
            )
        )
    titles = ("task", "preset", "seeds", "mean", "worst", "middle half (95 %)", "success", "samples", "training")
    return Table(titles, rows)


def _seeds(seeds: list[int]) -> str:
    """``1, 3`` or ``31 to 40``."""
    in_a_row = len(seeds) > 3 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if in_a_row else ", ".join(map(str, seeds))


def memory_table() -> str:
    """The networks that were trained on the memory task, with what each seed reaches."""
    rows = []
    for name, text in MEMORY_VARIANTS.items():
        records = [json.loads(path.read_text())["metrics"] for path in sorted((MEMORY / name).glob("seed_*/eval.json"))]
        returns = " / ".join(f"{metrics['return_mean']:.2f} ± {metrics['return_ci95']:.2f}" for metrics in records)
        rows.append((text, returns, " / ".join(f"{metrics['success_rate']:.0%}" for metrics in records)))
    return Table(("actor", "return per seed", "still up at the end"), rows).markdown()


def probe_table(runs: Path) -> str:
    """What each run achieves of every command."""
    probes = {path.parent.name: json.loads(path.read_text()) for path in sorted(runs.glob("seed_*/probe.json"))}
    if not probes:
        return "Not run yet."
    names = " | ".join(name.replace("_", " ") for name in probes)
    lines = [f"| command | {names} |", "| --- " * (1 + len(probes)) + "|"]
    for rows in zip(*(probe["directions"] for probe in probes.values()), strict=True):
        cells = [f"{row['achieved']:.2f} m/s" if row["ratio"] is None else f"{row['ratio']:.0%}" for row in rows]
        lines.append(f"| {rows[0]['direction']} | {' | '.join(cells)} |")
    falls = [f"{probe['falls']} of {sum(row['worlds'] for row in probe['directions'])}" for probe in probes.values()]
    lines.append(f"| falls | {' | '.join(falls)} |")
    pushed = [probe["random_with_pushes"] for probe in probes.values()]
    cells = [f"{probe['falls']} of {probe['worlds']}" for probe in pushed]
    lines.append(f"| falls in {pushed[0]['seconds']:g} s of random commands with pushes | {' | '.join(cells)} |")
    return "\n".join(lines)


def level_table(runs: Path) -> str:
    """How each run does on every level of the terrain."""
    if not any(runs.glob("seed_*")):
        return "Not run yet."
    lines = ["| seed | level | return_mean | time-outs | achieved / commanded speed, m/s | share |", "| --- " * 6 + "|"]
    for path in sorted(runs.glob("seed_*/eval.json")):
        for row in json.loads(path.read_text())["per_level"]:
            speed = row["task"]
            speeds = f"{speed['achieved_speed']:.2f} / {speed['commanded_speed']:.2f}"
            lines.append(
                f"| {path.parent.name.removeprefix('seed_')} | {row['level']} | {row['return_mean']:.1f} "
                f"| {row['terminations']['time_out']:.0%} | {speeds} | {speed['speed_ratio']:.0%} |"
            )
    return "\n".join(lines)


def _run(directory: Path) -> dict[str, Any]:
    run, evaluation = (json.loads((directory / name).read_text()) for name in ("run.json", "eval.json"))
    return {
        "seed": run["seed"],
        "return": evaluation["metrics"]["return_mean"],
        "success": evaluation["metrics"]["success_rate"],
        "samples": run["samples"],
        "seconds": run["train_seconds"],
        "cores": _cores(run["torch_threads"], run["overrides"].get("agent.rollout.learners", 1)),
    }


def _cores(threads: int, learners: int) -> str:
    return f"{learners} learners" if learners > 1 else "1 thread" if threads == 1 else f"{threads} threads"
