"""Write what is generated in the documentation: python docs/make_pages.py

docs/tasks.md and a table of docs/suite.md come from the tasks' docstrings and configs, the table in docs/engines.md
from what engines declare, the one in docs/terrain.md from the shapes' sizes. Tables and the example in README.md and
the studies come from results/, benchmarks/results/ and examples/.
"""

import json
import re
import runpy
import statistics
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from genelab.core.overrides import show
from genelab.core.registry import TaskSpec, load, tasks
from genelab.core.stats import interquartile_mean
from genelab.core.table import Table, cell
from genelab.engines.capabilities import CAPABILITIES, MODEL_FIELDS
from genelab.experiment import describe
from genelab.rl.playground_specs import PLAYGROUND_SPECS
from genelab.rl.vocabulary import vocabulary_table
from genelab.scene.terrain_shapes import LARGE_SIZES, SHAPES, SIZES, size_name
from genelab.tasks.suite import ROWS as SUITE_ROWS
from genelab.tasks.suite import TASKS as SUITE

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
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
GO1_ROUGH = RESULTS / "Genelab-Velocity-Rough-Unitree-Go1-v0/cpu"
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "benchmarks")]  # scripts import each other

from make_architecture import check_order, control_step_svg, room_table, rooms_svg  # noqa: E402


