"""Shaped rewards from one primitive: how far a value is from where it should be."""

import math
from collections.abc import Callable
from typing import Literal, get_args

from torch import Tensor

from genelab.core.errors import UserError, unknown

Sigmoid = Literal["gaussian", "hyperbolic", "long_tail", "reciprocal", "cosine", "linear", "quadratic", "tanh_squared"]
_REACHES_ZERO = ("cosine", "linear", "quadratic")
"""Sigmoids that can be zero at the margin, and are zero further out."""


def tolerance(
    x: Tensor,
    bounds: tuple[float, float] = (0.0, 0.0),
    margin: float = 0.0,
    sigmoid: Sigmoid = "gaussian",
    value_at_margin: float = 0.1,
) -> Tensor:
    """1 where `x` is within the bounds, else a sigmoid that has fallen to `value_at_margin` at distance `margin`.  (…)

    Bounds are inclusive and may be infinite. Without a margin, everything outside is 0.
    """
    low, high = bounds
    if low > high:
        raise UserError(f"the lower bound {low} is above the upper one, {high}")
    if margin < 0.0:
        raise UserError(f"the margin must not be negative, as {margin}")
    if margin == 0.0:
        return ((x >= low) & (x <= high)).to(x.dtype)
    return _curve(sigmoid, value_at_margin)((x - x.clamp(low, high)).abs() / margin)


def _curve(sigmoid: str, value: float) -> Callable[[Tensor], Tensor]:
    """A function of the distance that is 1 at 0 and `value` at 1."""
    if sigmoid not in get_args(Sigmoid):
        raise unknown("sigmoid", sigmoid, get_args(Sigmoid))
    if not (0.0 <= value < 1.0 if sigmoid in _REACHES_ZERO else 0.0 < value < 1.0):
        lowest = "at least" if sigmoid in _REACHES_ZERO else "above"
        raise UserError(f"the value of a {sigmoid} sigmoid at its margin must be {lowest} 0 and below 1, not {value}")
    match sigmoid:
        case "gaussian":
            return lambda d: (d.square() * math.log(value)).exp()
        case "hyperbolic":
            return lambda d: 1.0 / (d * math.acosh(1.0 / value)).cosh()
        case "long_tail":
            return lambda d: 1.0 / (d.square() * (1.0 / value - 1.0) + 1.0)
        case "reciprocal":
            return lambda d: 1.0 / (d * (1.0 / value - 1.0) + 1.0)
        case "cosine":
            return lambda d: 0.5 + 0.5 * (d * math.acos(2.0 * value - 1.0)).clamp(max=math.pi).cos()
        case "linear":
            return lambda d: (1.0 - d * (1.0 - value)).clamp(min=0.0)
        case "quadratic":
            return lambda d: (1.0 - d.square() * (1.0 - value)).clamp(min=0.0)
        case _:
            return lambda d: 1.0 - (d * math.atanh(math.sqrt(1.0 - value))).tanh().square()
