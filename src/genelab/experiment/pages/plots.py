"""Plots: from curves to shapes in the units of a view box, which the templates write as inline SVG.

Colours, fonts and line widths are the style sheet's. Coordinates in a path are exact to a hundredth of a unit, from
which the page's script computes the values that it shows under the pointer.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from genelab.experiment.pages import colour
from genelab.experiment.pages.numbers import log_tick_labels, log_ticks, tick_labels, ticks, time_unit

LOG_RATIO = 100.0
"""Positive values that span more than this are shown on a logarithmic scale where a plot allows it."""
Line = tuple[np.ndarray, np.ndarray]
"""x and y of the same length, x rising."""


@dataclass(frozen=True)
class Curve:
    """One entry in one plot."""

    index: int
    """Place of the entry on the page; decides the colour."""
    label: str
    mean: Line
    band: tuple[Line, Line] | None = None
    """Its edges: the lowest and the highest seed, or the ends of the interval of a single run."""
    seeds: list[tuple[str, Line]] = field(default_factory=list)
    """Name and line of each seed; empty if there is one."""

    @property
    def lines(self) -> list[Line]:
        return [self.mean, *(self.band or ()), *(line for _, line in self.seeds)]


@dataclass(frozen=True)
class Layout:
    """Size of a plot, and how much is written around it."""

    width: int = 300
    height: int = 150
    left: int = 44
    bottom: int = 22
    x_ticks: int = 3
    y_ticks: int = 3
    x_label: bool = False
    markers: bool = False
    """Whether every point has a dot."""


SMALL = Layout(width=270, height=140, left=46)


@dataclass(frozen=True)
class Shape:
    """One SVG element."""

    tag: str
    attributes: dict[str, object]
    text: object = ""
    title: str = ""
    """Shown under the pointer."""


@dataclass(frozen=True)
class Plot:
    """What the template draws."""

    label: str
    """The plot in words."""
    width: int
    height: int
    shapes: Sequence[Shape]
    data: dict[str, str] = field(default_factory=dict)
    """What the page's script needs to know."""