def pages() -> dict[str, str]:
    """Every generated page: its path and its text."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = _fill(readme, "results", results_table())
    readme = _fill(readme, "example", f"```python\n{(ROOT / 'examples/pointer.py').read_text(encoding='utf-8')}```")
    study = (ROOT / "docs/pendulum-study.md").read_text(encoding="utf-8")
    study = _fill(study, "study", runpy.run_path(str(ROOT / "benchmarks/cpu_study.py"))["table"]().rstrip())
    study = _fill(study, "memory", memory_table())
    go1 = _fill((ROOT / "docs/go1-study.md").read_text(encoding="utf-8"), "probe", probe_table(GO1_FLAT))
    go1 = _fill(go1, "long", probe_table(GO1_LONG))
    go1 = _fill(go1, "levels", level_table(GO1_ROUGH))
    terrain = _fill((ROOT / "docs/terrain.md").read_text(encoding="utf-8"), "sizes", terrain_sizes())
    engines = _fill((ROOT / "docs/engines.md").read_text(encoding="utf-8"), "capabilities", capability_table())
    backends = _fill((ROOT / "docs/backends.md").read_text(encoding="utf-8"), "backends", backend_table())
    architecture = _fill((ROOT / "docs/architecture.md").read_text(encoding="utf-8"), "rooms", room_table())
    campaigns = f"```toml\n{(ROOT / 'examples/campaign.toml').read_text(encoding='utf-8')}```"
    campaigns = _fill((ROOT / "docs/campaigns.md").read_text(encoding="utf-8"), "campaign", campaigns)
    deploy = _fill((ROOT / "examples/deploy/README.md").read_text(encoding="utf-8"), "vocabulary", vocabulary_table())
    suite = _fill((ROOT / "docs/suite.md").read_text(encoding="utf-8"), "suite", suite_table())
    suite = _fill(suite, "speed", suite_speed())
    check_order()
    return {
        "docs/architecture.md": architecture,
        "docs/images/rooms.svg": rooms_svg(),
        "docs/images/control-step.svg": control_step_svg(),
        "docs/backends.md": backends,
        "docs/engines.md": engines,
        "docs/tasks.md": task_page(),
        "README.md": readme,
        "docs/pendulum-study.md": study,
        "docs/go1-study.md": go1,
        "docs/terrain.md": terrain,
        "docs/campaigns.md": campaigns,
        "docs/suite.md": suite,
        "examples/deploy/README.md": deploy,
    }


def task_page() -> str:
    """Every task in words and tables, with its presets and published result."""
    lines = ["# Tasks", "", "Generated from the tasks' configs by `python docs/make_pages.py`. Do not edit.", ""]
    for spec in tasks().values():
        lines += [f"## {spec.id}", "", describe.prose(spec), ""]
        if spec.published:
            lines += [f"Published result: {spec.published}.", ""]
        lines += task_tables(spec)
        presets = load(spec.presets) if spec.presets else {}
        for name, changes in presets.items():
            if name in PLAYGROUND_SPECS:
                continue
            rows = [(f"`{path}`", show(value)) for path, value in changes.items()]
            table = Table(("path", "value"), rows)
            lines += [f"**Preset `{name}`**, as changes of these values", "", table.markdown(), ""]
        if named := [f"`{name}`" for name in presets if name in PLAYGROUND_SPECS]:
            lines += [f"Presets {', '.join(named)}: [settings of PPO](backends.md#settings-of-ppo).", ""]
    return "\n".join(lines).rstrip() + "\n"


def task_tables(spec: TaskSpec) -> list[str]:
    """The tables of a task in training. A note says what of it play and evaluation do not have."""
    cfg, play = spec.env_cfg(), spec.env_cfg(play=True)
    described = described_task(spec.id)
    actor = next(table for table in described if table.title.startswith("observations: policy"))
    lines = []
    for table in described:
        note, shown = "", table
        if table.title in ("events", "curriculum"):
            terms, kept = getattr(cfg, table.title), getattr(play, table.title)
            aids = ", ".join(f"`{name}`" for name in terms if name not in kept)
            note = f" (in training only: {aids})" if aids else ""
        elif table.title.startswith("observations") and table is not actor:
            shown, note = beside(actor, table)
        lines += [f"**{table.title[0].upper()}{table.title[1:]}**{note}", ""]
        lines += [compact(shown).markdown(), ""] if shown.rows else []
    return lines


@cache
def described_task(task: str) -> list[Table]:
    """The tables of a task in training."""
    return describe.tables(tasks()[task].env_cfg())


def suite_table() -> str:
    """The tasks of the control suite with their sizes, times and published returns."""
    rows = []
    for spec, row in zip(SUITE, SUITE_ROWS, strict=True):
        cfg, tables = spec.env_cfg(), {table.title.partition(" (")[0]: table for table in described_task(spec.id)}
        observed, acted = tables["observations: policy"], tables["actions"]
        sizes = (sum(line[list(table.columns).index("size")] for line in table.rows) for table in (observed, acted))
        times = f"{1000 * cfg.control_dt:g} ms = {cfg.decimation} x {1000 * cfg.simulation.dt:g} ms"
        success = _yes(cfg.success is not None)
        rows.append((f"`{spec.id}`", spec.summary, *sizes, times, success, f"{row.target:g}", f"{row.best:g}"))
    titles = ("task", "what to do", "observed", "actions", "control step", "success rate", "target", "best")
    return Table(titles, rows).markdown()


def suite_speed() -> str:
    """What benchmarks/suite_throughput.py measured."""
    measured = json.loads((ROOT / "benchmarks/results/suite_throughput.json").read_text())
    rows = []
    for spec in SUITE:
        result = measured[spec.id]
        speeds = (f"{result[name]:,}" for name in ("theirs_steps_per_s", "ours_steps_per_s"))
        rows.append((f"`{spec.id}`", *speeds, f"{result['ratio_median']:.2f}"))
    table = Table(("task", "bare physics", "environment", "ratio"), rows).markdown()
    return f"{table}\n\nMedian of the ratios: {measured['median_of_the_ratios']:.2f}."


def beside(actor: Table, group: Table) -> tuple[Table, str]:
    """What an observation group has besides the actor's terms, noise aside, and a note; or all of it, if it has few."""
    noise = list(actor.columns).index("noise")

    def without_noise(row: Sequence[Any]) -> list[Any]:
        return [value for column, value in enumerate(row) if column != noise]

    seen = [without_noise(row) for row in actor.rows]
    own = [row for row in group.rows if without_noise(row) not in seen]
    if len(group.rows) - len(own) <= len(seen) / 2:
        return group, ""
    return Table(group.columns, own), ": what the actor sees, without noise" + (", and" if own else "")


