"""The preactivation without a rounding error, for where no a-priori bound will do.

Floats are integers times powers of two, so the sum is an integer too: about a microsecond a term.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import compress
from typing import Final

#: Every product of two binary64 numbers is a multiple of 2^-2148, the square of the least of them.
_PLACES: Final = 2148
_HALF_PLACES: Final = _PLACES // 2
_LARGEST: Final = sys.float_info.max


def exact_preactivation(
    inputs: Sequence[float], weights: Sequence[float], bias: float
) -> tuple[float, float]:
    """sum x_i w_i + b as (hi, lo): hi is the exact value rounded to binary64, lo the rest, rounded.

    Where an argument is infinite or NaN, the value is what IEEE 754 makes of the exact terms. A
    value beyond binary64 is its largest number of that sign.
    """
    special = [x * w for x, w in zip(inputs, weights, strict=True) if not _finite(x, w)]
    if special or not math.isfinite(bias):
        # Of the finite terms only that they are finite counts: 1e308 * 1e308 must not.
        return sum(special, 0.0 if math.isfinite(bias) else bias), 0.0
    total = _units(bias, _PLACES)
    for x, w in compress(zip(inputs, weights, strict=True), map(_both, inputs, weights)):
        total += _units(x, _HALF_PLACES) * _units(w, _HALF_PLACES)
    try:
        # Python divides integers with a single rounding, to nearest even.
        hi = total / (1 << _PLACES)
    except OverflowError:
        return -_LARGEST if total < 0 else _LARGEST, 0.0
    if not total:
        return hi, 0.0
    return hi, (total - _units(hi, _PLACES)) / (1 << _PLACES)


def _finite(x: float, w: float) -> bool:
    return math.isfinite(x) and math.isfinite(w)


def _both(x: float, w: float) -> bool:
    return x != 0 and w != 0


def _units(x: float, places: int) -> int:
    """x as a whole number of 2^-places, exactly."""
    numerator, denominator = x.as_integer_ratio()
    return (numerator << places) // denominator
