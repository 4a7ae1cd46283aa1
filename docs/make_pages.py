"""Write what is generated in the documentation: python docs/make_pages.py

docs/tasks and a table of docs/suite.md come from the tasks' docstrings and configs, docs/reference from docstrings, the
table in docs/engines.md from what engines declare, the one in docs/terrain.md from the shapes' sizes. Tables and the
example in README.md and the studies come from results/, benchmarks/results/ and examples/.
"""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

from genelab.core.table import Table
from genelab.engines.capabilities import CAPABILITIES, MODEL_FIELDS
from genelab.rl.deployment import COMMANDS, ENDS, EVENTS, OBSERVATIONS, REWARDS, meaning
from genelab.scene.terrain_shapes import LARGE_SIZES, SHAPES, SIZES, size_name
from genelab.tasks.suite import ROWS as SUITE_ROWS
from genelab.tasks.suite import TASKS as SUITE

ROOT = Path(__file__).parent.parent
SHOWN = ("CartpoleSwingup", "CheetahRun", "FingerTurnEasy", "FishSwim", "HumanoidStand", "HumanoidWalk")
"""Tasks of the control suite whose scores the README shows."""
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "benchmarks")]  # scripts import each other

from make_architecture import check_order, control_step_svg, room_table, rooms_svg  # noqa: E402
from make_commands import commands_page  # noqa: E402
from make_reference import reference_pages  # noqa: E402
from make_results import (  # noqa: E402
    G1_FLAT,
    G1_LONG,
    G1_ROUGH,
    GO1_FLAT,
    GO1_LONG,
    GO1_ROUGH,
    level_table,
    memory_table,
    probe_table,
    results_table,
)
from make_tasks import described_task, task_pages  # noqa: E402


def pages() -> dict[str, str]:
    """Every generated page: its path and its text."""
    pointer = (ROOT / "examples/pointer.py").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = _fill(readme, "results", results_table().markdown())
    readme = _fill(readme, "suite", suite_examples())
    readme = _fill(readme, "example", f"```python\n{pointer}```")
    own_task = (ROOT / "docs/tutorials/own-task.md").read_text(encoding="utf-8")
    own_task = _fill(own_task, "example", f'```python title="pointer.py"\n{pointer}```')
    study = (ROOT / "docs/pendulum-study.md").read_text(encoding="utf-8")
    study = _fill(study, "study", runpy.run_path(str(ROOT / "benchmarks/cpu_study.py"))["table"]().rstrip())
    study = _fill(study, "memory", memory_table())
    go1 = _fill((ROOT / "docs/go1-study.md").read_text(encoding="utf-8"), "probe", probe_table(GO1_FLAT))
    go1 = _fill(go1, "long", probe_table(GO1_LONG))
    g1 = _fill((ROOT / "docs/g1-study.md").read_text(encoding="utf-8"), "probe", probe_table(G1_FLAT))
    g1 = _fill(g1, "long", probe_table(G1_LONG))
    g1 = _fill(g1, "levels", level_table(G1_ROUGH))
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
    suite = _fill(suite, "trained", suite_results())
    check_order()
    return {
        "docs/architecture.md": architecture,
        "docs/images/rooms.svg": rooms_svg(),
        "docs/images/control-step.svg": control_step_svg(),
        "docs/backends.md": backends,
        "docs/engines.md": engines,
        **task_pages(),
        **reference_pages(),
        "docs/reference/commands.md": commands_page(),
        "README.md": readme,
        "docs/tutorials/own-task.md": own_task,
        "docs/pendulum-study.md": study,
        "docs/go1-study.md": go1,
        "docs/g1-study.md": g1,
        "docs/terrain.md": terrain,
        "docs/campaigns.md": campaigns,
        "docs/suite.md": suite,
        "examples/deploy/README.md": deploy,
    }


def vocabulary_table() -> str:
    """What words in exported files mean."""
    rows = []
    for described, word in {**OBSERVATIONS, **COMMANDS}.items():
        of = "the command's" if "command" in word.name else "the sensor's"
        known = word.unit or described in COMMANDS
        rows.append(
            (f"`{word.name}`", meaning(described), *((word.unit, word.frame, word.sign) if known else [of] * 3))
        )
    rows += [(f"`{name}`", meaning(func), "", "", "") for func, name in (REWARDS | ENDS | EVENTS).items()]
    return Table(("word", "meaning", "unit", "frame", "sign"), rows).markdown()


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


def suite_scores() -> dict[str, dict[str, Any]]:
    """What `genelab campaign table` wrote, of the tasks that are trained with all their seeds; a later file counts."""
    tables = [json.loads(path.read_text())["rows"] for path in sorted((ROOT / "results/suite").glob("*.json"))]
    return {row["task"]: row for table in tables for row in table if row["reached"] is not None}


def suite_examples() -> str:
    """A few tasks of the control suite beside what is published, and how many reach their target."""
    measured = suite_scores()
    rows = []
    for row in SUITE_ROWS:
        if row.name in SHOWN:
            found = measured[f"Playground-{row.name}-v0"]
            numbers = (found["total_reward_ma mean"], row.target, row.best, found["M frames"])
            rows.append((f"`{row.name}`", *(f"{number:.0f}" for number in numbers), f"{found['training s'] / 60:.0f}"))
    titles = ("task", "score", "target", "best published, 100 M frames on a GPU", "M frames", "minutes")
    reached = sum(row["reached"] for row in measured.values())
    text = f"Of the {len(measured)} that were trained with fresh seeds, {reached} reach the published target."
    return f"{text}\n\n{Table(titles, rows).markdown()}"


def suite_results() -> str:
    """Every task of the control suite that is trained."""
    measured = suite_scores()
    rows = []
    for spec, published in zip(SUITE, SUITE_ROWS, strict=True):
        if (found := measured.get(spec.id)) is not None:
            scores = (found["total_reward_ma mean"], found["worst"], published.target, published.best)
            more = (found["evaluation"], found["M frames"], found["frames/s"], found["training s"])
            numbers = (f"{number:,.0f}" for number in (*scores, *more))
            seeds = ", ".join(map(str, found["seeds"]))
            rows.append((f"`{spec.id}`", _yes(found["reached"]), *numbers, seeds, found["commit"]))
    titles = ("task", "reached", "total_reward_ma", "worst", "target", "best published")
    more = ("evaluation", "M frames", "frames/s", "seconds", "seeds", "commit")
    reached = sum(row["reached"] for row in measured.values())
    table = Table((*titles, *more), rows).markdown()
    return f"{table}\n\n{reached} of the {len(SUITE)} tasks reach their target; {len(rows)} are trained."


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