def compact(table: Table) -> Table:
    """A table for a page: no empty columns, names and parameters as code."""
    used = [n for n in range(len(table.columns)) if any(cell(row[n]) for row in table.rows)]

    def show_cell(row: Sequence[Any], n: int) -> str:
        text = cell(row[n])
        return f"`{text}`" if text and table.columns[n] in ("name", "parameters") else text

    return Table([table.columns[n] for n in used], [[show_cell(row, n) for n in used] for row in table.rows])


def capability_table() -> str:
    """What each engine can do."""
    rows = {
        "devices": lambda c: ", ".join(c.devices),
        "rays": lambda c: _yes(c.rays),
        "sensors of the model (IMU)": lambda c: _yes(c.model_sensors),
        "shapes that height fields carry": lambda c: ", ".join(c.on_height_fields),
        "values that each world can have for itself": lambda c: " but ".join(
            ["all of `MODEL_FIELDS`", *filter(None, [", ".join(n for n in MODEL_FIELDS if n not in c.model_fields)])]
        ),
    }
    lines = [f"| | {' | '.join(CAPABILITIES)} |", "| --- " * (1 + len(CAPABILITIES)) + "|"]
    lines += [f"| {what} | {' | '.join(map(cell, CAPABILITIES.values()))} |" for what, cell in rows.items()]
    return "\n".join(lines)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def terrain_sizes() -> str:
    """Every shape of terrain cells and how large it gets."""
    meaning = {
        "flat": "",
        "stairs": "stairs 0.3 m wide; their height, m",
        "boxes": "20 boxes with sides of 0.4 to 1 m; the greatest height, m",
        "rough": "random heights every 0.2 m, in steps of 2 cm; the largest, m",
        "slope": "rise over run",
        "wave": "half height of the waves, m",
        "stones": "stepping stones of 0.6 m; the distance between them, m",
        "gaps": "trenches around the middle, 1 m apart; their width, m",
    }
    lines = ["| shape | what grows | Go1 | G1 |", "| --- " * 4 + "|"]
    for name, text in meaning.items():
        shapes = ", ".join(f"`{shape}`" for shape in SHAPES if size_name(shape) == name)
        sizes = [" to ".join(map(str, table[name])) if name in table else "" for table in (SIZES, LARGE_SIZES)]
        lines.append(f"| {shapes} | {text} | {sizes[0]} | {sizes[1]} |")
    return "\n".join(lines)


def results_table() -> str:
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
                f"{seconds:.0f} s, threads: {runs[0]['threads']}",
            )
        )
    titles = ("task", "preset", "seeds", "mean", "worst", "middle half (95 %)", "success", "samples", "training")
    return Table(titles, rows).markdown()


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


def backend_table() -> str:
    """What each library's algorithms learnt, by benchmarks/backends.py."""
    lines = ["| library | algorithm | worlds | steps | return per seed | training, s |", "| --- " * 6 + "|"]
    for row in json.loads((ROOT / "benchmarks/results/backends.json").read_text())["rows"]:
        runs = row["runs"]
        returns = " / ".join(f"{run['return_mean']:.3f}" for run in runs)
        seconds = " / ".join(f"{run['train_seconds']:.0f}" for run in runs)
        seeds = ", ".join(str(run["seed"]) for run in runs)
        worlds, steps = row["overrides"]["env.num_envs"], runs[0]["curve"][-1][0]
        budget = f"{worlds} | {steps:,}"
        lines.append(f"| {row['backend']} | {row['algorithm']} | {budget} | {returns} ({seeds}) | {seconds} |")
    return "\n".join(lines)


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
        "threads": run["torch_threads"],
    }


def _fill(page: str, name: str, text: str) -> str:
    """The page with what is between ``<!-- name -->`` and ``<!-- /name -->`` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
    filled, places = pattern.subn(lambda match: match[1] + text + match[2], page)
    if places != 1:
        raise ValueError(f"the page has {places} places for '{name}', not one")
    return filled


if __name__ == "__main__":
    for path, text in pages().items():
        (ROOT / path).write_text(text, encoding="utf-8")
