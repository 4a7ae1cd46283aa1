"""Draw the learning curves in docs/images from results/ and benchmarks/results/: python docs/make_curves.py"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
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
    """The long training on flat ground and the cpu preset's three seeds, as the training itself sees them."""
    figure, axes = _figure("environment steps, millions", "return while training")
    for kind, colour in (("long", "#c04a15"), ("cpu", "#2563a8")):
        for number, path in enumerate(sorted((ROOT / f"results/{GO1}/{kind}").glob("seed_*/run.json"))):
            run = json.loads(path.read_text())
            per_iteration = run["samples"] / run["iteration"] / 1e6
            iterations, returns = zip(*run["curve"], strict=True)
            label = f"{kind}, {run['samples'] / 1e6:.1f} M steps" if number == 0 else None
            axes.plot([i * per_iteration for i in iterations], returns, color=colour, label=label, linewidth=1.2)
    axes.legend(frameon=False)
    _save(figure, "go1-long.png")


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
