"""Which values a config field may have, declared beside the field, in its type: ``gamma: Share = 0.99``.

A declaration is ``typing.Annotated[type, rule]``. The names below stand for the common ones; a field that needs another
bound says so itself: ``decimation: Annotated[int, Range(1, 1000)] = 1``. It works for whatever has a declared type:
fields of configs, items of tuples and dicts (``tuple[Size, ...]``), alternatives (``Positive | None``), and parameters
of terms, in the signature of their function.

Every number must be finite, declared or not, unless its rule says `infinite`. `genelab.core.overrides.validate`
checks a whole tree of configs, and ``genelab info`` shows the rules.
"""

import math
import typing
from dataclasses import dataclass
from typing import Annotated, Any

from genelab.core.config import alternatives, per_item, split
from genelab.core.errors import UserError

LARGEST = 3.4e38
"""What 32-bit numbers, in which everything is computed, can hold."""


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    """Whether `low` itself is too low."""
    infinite: bool = False

    def fault(self, value: Any) -> str | None:
        """What a value must be and is not."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if value < self.low or (self.open_low and value == self.low):
            return "must be positive" if (self.low, self.open_low) == (0, True) else f"must be {self._lower}"
        return f"must be at most {_number(self.high)}" if value > self.high else None

    @property
    def _lower(self) -> str:
        return f"{'above' if self.open_low else 'at least'} {_number(self.low)}"

    def __str__(self) -> str:
        if self.high == math.inf:
            return "" if self.low == -math.inf else self._lower
        low = f"above {_number(self.low)}" if self.open_low else _number(self.low)
        return f"{low} to {_number(self.high)}"


@dataclass(frozen=True)
class Rising:
    """A pair of numbers, of which the second is not smaller than the first."""

    def fault(self, value: Any) -> str | None:
        return "must be a lower and an upper end" if isinstance(value, tuple) and value[0] > value[1] else None

    def __str__(self) -> str:
        return "lower end first"


@dataclass(frozen=True)
class NotEmpty:
    """A sequence of at least one item, and of at most so many."""

    most: int = 1000

    def fault(self, value: Any) -> str | None:
        if not isinstance(value, tuple) or 1 <= len(value) <= self.most:
            return None
        return f"must have at most {self.most} values" if value else "must have at least one value"

    def __str__(self) -> str:
        return "at least one"


Positive = Annotated[float, Range(0, open_low=True)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
"""A part of a whole, or a probability."""
Interval = Annotated[tuple[float, float], Rising()]
PositiveInterval = Annotated[tuple[Positive, Positive], Rising()]
NonNegativeInterval = Annotated[tuple[NonNegative, NonNegative], Rising()]
Seconds = Annotated[float, Range(0, 1e6, open_low=True)]
"""A span of time that can be counted in steps."""
Count = Annotated[int, Range(1, 1_000_000_000)]
"""How often something is done. What takes memory has a lower bound of its own."""
CountOrZero = Annotated[int, Range(0, 1_000_000_000)]
Size = Annotated[int, Range(1, 8192)]
"""Units of a layer."""
Sizes = Annotated[tuple[Size, ...], NotEmpty(64)]
Threads = Annotated[int, Range(0, 1024)]
Seed = Annotated[int, Range(0, 2**32 - 1)]
"""What every library accepts as a seed."""


def check(path: str, value: Any, declared: Any) -> None:
    """Raise a `UserError` with the path if a value is not what its declared type says."""
    chosen, rules = _alternative(value, declared)
    if isinstance(value, tuple):
        item_types = per_item(typing.get_args(chosen) or (Any,), len(value))
        for i, item in enumerate(value):
            check(f"{path}[{i}]", item, item_types[i] if len(item_types) == len(value) else Any)
    infinite = any(isinstance(rule, Range) and rule.infinite for rule in rules)
    if isinstance(value, int | float) and not (abs(value) <= LARGEST or (infinite and value in (math.inf, -math.inf))):
        raise UserError(f"{path} must be a finite number, not {value}")
    for rule in rules:
        if (fault := rule.fault(value)) is not None:
            shown = ",".join(map(str, value)) if isinstance(value, tuple) and value else str(value)
            raise UserError(f"{path} {fault}, not {shown}")


def rules_of(declared: Any) -> str:
    """The rules about values of a type, in words; empty if there are none."""
    plain, rules = split(declared)
    words = [str(rule) for rule in rules if str(rule)]
    if typing.get_origin(plain) is tuple and (each := rules_of(typing.get_args(plain)[0])):
        words.insert(0, f"each {each}")
    if len(alternatives(plain)) > 1:
        words += filter(None, map(rules_of, alternatives(plain)))
    return ", ".join(words)


def _alternative(value: Any, declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """The alternative of a type that a value belongs to, and the rules about it."""
    plain, rules = split(declared)
    for option in alternatives(plain):
        chosen, more = split(option)
        origin = typing.get_origin(chosen) or chosen
        if origin is type(value) or (origin is float and type(value) is int):
            return chosen, (*rules, *more)
    return Any, rules


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e4 or value != int(value) or abs(value) > 1e15 else f"{int(value):,}"


def finite(value: Any) -> float | None:
    """`value` if it is a finite number, within what 32 bits can hold, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return None
    return float(value)
