"""Line plots as inline SVG: lines, bands, axes and what the page's script needs to show values under the pointer.

Colours, fonts and line widths are the style sheet's. Coordinates in a path are exact to a hundredth of a unit, from
which the script computes the values it shows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genelab.experiment.report.curves import Curve, Line, thin
from genelab.experiment.report.markup import Html, colour, tag
from genelab.experiment.report.numbers import log_tick_labels, log_ticks, tick_labels, ticks, time_unit

LOG_RATIO = 100.0
"""Positive values that span more than this are shown on a logarithmic scale where a plot allows it."""


@dataclass(frozen=True)
class Layout:
    """Size of a plot in units of its view box, and how much is written around it."""

    width: int = 300
    height: int = 150
    left: int = 44
    bottom: int = 22
    x_ticks: int = 3
    y_ticks: int = 3
    x_label: bool = False
    markers: bool = False
    """Whether every point has a dot."""


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

    @property
    def attribute(self) -> str:
        """The scale for the script: coordinates, then values at both ends."""
        return f"{self.start:g} {self.end:g} {self.low!r} {self.high!r}{' log' if self.log else ''}"


def plot(
    curves: Sequence[Curve],
    name: str,
    layout: Layout,
    *,
    axis: str = "steps",
    may_be_log: bool = False,
    fraction: bool = False,
    name_seeds: bool = False,
    draw_seeds: bool = True,
) -> Html:
    """Draw curves. `fraction` fixes the y axis to 0 to 100 %; `name_seeds` lists seeds under the pointer."""
    right, top = layout.width - 12, 10
    x = _x_scale(curves, layout.left, right)
    y = _y_scale(curves, layout.height - layout.bottom - (16 if layout.x_label else 0), top, may_be_log, fraction)
    parts: list[Html] = [*_y_axis(y, layout, right, fraction), *_x_axis(x, y, layout, axis)]
    buckets = max(60, layout.width // 2)
    for curve in curves:
        if curve.low is not None and curve.high is not None and len(curve.low[0]) > 1:
            parts.append(_band(curve.index, curve.low, curve.high, x, y, buckets))
    for curve in curves:
        for seed, line in curve.seeds if draw_seeds else ():
            label = seed if name_seeds else None
            parts += _path(line, x, y, buckets, f"seed {colour(curve.index)}", label)
    for curve in curves:
        label = "mean" if name_seeds and curve.seeds else curve.label
        parts += _path(curve.mean, x, y, buckets, f"line {colour(curve.index)}", label, layout.markers)
    parts.append(tag("path", class_="cross", d=f"M0,{top}V{y.start:g}"))
    return tag(
        "svg",
        *parts,
        class_="plot",
        viewBox=f"0 0 {layout.width} {layout.height}",
        role="img",
        aria_label=_describe(name, curves),
        data_x=x.attribute,
        data_y=y.attribute,
        data_unit="time" if axis == "time" else axis,
        data_percent=fraction,
    )


def _x_scale(curves: Sequence[Curve], left: float, right: float) -> Scale:
    """From nought, where every training starts, to the last point."""
    last = max(float(x[-1]) for curve in curves for x, _ in _lines(curve) if len(x))
    return Scale(0.0, last if last > 0 else 1.0, left, right)


def _y_scale(curves: Sequence[Curve], bottom: float, top: float, may_be_log: bool, fraction: bool) -> Scale:
    if fraction:
        return Scale(-0.03, 1.03, bottom, top)
    values = np.concatenate([y for curve in curves for _, y in _lines(curve)])
    low, high = float(values.min()), float(values.max())
    if may_be_log and low > 0 and high / low > LOG_RATIO:
        low, high = math.log10(low), math.log10(high)
        margin = 0.05 * (high - low)
        return Scale(low - margin, high + margin, bottom, top, log=True)
    if low == high == 0.0:
        high = 1.0  # a count or a share that stayed at nought
    flat = high - low <= 1e-9 * max(abs(low), abs(high))
    margin = 0.5 * abs(high) if flat else 0.05 * (high - low)
    return Scale(low - margin, high + margin, bottom, top)


def _lines(curve: Curve) -> list[Line]:
    edges = [line for line in (curve.low, curve.high) if line is not None]
    return [curve.mean, *edges, *(line for _, line in curve.seeds)]


def _y_axis(y: Scale, layout: Layout, right: float, fraction: bool) -> list[Html]:
    if fraction:
        values = [0.0, 0.5, 1.0] if layout.y_ticks < 4 else [0.0, 0.25, 0.5, 0.75, 1.0]
        labels = [f"{100 * value:.0f}%" for value in values]
    elif y.log:
        values = log_ticks(10**y.low, 10**y.high, layout.y_ticks)
        labels = log_tick_labels(values)
    else:
        values = ticks(y.low, y.high, layout.y_ticks)
        labels = tick_labels(values)
    parts = []
    for value, label in zip(values, labels, strict=True):
        at = _n(float(y(value)))
        parts.append(tag("path", class_="grid", d=f"M{layout.left},{at}H{right}"))
        parts.append(tag("text", label, x=layout.left - 7, y=at, dy="0.34em", class_="end"))
    return parts


def _x_axis(x: Scale, y: Scale, layout: Layout, axis: str) -> list[Html]:
    unit, unit_name = time_unit(x.high) if axis == "time" else (1.0, "")
    values = [value * unit for value in ticks(x.low / unit, x.high / unit, layout.x_ticks)]
    labels = tick_labels([value / unit for value in values])
    parts = [tag("path", class_="axis", d=f"M{x.start:g},{y.start:g}H{x.end:g}")]
    for value, label in zip(values, labels, strict=True):
        at = _n(float(x(value)))
        parts.append(tag("path", class_="axis", d=f"M{at},{y.start:g}v4"))
        parts.append(tag("text", label, x=at, y=f"{y.start + 7:g}", dy="0.75em", class_="middle"))
    if layout.x_label:
        text = f"training time ({unit_name})" if axis == "time" else "environment steps"
        at = _n((x.start + x.end) / 2)
        parts.append(tag("text", text, x=at, y=layout.height - 4, class_="middle label"))
    return parts


def _path(
    line: Line, x: Scale, y: Scale, buckets: int, class_: str, name: str | None, markers: bool = False
) -> list[Html]:
    if len(line[0]) == 0:
        return []
    points = _points(thin(line, buckets), x, y)
    parts = [tag("path", class_=class_, d="M" + "L".join(points), data_name=name)]
    if markers or len(points) == 1:
        parts += [_dot(point, class_) for point in points]
    return parts


def _dot(point: str, class_: str) -> Html:
    across, up = point.split(",")
    return tag("circle", class_=class_, cx=across, cy=up, r=3)


def _band(index: int, low: Line, high: Line, x: Scale, y: Scale, buckets: int) -> Html:
    upper = _points(thin(high, buckets), x, y)
    lower = _points(thin(low, buckets), x, y)
    return tag("path", class_=f"band {colour(index)}", d="M" + "L".join([*upper, *reversed(lower)]) + "Z")


def _points(line: Line, x: Scale, y: Scale) -> list[str]:
    return [f"{_n(across)},{_n(up)}" for across, up in zip(x(line[0]), y(line[1]), strict=True)]


def _describe(name: str, curves: Sequence[Curve]) -> str:
    ends = [f"{curve.label} ends at {curve.mean[1][-1]:.4g}" for curve in curves if len(curve.mean[1])]
    return f"{name}: {'; '.join(ends)}" if ends else name


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
