"""Exact arithmetic on what floats stand for: sums and products without a rounding error.

An exact value is a `Dyadic` where it is finite and not zero, and a Python float where it is one of
IEEE 754's special values: a signed zero, an infinity, NaN. The special values combine by IEEE 754's
rules, the others as the rational numbers they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Integral
from typing import SupportsFloat

from reference.dyadic import ONE, Dyadic, from_float, magnitude

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


def total(terms: Iterable[Exact]) -> Exact:
    """The sum of `terms`, exactly; -0 only if every term is -0, and +0 for exact cancellation."""
    special = _NEUTRAL
    finite: list[Dyadic] = []
    for term in terms:
        if isinstance(term, Dyadic):
            finite.append(term)
        else:
            special += term
    if not isfinite(special) or not finite:
        return special
    common = min(term.exponent for term in finite)
    mantissa = sum(term.mantissa << (term.exponent - common) for term in finite)
    return Dyadic(mantissa, common) if mantissa else 0.0


def dot(inputs: Sequence[Exact], weights: Sequence[Exact], bias: Exact) -> Exact:
    """sum(x_i * w_i) + b. Raises ValueError if the lengths differ."""
    return total([*map(product, inputs, _same_length(inputs, weights)), bias])


def absolute_dot(inputs: Sequence[Exact], weights: Sequence[Exact], bias: Exact) -> Dyadic:
    """S = sum|x_i * w_i| + |b| over the finite terms: the scale of the rounding errors of a dot
    product (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1)."""
    terms = [*map(product, inputs, _same_length(inputs, weights)), bias]
    value = total(magnitude(term) for term in terms if isinstance(term, Dyadic))
    return value if isinstance(value, Dyadic) else Dyadic(0, 0)


def signed_sums(
    inputs: Sequence[Exact], weights: Sequence[Exact], bias: Exact
) -> tuple[Dyadic, Dyadic]:
    """The sum of the positive finite terms of a dot product, and that of the negative ones as a
    magnitude."""
    terms = [*map(product, inputs, _same_length(inputs, weights)), bias]
    finite = [term for term in terms if isinstance(term, Dyadic)]
    positive = total(term for term in finite if term.mantissa > 0)
    negative = total(magnitude(term) for term in finite if term.mantissa < 0)
    return (
        positive if isinstance(positive, Dyadic) else Dyadic(0, 0),
        negative if isinstance(negative, Dyadic) else Dyadic(0, 0),
    )


def one_minus_square(value: Exact) -> Exact:
    """1 - y^2, exactly."""
    square = product(value, value)
    return total(
        [ONE, Dyadic(-square.mantissa, square.exponent) if isinstance(square, Dyadic) else -square]
    )


def _same_length(inputs: Sequence[Exact], weights: Sequence[Exact]) -> Sequence[Exact]:
    if len(inputs) != len(weights):
        raise ValueError(
            f"inputs has {len(inputs)} elements and weights has {len(weights)}; "
            "give one weight for each input"
        )
    return weights
