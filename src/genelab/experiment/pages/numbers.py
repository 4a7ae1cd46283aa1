"""Numbers as people read them: SI prefixes, intervals, durations, ticks."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from genelab.core.ranges import finite

DASH = "–"
"""Stands where there is no value."""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def si(value: float | None) -> str:
    """Three significant digits and a prefix: ``14.7M``."""
    for factor, prefix in _PREFIXES:
        if value is not None and abs(value) >= factor:
            return _minus(f"{value / factor:.3g}{prefix}")
    return number(value, 3)


def number(value: float | None, digits: int = 4) -> str:
    """A value in a table: significant digits, no padding zeros, no surprises with large and small ones."""
    if value is None:
        return DASH
    if 10**digits <= abs(value) < 1e9:
        return _minus(f"{value:,.0f}")
    return _minus(_short_exponent(f"{value:.{digits}g}"))


def signed(value: float | None, digits: int = 4) -> str:
    """The same, with a plus where it is positive."""
    return f"{'+' if value is not None and value > 0 else ''}{number(value, digits)}"


def plus_minus(mean: float, half_width: float) -> str:
    """``39.983 ± 0.018``: two significant digits of the interval decide how many of the mean are shown."""
    if half_width <= 0 or not math.isfinite(half_width):
        return f"{number(mean)} ± {number(half_width)}"
    decimals = 1 - math.floor(math.log10(half_width))
    if decimals > 6 or abs(mean) >= 1e6:
        return f"{number(mean)} ± {number(half_width, 2)}"
    decimals = max(0, decimals)
    return _minus(f"{mean:.{decimals}f} ± {half_width:.{decimals}f}")


def mean_with_interval(record: dict[str, Any]) -> str:
    """``return_mean`` of a record with ``return_ci95``, as far as it has them."""
    mean, spread = finite(record.get("return_mean")), finite(record.get("return_ci95"))
    return number(mean) if mean is None or spread is None else plus_minus(mean, spread)


def percent(value: float | None) -> str:
    return DASH if value is None else f"{number(100 * value)} %"


def duration(seconds: float | None) -> str:
    """Seconds in the two largest units that matter."""
    if seconds is None:
        return DASH
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def utc(time: str) -> str:
    """An ISO 8601 time in UTC with spaces in it."""
    return time.replace("T", " ").replace("+00:00", " UTC")


def ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers between `low` and `high`."""
    if not high > low:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(high - low))
    found = []
    for step in (magnitude * factor for factor in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5, 5)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        found.append([index * step for index in range(first, last + 1)])
    return min(found, key=lambda values: abs(len(values) - count))  # the first, so the denser, of equally good ones


def log_ticks(low: float, high: float, count: int) -> list[float]:
    """Powers of ten between two positive numbers, about `count` of them."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / max(1, count)))
    return [10.0**power for power in range(first, last + 1) if (power - last) % stride == 0]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Labels of evenly spaced ticks, all with the same prefix and number of decimals."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0:
        return ["0" for _ in values]
    step = min((abs(b - a) for a, b in pairwise(values)), default=largest)
    if largest < 1e-3 or step < 1e-5:
        return ["0" if value == 0 else _minus(_scientific(value)) for value in values]
    factor, prefix = next(((f, p) for f, p in _PREFIXES if largest >= f and largest >= 1e4), (1.0, ""))
    if _decimals(step / factor) > 2:
        factor, prefix = 1.0, ""
    decimals = _decimals(step / factor)
    return ["0" if value == 0 else _minus(f"{value / factor:.{decimals}f}{prefix}") for value in values]


def _decimals(step: float) -> int:
    return next((d for d in range(6) if abs(round(step, d) - step) < 1e-6 * step), 6)


def log_tick_labels(values: Sequence[float]) -> list[str]:
    return [si(value) if value >= 1e-3 else _minus(_short_exponent(f"{value:.0e}")) for value in values]


def time_unit(seconds: float) -> tuple[float, str]:
    """Seconds per unit, and the unit, to show durations up to `seconds` in."""
    return (1.0, "s") if seconds < 180 else (60.0, "min") if seconds < 3 * 3600 else (3600.0, "h")


def _scientific(value: float) -> str:
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    return f"{value / 10.0**exponent:.3g}e{exponent}"


def _short_exponent(text: str) -> str:
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
