"""Draw the learning curves in docs/images from benchmarks/results/: python docs/make_curves.py"""

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
