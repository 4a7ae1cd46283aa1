"""Pictures and tables of docs/architecture.md, made from the code: python docs/make_pages.py writes them."""

import ast
import inspect
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from genelab.core.table import Table
from genelab.envs.env import ManagerBasedRlEnv

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/genelab"
INK, PAPER, LINE, ACCENT, SOFT = "#1f2933", "#ffffff", "#9aa5b1", "#33658a", "#e9f0f5"
FONT = 'font-family="system-ui, sans-serif"'

STEP = (
    ("action", "clip, delay, noise, controls", "action_manager.process"),
    ("physics", "`decimation` steps at once", "engine.step"),
    ("counters", "steps of run and episode", "episode_length_buf += 1"),
    ("sensors", "contacts, scans, rays", "sensors.update"),
    ("commands", "new ones where they are due", "command_manager.step"),
    ("events", "pushes where they are due", "event_manager.step"),
    ("rewards", "weight x term x time step", "reward_manager.compute"),
    ("metrics", "sums over the episode", "metrics_manager.step"),
    ("terminations", "finished or cut off", "termination_manager.compute"),
    ("observations", "of the reached state", "observation_manager.compute()"),
    ("reset", "only worlds that ended", "self.reset("),
)
"""What happens in a control step, with the code of `ManagerBasedRlEnv.step` that does it."""
RESET = (
    ("curriculum", "levels, ranges", "curriculum_manager.reset"),
    ("physics", "default state", "engine.reset"),
    ("reset events", "place, jitter", "event_manager.reset"),
    ("commands", "may write the state", "command_manager.reset"),
    ("the rest", "sensors, actions, sums", "sensors.reset"),
)
"""The same for a reset."""


@dataclass(frozen=True)
class Room:
    """One package of the project."""

    name: str
    what: str
    lines: int
    modules: list[str]


def rooms() -> list[Room]:
    """The layers, from the top, with the first sentence of each package's docstring and its size."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = []
    for layer in project["tool"]["importlinter"]["contracts"][0]["layers"]:
        directory = PACKAGE / layer.removeprefix("genelab.")
        text = ast.get_docstring(ast.parse((directory / "__init__.py").read_text(encoding="utf-8"))) or ""
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in directory.rglob("*.py"))
        lines = max(100, round(lines, -2))  # so that not every change moves the pictures
        inside = [p.stem for p in directory.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
        modules = sorted(name for name in inside if not name.startswith("_"))
        found.append(Room(directory.name, text.split("\n\n")[0].replace("\n", " "), lines, modules))
    return found


def room_table() -> str:
    """The rooms as markdown."""
    rows = [(f"`{room.name}`", room.what, f"{room.lines:,}") for room in rooms()]
    return Table(("layer", "what lives there", "lines"), rows).markdown()


def rooms_svg() -> str:
    """The layers on top of each other; the wider a bar, the larger the package."""
    height, gap, top, left, widest = 62, 8, 44, 24, 860
    found = rooms()
    largest = max(room.lines for room in found)
    parts = [_text(left, 26, "imports point downwards only", size=13, color=LINE)]
    for i, room in enumerate(found):
        y = top + i * (height + gap)
        parts.append(_box(left, y, widest, height, SOFT))
        parts.append(_box(left, y, max(6, round(widest * room.lines / largest)), 5, ACCENT))
        parts.append(_text(left + 14, y + 30, room.name, size=16, weight="600"))
        parts.append(_text(left + 130, y + 27, room.what.split(". ")[0].rstrip(".").replace("``", ""), size=13))
        parts.append(_text(left + 130, y + 48, _fit(room.modules, 118), size=11, color=ACCENT))
        parts.append(_text(left + 14, y + 48, f"{room.lines:,} lines", size=11, color=LINE))
    return _svg(left * 2 + widest, top + len(found) * (height + gap) + 8, parts)


def control_step_svg() -> str:
    """A control step in boxes from left to right, and what a reset does in order."""
    width, height, gap, per_row = 196, 58, 22, 4
    parts: list[str] = []
    bottom = _flow(parts, STEP, 34, width, height, gap, per_row, "one control step of all worlds")
    bottom = _flow(parts, RESET, bottom + 34, width, height, gap, per_row, "reset of the worlds whose episode ended")
    return _svg(per_row * (width + gap) + 24, bottom + 10, parts)


def check_order() -> None:
    """Raise if the code does something in another order than the pictures show."""
    for method, steps in ((ManagerBasedRlEnv.step, STEP), (ManagerBasedRlEnv._reset_worlds, RESET)):
        source = inspect.getsource(method)
        places = [source.find(code) for _, _, code in steps]
        if -1 in places or places != sorted(places):
            raise AssertionError(f"{method.__qualname__} does not do {[code for _, _, code in steps]} in this order")


def _flow(
    parts: list[str],
    steps: tuple[tuple[str, str, str], ...],
    top: int,
    width: int,
    height: int,
    gap: int,
    per_row: int,
    title: str,
) -> int:
    """Draw numbered boxes row by row; returns where they end."""
    parts.append(_text(24, top - 10, title, size=13, color=LINE))
    for i, (name, what, _) in enumerate(steps):
        x, y = 24 + (i % per_row) * (width + gap), top + (i // per_row) * (height + gap)
        parts.append(_box(x, y, width, height, SOFT))
        parts.append(_text(x + 12, y + 24, f"{i + 1}  {name}", size=15, weight="600"))
        parts.append(_text(x + 12, y + 44, what.replace("`", ""), size=11))
        if i % per_row < per_row - 1 and i < len(steps) - 1:
            parts.append(f'<path d="M{x + width + 4} {y + height // 2}h{gap - 10}m-5 -4l5 4l-5 4" {_STROKE}/>')
    return top + -(-len(steps) // per_row) * (height + gap)


def _fit(names: list[str], characters: int) -> str:
    """As many names as there is room for."""
    shown = ""
    for name in names:
        if len(shown) + len(name) + 3 > characters:
            return f"{shown}, …"
        shown += f", {name}" if shown else name
    return shown


_STROKE = f'fill="none" stroke="{LINE}" stroke-width="1.5"'


def _box(x: int, y: int, width: int, height: int, color: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{color}"/>'


def _text(x: int, y: int, text: str, size: int, weight: str = "400", color: str = INK) -> str:
    style = f'{FONT} font-size="{size}" font-weight="{weight}" fill="{color}"'
    return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'


def _svg(width: int, height: int, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="{PAPER}"/>', *parts, "</svg>"]) + "\n"
