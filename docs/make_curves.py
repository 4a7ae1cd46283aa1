"""Draw the learning curves in docs/images from benchmarks/results/ and results/: python docs/make_curves.py"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
COLOURS = {"rsl_rl": "#2563a8", "skrl": "#c04a15", "sb3": "#1c7f58"}


def backends() -> None:
    """The three PPOs over environment steps, each seed a line."""
    rows = json.loads((ROOT / "benchmarks/results/backends.json").read_text())["rows"]
    figure, axes = _figure("environment steps", "deterministic return")
    for row in (row for row in rows if row["algorithm"] == "PPO"):
        for number, run in enumerate(row["runs"]):
            steps, returns = zip(*run["curve"], strict=True)
            label = row["backend"] if number == 0 else None
            axes.plot(steps, returns, color=COLOURS[row["backend"]], label=label, linewidth=1.4, marker=".")
    axes.legend(frameon=False)
    _save(figure, "ppo-of-three-libraries.png")


def go1() -> None:
    """The Go1's longest training on flat ground."""
    run: dict[str, Any] = json.loads(
        (ROOT / "results/Genelab-Velocity-Flat-Unitree-Go1-v0/long/seed_1/run.json").read_text()
    )
    iterations, returns = zip(*run["curve"], strict=True)
    millions = run["samples"] / iterations[-1] / 1e6
    figure, axes = _figure("environment steps, millions", "return of training episodes")
    axes.plot([iteration * millions for iteration in iterations], returns, color=COLOURS["rsl_rl"], linewidth=1.4)
    _save(figure, "go1-flat-long.png")


def _figure(x: str, y: str) -> tuple[Any, Any]:
    figure, axes = pyplot.subplots(figsize=(6.4, 3.4), layout="constrained")
    axes.set(xlabel=x, ylabel=y)
    axes.grid(color="#e9ecf0")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Any, name: str) -> None:
    figure.savefig(IMAGES / name, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    backends()
    go1()
