"""Write the generated pages: docs/tasks.md from the tasks' docstrings.  python docs/make_pages.py"""

import inspect
from pathlib import Path

from genelab.core.overrides import show
from genelab.core.registry import load, tasks

HERE = Path(__file__).parent


def task_page() -> str:
    """Every task with its MDP tables, presets and published result."""
    lines = ["# Tasks", "", "Generated from the tasks' docstrings by `python docs/make_pages.py`. Do not edit.", ""]
    for spec in tasks().values():
        lines += [f"## {spec.id}", "", inspect.cleandoc(load(spec.env).__doc__ or spec.summary), ""]
        if spec.published:
            lines += [f"Published result: {spec.published}.", ""]
        for name, changes in (load(spec.presets) if spec.presets else {}).items():
            lines += [f"Preset `{name}`, as changes of the reference values:", ""]
            lines += ["| path | value |", "| --- | --- |"]
            lines += [f"| `{path}` | {show(value)} |" for path, value in changes.items()]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    (HERE / "tasks.md").write_text(task_page(), encoding="utf-8")