@dataclass(frozen=True)
class Scale:
    """From values to coordinates along one axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        shown = np.log10(np.maximum(values, 1e-300)) if self.log else np.asarray(values, dtype=float)
        return self.start + (shown - self.low) / (self.high - self.low) * (self.end - self.start)

    def at(self, value: float) -> str:
        return _coordinate(float(self(value)))

    @property
    def attribute(self) -> str:
        """The scale for the script: coordinates, then values at both ends."""
        return f"{self.start:g} {self.end:g} {self.low!r} {self.high!r}{' log' if self.log else ''}"


def line_plot(
    curves: Sequence[Curve],
    name: str,
    layout: Layout,
    *,
    axis: str = "steps",
    may_be_log: bool = False,
    fraction: bool = False,
    name_seeds: bool = False,
    draw_seeds: bool = True,
    level: float | None = None,
) -> Plot:
    """Draw curves. `fraction`: y is 0 to 100 %; `name_seeds`: under the pointer; `level`: a value to be reached."""
    right, top = layout.width - 12, 10
    last = max(float(x[-1]) for curve in curves for x, _ in curve.lines if len(x))
    x = Scale(0.0, last if last > 0 else 1.0, layout.left, right)  # from zero, where every training starts
    values = np.concatenate([[] if level is None else [level], *(y for curve in curves for _, y in curve.lines)])
    y = _y_scale(values, layout.height - layout.bottom - (16 if layout.x_label else 0), top, may_be_log, fraction)
    shapes = [*_y_axis(y, layout, right, fraction), *_x_axis(x, y, layout, axis)]
    if level is not None:
        shapes.append(path("target", f"M{layout.left},{y.at(level)}H{right}"))

    def points(line: Line) -> list[str]:
        across, up = thin(line, max(60, layout.width // 2))
        return [f"{_coordinate(a)},{_coordinate(b)}" for a, b in zip(x(across), y(up), strict=True)]

    for curve in curves:
        if curve.band is not None and len(curve.band[0][0]) > 1:
            lower, upper = map(points, curve.band)
            shapes.append(path(f"band {colour(curve.index)}", "M" + "L".join([*upper, *reversed(lower)]) + "Z"))
    for curve in curves:
        for seed, line in curve.seeds if draw_seeds else ():
            shapes += _line(points(line), f"seed {colour(curve.index)}", seed if name_seeds else None)
    for curve in curves:
        label = "mean" if name_seeds and curve.seeds else curve.label
        shapes += _line(points(curve.mean), f"line {colour(curve.index)}", label, layout.markers)
    shapes.append(path("cross", f"M0,{top}V{y.start:g}"))
    data = {"data-x": x.attribute, "data-y": y.attribute, "data-unit": axis}
    data |= {"data-percent": ""} if fraction else {}
    ends = [f"{curve.label} ends at {curve.mean[1][-1]:.4g}" for curve in curves if len(curve.mean[1])]
    return Plot(f"{name}: {'; '.join(ends)}" if ends else name, layout.width, layout.height, shapes, data)


def thin(line: Line, buckets: int) -> Line:
    """The line with at most two points per bucket, the lowest and the highest, so that no spike is lost."""
    x, y = line
    if len(x) <= 2 * buckets:
        return line
    edges = np.linspace(0, len(x), buckets + 1).astype(int)
    keep = {0, len(x) - 1}
    for start, end in pairwise(edges):
        keep |= {start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))}
    chosen = sorted(keep)
    return x[chosen], y[chosen]


def _y_scale(values: np.ndarray, bottom: float, top: float, may_be_log: bool, fraction: bool) -> Scale:
    if fraction:
        return Scale(-0.03, 1.03, bottom, top)
    low, high = float(values.min()), float(values.max())
    log = may_be_log and low > 0 and high / low > LOG_RATIO
    if log:
        low, high = math.log10(low), math.log10(high)
    elif low == high == 0.0:
        high = 1.0  # a count or a share that stayed at zero
    flat = high - low <= 1e-9 * max(abs(low), abs(high))
    margin = 0.5 * abs(high) if flat else 0.05 * (high - low)
    return Scale(low - margin, high + margin, bottom, top, log)


def _y_axis(y: Scale, layout: Layout, right: float, fraction: bool) -> Iterator[Shape]:
    if fraction:
        values = ticks(0.0, 1.0, 3 if layout.y_ticks < 4 else 5)
        labels = [f"{100 * value:.0f}%" for value in values]
    elif y.log:
        values = log_ticks(10**y.low, 10**y.high, layout.y_ticks)
        labels = log_tick_labels(values)
    else:
        values = ticks(y.low, y.high, layout.y_ticks)
        labels = tick_labels(values)
    for value, label in zip(values, labels, strict=True):
        yield path("grid", f"M{layout.left},{y.at(value)}H{right}")
        yield words(label, layout.left - 7, y.at(value), "end", dy="0.34em")


def _x_axis(x: Scale, y: Scale, layout: Layout, axis: str) -> Iterator[Shape]:
    unit, unit_name = time_unit(x.high) if axis == "time" else (1.0, "")
    values = [value * unit for value in ticks(x.low / unit, x.high / unit, layout.x_ticks)]
    labels = tick_labels([value / unit for value in values])
    yield path("axis", f"M{x.start:g},{y.start:g}H{x.end:g}")
    for value, label in zip(values, labels, strict=True):
        yield path("axis", f"M{x.at(value)},{y.start:g}v4")
        yield words(label, x.at(value), f"{y.start + 7:g}", "middle", dy="0.75em")
    if layout.x_label:
        text = f"training time ({unit_name})" if axis == "time" else "environment steps"
        yield words(text, f"{(x.start + x.end) / 2:g}", layout.height - 4, "middle label")


def _coordinate(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _line(points: Sequence[str], look: str, name: str | None, markers: bool = False) -> Iterator[Shape]:
    if points:
        yield path(look, "M" + "L".join(points), **{"data-name": name})
    if markers or len(points) == 1:
        for x, y in (point.split(",") for point in points):
            yield dot(look, x, y, 3)


def path(look: str, d: str, **more: Any) -> Shape:
    """Lines or an area, in the commands of SVG."""
    return Shape("path", {"class": look, "d": d, **more})


def words(text: str, x: object, y: object, look: str, dy: str | None = None) -> Shape:
    """Text at a place."""
    return Shape("text", {"x": x, "y": y, "dy": dy, "class": look}, text)


def dot(look: str, x: str, y: str, radius: float, title: str = "") -> Shape:
    """A circle; its title is shown under the pointer."""
    return Shape("circle", {"class": look, "cx": x, "cy": y, "r": radius}, title=title)
