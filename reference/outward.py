"""Arithmetic on bounds: every result is rounded up, to 64 bits, which keeps it short."""

from __future__ import annotations

from reference.dyadic import ZERO, Dyadic, add, compare, truncate_up

_BITS = 64


def up(value: Dyadic) -> Dyadic:
    """The least number of 64 bits that is at least `value`."""
    return truncate_up(value, _BITS)


def total(*terms: Dyadic) -> Dyadic:
    """The sum of terms that are not negative, rounded up."""
    value = ZERO
    for term in terms:
        value = up(add(value, term))
    return value


def larger(left: Dyadic, right: Dyadic) -> Dyadic:
    """The larger of two bounds."""
    return left if compare(left, right) >= 0 else right


def half(value: Dyadic) -> Dyadic:
    """value / 2, exactly."""
    return Dyadic(value.mantissa, value.exponent - 1)


def twice(value: Dyadic) -> Dyadic:
    """2 value, exactly."""
    return Dyadic(value.mantissa, value.exponent + 1)
