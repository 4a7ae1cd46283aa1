"""Draw the learning curves in docs/images from results/ and benchmarks/results/: python docs/make_curves.py"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
MEMORY = "GeneLab-Inverted-Pendulum-Memory-v0"
GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
G1 = "Genelab-Velocity-Flat-Unitree-G1-v0"
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
    """The long training on flat ground and the cpu preset's seeds, as the training itself sees them."""
    figure, axes = _figure("environment steps, millions", "return while training")
    _plot_runs(axes, GO1, "long", "#c04a15", "long, 73.7 M steps")
    _plot_runs(axes, GO1, "cpu", "#2563a8", "cpu, 7.6 M steps")
    axes.legend(frameon=False)
    _save(figure, "go1-long.png")


def g1() -> None:
    """The humanoid's long training, as the training itself sees it."""
    figure, axes = _figure("environment steps of the long training, millions", "return while training")
    _plot_runs(axes, G1, "long", "#c04a15", "long")
    _save(figure, "g1-long.png")


def memory() -> None:
    """Networks with and without memory on the task that needs it, three seeds each."""
    figure, axes = _figure("environment steps, millions", "return while training")
    _plot_runs(axes, MEMORY, "cpu", "#2563a8", "LSTM")
    _plot_runs(axes, MEMORY, "gru", "#1c7f58", "GRU")
    _plot_runs(axes, MEMORY, "mlp-always-shown", "#8a929c", "MLP, place always shown")
    _plot_runs(axes, MEMORY, "mlp", "#c04a15", "MLP")
    _plot_runs(axes, MEMORY, "mlp-never-shown", "#d9a13b", "MLP, place never shown")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))  # beside the lines, not on them
    figure.set_size_inches(8.0, 3.4)
    _save(figure, "memory.png")


def humanoids() -> None:
    """The humanoids of the control suite with the cpu preset, each seed a line."""
    figure, axes = _figure("control steps, millions", "return while training")
    for name, colour in (("Stand", "#2563a8"), ("Walk", "#1c7f58"), ("Run", "#c04a15")):
        _plot_runs(axes, f"Playground-Humanoid{name}-v0", "cpu", colour, f"Humanoid{name}")
    axes.legend(frameon=False)
    _save(figure, "humanoids.png")


def _plot_runs(axes: Any, task: str, kind: str, colour: str, label: str) -> None:
    """A line for each seed of a kept run."""
    for number, path in enumerate(sorted((ROOT / f"results/{task}/{kind}").glob("seed_*/run.json"))):
        run = json.loads(path.read_text())
        per_iteration = run["samples"] / run["iteration"] / 1e6
        iterations, returns = zip(*run["curve"], strict=True)
        steps = [iteration * per_iteration for iteration in iterations]
        axes.plot(steps, returns, color=colour, label=None if number else label, linewidth=1.2)


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
    g1()
    memory()
    humanoids()
