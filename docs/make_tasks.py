"""The pages of docs/tasks: one per task, from its docstring, config and kept results, and one that lists them all."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from make_gif import FILMS
from make_results import results_table

from genelab.core.overrides import show
from genelab.core.registry import TaskSpec, load, tasks
from genelab.core.table import Table, cell
from genelab.experiment import describe
from genelab.experiment.inference import bundled_checkpoint
from genelab.rl.playground_specs import PLAYGROUND_SPECS

IMAGES = Path(__file__).parent / "images"
NOTE = "<!-- Generated from the tasks' configs by `python docs/make_pages.py`. Do not edit. -->"
FAMILIES = {
    "Pendulums": "pendulum",
    "Walking": "velocity",
    "Manipulation": "manipulation",
    "The control suite": "suite",
    "Scenes that play themselves": "playback",
}
"""Titles of the list of tasks, and the tag of each one's tasks. Whatever has none of these tags comes last."""


def task_pages() -> dict[str, str]:
    """Every page of docs/tasks by its path."""
    pages = {f"docs/tasks/{spec.id}.md": task_page(spec) for spec in tasks().values()}
    return {"docs/tasks/README.md": list_of_tasks(), **pages}


def list_of_tasks() -> str:
    """All tasks with their pictures, by family."""
    lines = ["# Tasks", "", NOTE, ""]
    lines += ["A page per task: what it observes, does, rewards and ends on, its presets and its results.", ""]
    families = {title: [s for s in tasks().values() if tag in s.tags[:1]] for title, tag in FAMILIES.items()}
    listed = {spec.id for family in families.values() for spec in family}
    families["Others"] = [spec for spec in tasks().values() if spec.id not in listed]
    for title, family in families.items():
        rows = [(_small_picture(spec), f"[{spec.id}]({spec.id}.md)", spec.summary) for spec in family]
        lines += [f"## {title}", "", Table(("", "task", "what to do"), rows).markdown(), ""] if rows else []
    return _page(lines)


def task_page(spec: TaskSpec) -> str:
    """A task in words, pictures and tables, with its presets and results."""
    lines = [f"# {spec.id}", "", NOTE, "", describe.prose(spec), "", *_picture(spec), *_commands(spec)]
    lines += [*_results(spec), *task_tables(spec), *_presets(spec)]
    return _page(lines)


def _picture(spec: TaskSpec) -> list[str]:
    """A film of the task, or else a still."""
    film = next((name for name, film in FILMS.items() if film.task == spec.id), None)
    if film is not None:
        return [f"![{spec.summary}: the policy that comes with the package](../images/{FILMS[film].file(film)})", ""]
    return [f"![{spec.summary}](../images/tasks/{spec.id}.png)", ""] if _still(spec).exists() else []


def _small_picture(spec: TaskSpec) -> str:
    picture = f'<img src="../images/tasks/{spec.id}.png" width="160" alt="{spec.summary}">'
    return picture if _still(spec).exists() else ""


def _still(spec: TaskSpec) -> Path:
    return IMAGES / "tasks" / f"{spec.id}.png"


def _commands(spec: TaskSpec) -> list[str]:
    agent = " --agent random" if spec.agents else ""
    agent = " --agent trained" if bundled_checkpoint(spec.id) else agent
    lines = [f"genelab play {spec.id}{agent} --viewer web", f"genelab play {spec.id}{agent} --video film.mp4"]
    lines += [f"genelab train {spec.id} --seed 1"] if spec.agents else []
    return ["```sh", *lines, "```", ""]


def _results(spec: TaskSpec) -> list[str]:
    """What was published, and what the kept runs reached."""
    kept = results_table()
    rows = [row[1:] for row in kept.rows if row[0] == spec.id]
    lines = [f"Published result: {spec.published}.", ""] if spec.published else []
    if rows:
        lines += ["Here, by the final checkpoint in 100 episodes with evaluation seed 0, over training seeds:", ""]
        lines += [Table(kept.columns[1:], rows).markdown(), ""]
    return ["## Results", "", *lines] if lines else []


def _presets(spec: TaskSpec) -> list[str]:
    lines, presets = [], load(spec.presets) if spec.presets else {}
    for name, changes in presets.items():
        if name in PLAYGROUND_SPECS:
            continue
        table = Table(("path", "value"), [(f"`{path}`", show(value)) for path, value in changes.items()])
        lines += [f"## Preset {name}", "", "Changes of the values above:" if changes else "The values above.", ""]
        lines += [table.markdown(), ""] if changes else []
    if named := [f"`{name}`" for name in presets if name in PLAYGROUND_SPECS]:
        lines += ["## More presets", "", f"{', '.join(named)}: [settings of PPO](../backends.md#settings-of-ppo).", ""]
    return lines


def _page(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def task_tables(spec: TaskSpec) -> list[str]:
    """The tables of a task in training. A note says what of it play and evaluation do not have."""
    cfg, play = spec.env_cfg(), spec.env_cfg(play=True)
    described = described_task(spec.id)
    actor = next((table for table in described if table.title.startswith("observations: policy")), None)
    lines = []
    for table in described:
        note, shown = "", table
        if table.title in ("events", "curriculum"):
            terms, kept = getattr(cfg, table.title), getattr(play, table.title)
            aids = ", ".join(f"`{name}`" for name in terms if name not in kept)
            note = f"In training only: {aids}." if aids else ""
        elif actor is not None and table.title.startswith("observations") and table is not actor:
            shown, note = beside(actor, table)
        lines += [f"## {table.title[0].upper()}{table.title[1:]}", "", *([note, ""] if note else [])]
        lines += [compact(shown).markdown(), ""] if shown.rows else []
    return lines


@cache
def described_task(task: str) -> list[Table]:
    """The tables of a task in training."""
    return describe.tables(tasks()[task].env_cfg())


def beside(actor: Table, group: Table) -> tuple[Table, str]:
    """What an observation group has besides the actor's terms, noise aside, and a note; or all of it, if it has few."""
    noise = list(actor.columns).index("noise")

    def without_noise(row: Sequence[Any]) -> list[Any]:
        return [value for column, value in enumerate(row) if column != noise]

    seen = [without_noise(row) for row in actor.rows]
    own = [row for row in group.rows if without_noise(row) not in seen]
    if len(group.rows) - len(own) <= len(seen) / 2:
        return group, ""
    return Table(group.columns, own), "What the actor sees, without noise" + (", and:" if own else ".")


def compact(table: Table) -> Table:
    """A table for a page: no empty columns, names and parameters as code."""
    used = [n for n in range(len(table.columns)) if any(cell(row[n]) for row in table.rows)]

    def show_cell(row: Sequence[Any], n: int) -> str:
        text = cell(row[n])
        return f"`{text}`" if text and table.columns[n] in ("name", "parameters") else text

    return Table([table.columns[n] for n in used], [[show_cell(row, n) for n in used] for row in table.rows])
