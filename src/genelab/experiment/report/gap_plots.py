"""The plots of the gap report that the training report has no use for: intervals in rows, and pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genelab.experiment.report.markup import Html, colour, tag
from genelab.experiment.report.numbers import number, tick_labels, ticks
from genelab.experiment.report.svg import Scale

ROW, LEFT, WIDTH = 20, 170, 660
BEND = 0.1
"""The axis of the forest is linear around nought up to here, and logarithmic further out."""


@dataclass(frozen=True)
class Mark:
    """One interval of the forest, in its metric's own spread."""

    index: int
    """Place of the engine in the report; decides the colour."""
    low: float
    value: float
    high: float
    clear: bool
    """Whether the difference is significant; others are drawn hollow."""
    text: str


def forest(rows: Sequence[tuple[str, Sequence[Mark]]]) -> Html:
    """Differences with their intervals, one row per metric, on an axis that is linear near nought."""
    ends = [abs(end) for _, marks in rows for mark in marks for end in (mark.low, mark.high)]
    reach = float(np.arcsinh(max(1.0, *ends) * 1.1 / BEND))
    x = Scale(-reach, reach, LEFT, WIDTH - 14)
    height = ROW * len(rows) + 44
    bottom = height - 34

    def at(value: float) -> str:
        return f"{float(x(np.arcsinh(value / BEND))):.1f}"

    parts = []
    for tick in (-100.0, -10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0):
        if abs(float(np.arcsinh(tick / BEND))) <= reach:
            parts.append(tag("path", class_="axis" if tick == 0 else "grid", d=f"M{at(tick)},6V{bottom}"))
            parts.append(tag("text", number(tick), x=at(tick), y=bottom + 15, class_="middle"))
    middle = f"{(LEFT + WIDTH - 14) / 2:g}"
    parts.append(tag("text", "difference / spread over episodes", x=middle, y=height - 3, class_="middle"))
    for row, (name, marks) in enumerate(rows):
        centre = 6 + ROW * (row + 0.5)
        parts.append(tag("text", name, x=LEFT - 10, y=f"{centre:g}", dy="0.34em", class_="end"))
        for place, mark in enumerate(marks):
            y = f"{centre + 5.0 * (place - (len(marks) - 1) / 2):g}"
            look = colour(mark.index)
            parts.append(tag("path", class_=f"line {look}", d=f"M{at(mark.low)},{y}H{at(mark.high)}"))
            dot = f"{look} {'' if mark.clear else 'hollow'}".strip()
            parts.append(tag("circle", tag("title", mark.text), class_=dot, cx=at(mark.value), cy=y, r=3.5))
    return _svg(parts, WIDTH, height, "Differences of all metrics")


def scatter(source: np.ndarray, targets: Sequence[tuple[int, np.ndarray]]) -> Html:
    """One dot per episode: its return in the source engine across, in a target upwards; the diagonal is no gap."""
    size, left = 400, 56
    values = np.concatenate([source, *(target for _, target in targets)])
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.01 * max(1.0, abs(high))
    across = Scale(low - margin, high + margin, left, size - 12)
    up = Scale(low - margin, high + margin, size - 44, 10)
    parts = [tag("path", class_="axis", d=f"M{left},{size - 44}H{size - 12}M{left},{size - 44}V10")]
    marks = ticks(low - margin, high + margin, 5)
    for value, label in zip(marks, tick_labels(marks), strict=True):
        parts.append(tag("text", label, x=f"{float(across(value)):.1f}", y=size - 28, class_="middle"))
        parts.append(tag("text", label, x=left - 7, y=f"{float(up(value)):.1f}", dy="0.34em", class_="end"))
    parts.append(tag("path", class_="grid", d=f"M{left},{size - 44}L{size - 12},10"))
    for index, target in targets:
        for a, b in zip(across(source), up(target), strict=True):
            parts.append(tag("circle", class_=f"seed {colour(index)}", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3.5))
    parts.append(tag("text", "return in the source engine", x=(left + size) / 2, y=size - 8, class_="middle"))
    return _svg(parts, size, size, "Returns of paired episodes")


def share_bar(share: float) -> Html:
    """A share from 0 to 1 as a bar."""
    fill = tag("span", class_="share-fill", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%")
    return tag("span", fill, class_="share", aria_hidden="true")


def _svg(parts: Sequence[Html], width: int, height: int, label: str) -> Html:
    cross = tag("path", class_="cross", d="M0,0")  # what the page's script moves in every plot
    return tag("svg", *parts, cross, class_="plot", viewBox=f"0 0 {width} {height}", role="img", aria_label=label)
