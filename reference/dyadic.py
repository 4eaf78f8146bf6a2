"""Dyadic rationals m * 2^e: the exact values of floats, and of their sums and products.

Arithmetic here is on Python integers, so nothing rounds, nothing overflows, and nothing depends on
the floating-point state of the process (rounding mode, flush-to-zero).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_DOUBLE = struct.Struct("<d")
_INTEGER = struct.Struct("<q")
_FRACTION_MASK = (1 << 52) - 1


class Dyadic(NamedTuple):
    """The number ``mantissa * 2**exponent``; zero is any pair with mantissa 0."""

    mantissa: int
    exponent: int

    def __repr__(self) -> str:
        return f"Dyadic({self.mantissa:#x} * 2**{self.exponent})"

    @property
    def magnitude_exponent(self) -> int:
        """floor(log2|value|). Raises ValueError for zero, which has none."""
        if not self.mantissa:
            raise ValueError("zero has no binary exponent; test the mantissa first")
        return self.mantissa.bit_length() + self.exponent - 1


ZERO = Dyadic(0, 0)
ONE = Dyadic(1, 0)


def from_float(value: float) -> Dyadic:
    """The exact value of a finite Python float. Raises ValueError for NaN and infinities.

    Decodes the bit pattern: `math.frexp` returns 0 for subnormals in a process that flushes them.
    """
    (bits,) = _INTEGER.unpack(_DOUBLE.pack(value))
    biased = (bits >> 52) & 0x7FF
    if biased == 0x7FF:
        raise ValueError(f"{value!r} is not finite and has no exact value")
    fraction = bits & _FRACTION_MASK
    mantissa = fraction | (1 << 52) if biased else fraction
    return Dyadic(-mantissa if bits < 0 else mantissa, (biased or 1) - 1075)


def add(left: Dyadic, right: Dyadic) -> Dyadic:
    """left + right, exactly."""
    (a, high), (b, low) = left, right
    if high >= low:
        return Dyadic((a << high - low) + b, low)
    return Dyadic(a + (b << low - high), high)


def negate(value: Dyadic) -> Dyadic:
    """-value."""
    return Dyadic(-value.mantissa, value.exponent)


def magnitude(value: Dyadic) -> Dyadic:
    """|value|."""
    return Dyadic(abs(value.mantissa), value.exponent)


def subtract(left: Dyadic, right: Dyadic) -> Dyadic:
    """left - right, exactly."""
    return add(left, Dyadic(-right[0], right[1]))


def multiply(left: Dyadic, right: Dyadic) -> Dyadic:
    """left * right, exactly."""
    return Dyadic(left.mantissa * right.mantissa, left.exponent + right.exponent)


def compare(left: Dyadic, right: Dyadic) -> int:
    """-1, 0 or 1 as left is less than, equal to or greater than right."""
    (top, high), (bottom, low) = left, right
    if high >= low:
        top <<= high - low
    else:
        bottom <<= low - high
    return (top > bottom) - (top < bottom)


def truncate_up(value: Dyadic, bits: int) -> Dyadic:
    """The smallest `bits`-bit dyadic that is at least `value`: keeps upper bounds short."""
    excess = value.mantissa.bit_length() - bits
    if excess <= 0:
        return value
    return Dyadic(-((-value.mantissa) >> excess), value.exponent + excess)


def truncate_down(value: Dyadic, bits: int) -> Dyadic:
    """The largest `bits`-bit dyadic that is at most `value`: keeps lower bounds short."""
    excess = value.mantissa.bit_length() - bits
    if excess <= 0:
        return value
    return Dyadic(value.mantissa >> excess, value.exponent + excess)


def ratio(numerator: Dyadic, denominator: Dyadic) -> float:
    """numerator / denominator as a float, saturating at the largest finite float.

    Raises ZeroDivisionError if the denominator is zero. Saturation keeps reports free of
    infinities: an error of 10^600 ulps and one of 10^308 call for the same reaction.
    """
    shift = numerator.exponent - denominator.exponent
    top, bottom = numerator.mantissa, denominator.mantissa
    if shift >= 0:
        top <<= shift
    else:
        bottom <<= -shift
    try:
        return top / bottom
    except OverflowError:
        return -LARGEST_FLOAT if (top < 0) != (bottom < 0) else LARGEST_FLOAT


LARGEST_FLOAT = float.fromhex("0x1.fffffffffffffp+1023")
