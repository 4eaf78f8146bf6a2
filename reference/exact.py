"""Exact arithmetic on what floats stand for: sums and products without a rounding error.

An exact value is a `Dyadic` where it is finite and not zero, and a Python float where it is one of
IEEE 754's special values: a signed zero, an infinity, NaN. The special values combine by IEEE 754's
rules, the others as the rational numbers they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Integral
from typing import NamedTuple, SupportsFloat

from reference.dyadic import ONE, Dyadic, add, from_float, subtract

Exact = Dyadic | float

#: The identity of addition that keeps a sum of negative zeros negative.
_NEUTRAL = -0.0


def exact(value: SupportsFloat) -> Exact:
    """What a Python float (or int, or NumPy scalar) stands for.

    Raises ValueError for a number of another type that no float holds, such as a long double.
    """
    if not isinstance(value, float):
        if isinstance(value, Integral):
            return Dyadic(int(value), 0) if value else 0.0
        nearest = float(value)
        if nearest != value and nearest == nearest:
            raise ValueError(f"{value!r} is no binary64 number; round it to one first")
        value = nearest
    if not isfinite(value):
        return value
    decoded = from_float(value)
    return decoded if decoded.mantissa else value


def product(left: Exact, right: Exact) -> Exact:
    """left * right: exact, or IEEE 754's answer where a special value takes part."""
    if isinstance(left, Dyadic) and isinstance(right, Dyadic):
        return Dyadic(left.mantissa * right.mantissa, left.exponent + right.exponent)
    return _stand_in(left) * _stand_in(right)


def _stand_in(value: Exact) -> float:
    """A float that multiplies with special values as `value` does: only its sign matters."""
    if isinstance(value, Dyadic):
        return 1.0 if value.mantissa > 0 else -1.0
    return value


class Sums(NamedTuple):
    """The sums of the terms of a dot product: of the special ones, by IEEE 754's rules, and of the
    positive and the negative ones, both as magnitudes."""

    special: float
    positive: Dyadic
    negative: Dyadic

    @property
    def total(self) -> Exact:
        """The sum of all terms, exactly; -0 only if every term is -0, and +0 for exact
        cancellation."""
        if not isfinite(self.special):
            return self.special
        if not self.positive.mantissa and not self.negative.mantissa:
            return self.special
        value = subtract(self.positive, self.negative)
        return value if value.mantissa else 0.0

    @property
    def absolute(self) -> Dyadic:
        """S, the sum of the finite terms' magnitudes: the scale of the rounding errors of a dot
        product (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1)."""
        return add(self.positive, self.negative)


def sums(terms: Iterable[Exact]) -> Sums:
    """The sums of exact values, without a rounding error."""
    special = _NEUTRAL
    finite: list[Dyadic] = []
    for term in terms:
        if isinstance(term, Dyadic):
            finite.append(term)
        else:
            special += term
    common = min((exponent for _, exponent in finite), default=0)
    positive = negative = 0
    for mantissa, exponent in finite:
        if mantissa > 0:
            positive += mantissa << exponent - common
        else:
            negative -= mantissa << exponent - common
    return Sums(special, Dyadic(positive, common), Dyadic(negative, common))


def dot(inputs: Sequence[Exact], weights: Sequence[Exact], bias: Exact) -> Sums:
    """The sums of the terms x_i * w_i and b. Raises ValueError if the lengths differ."""
    if len(inputs) != len(weights):
        raise ValueError(
            f"inputs has {len(inputs)} elements and weights has {len(weights)}; "
            "give one weight for each input"
        )
    return sums([*map(product, inputs, weights), bias])


def one_minus_square(value: Exact) -> Exact:
    """1 - y^2, exactly."""
    square = product(value, value)
    if isinstance(square, Dyadic):
        difference = subtract(ONE, square)
        return difference if difference.mantissa else 0.0
    return 1.0 - square if square else ONE
