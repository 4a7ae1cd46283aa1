"""Shaped rewards from one primitive: how far a value is from where it should be."""

import math
from collections.abc import Callable
from typing import Literal

from torch import Tensor

from genelab.core.errors import UserError, require_known

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
    require_known("sigmoid", sigmoid, _CURVES)
    lowest = "at least" if sigmoid in _REACHES_ZERO else "above"
    if not 0.0 <= value_at_margin < 1.0 or (value_at_margin == 0.0 and lowest == "above"):
        label = f"the value of a {sigmoid} sigmoid at its margin"
        raise UserError(f"{label} must be {lowest} 0 and below 1, not {value_at_margin}")
    return _CURVES[sigmoid]((x - x.clamp(low, high)).abs() / margin, value_at_margin)


_CURVES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "gaussian": lambda d, value: (d.square() * math.log(value)).exp(),
    "hyperbolic": lambda d, value: 1.0 / (d * math.acosh(1.0 / value)).cosh(),
    "long_tail": lambda d, value: 1.0 / (d.square() * (1.0 / value - 1.0) + 1.0),
    "reciprocal": lambda d, value: 1.0 / (d * (1.0 / value - 1.0) + 1.0),
    "cosine": lambda d, value: 0.5 + 0.5 * (d * math.acos(2.0 * value - 1.0)).clamp(max=math.pi).cos(),
    "linear": lambda d, value: (1.0 - d * (1.0 - value)).clamp(min=0.0),
    "quadratic": lambda d, value: (1.0 - d.square() * (1.0 - value)).clamp(min=0.0),
    "tanh_squared": lambda d, value: 1.0 - (d * math.atanh(math.sqrt(1.0 - value))).tanh().square(),
}
"""Functions of a distance that are 1 at 0 and `value` at 1."""
