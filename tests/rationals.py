"""Exact rationals for tests: a second arithmetic, independent of the integers under test."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache

from reference.dyadic import Dyadic
from reference.formats import Format


def fraction(value: Dyadic | float) -> Fraction:
    """The rational number that a dyadic or a finite float is."""
    if isinstance(value, Dyadic):
        return value.mantissa * Fraction(2) ** value.exponent
    return Fraction(value)


def dyadic(value: Fraction | float) -> Dyadic:
    """The dyadic of a rational number whose denominator is a power of two."""
    value = Fraction(value)
    shift = value.denominator.bit_length() - 1
    if value.denominator != 1 << shift:
        raise ValueError(f"{value} is not dyadic")
    return Dyadic(value.numerator, -shift)


def binade(value: Fraction) -> int:
    """floor(log2|value|) of a non-zero rational, by comparison alone."""
    size = abs(value)
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** guess > size:
        guess -= 1
    while Fraction(2) ** (guess + 1) <= size:
        guess += 1
    return guess


@cache
def members(format: Format) -> tuple[list[Fraction], list[int]]:
    """The finite non-negative members of a 16-bit format in order, with their bit patterns."""
    bits = list(range(((1 << format.width - 1) - 1) & ~((1 << format.precision - 1) - 1)))
    return [fraction(format.from_bits(pattern)) for pattern in bits], bits


def nearest_member(value: Fraction, format: Format) -> float:
    """Rounding to nearest even as IEEE 754 words it, by a search among all members.

    The midpoint between the largest finite number and 2^(emax+1) overflows.
    """
    values, _ = members(format)
    size = abs(value)
    sign = -1.0 if value < 0 else 1.0
    if size >= (values[-1] + Fraction(2) ** (format.emax + 1)) / 2:
        return sign * float("inf")
    at = bisect_left(values, size)
    if at == len(values) or (at and size - values[at - 1] < values[at] - size):
        at -= 1
    elif at and size - values[at - 1] == values[at] - size and at % 2:
        at -= 1  # members alternate between even and odd significands, from 0
    return sign * float(values[at])
