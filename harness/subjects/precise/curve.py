"""tanh and g sech^2 of a preactivation, from t = exp(-2|a|):

    tanh a = (1 - t) / (1 + t)          sech^2 a = 4 t / (1 + t)^2

The slope has no cancellation in it, where 1 - tanh^2 loses everything once tanh rounds to 1
(Kahan, Branch cuts for complex elementary functions, 1987, writes it so). `narrow` answers for
formats of at most 24 bits with binary64 and its library; `wide` for binary64 with double-double.

Where |a| is finite sech^2 is positive, so that infinity times it is infinity: |a| is cut off where
every product that it might enter rounds to 0, but before sech^2 itself does.
"""

from __future__ import annotations

from typing import Final, Generic, NamedTuple

import mpmath

from harness.subjects.precise.numbers import Number, Numbers, Pair
from harness.subjects.precise.pairs import (
    add,
    divide,
    fast_two_sum,
    multiply,
    plus,
    two_product,
    two_sum,
)

#: sech^2 300 is 2^-863: beyond the reach of any g and w of binary32 (2^-151 / 2^256 = 2^-407), and
#: above what would vanish with the smallest g (2^-1074 / 2^-149 = 2^-925).
NARROW_LIMIT: Final = 300.0
#: sech^2 1100 is 2^-3172: beyond the reach of any g and w of binary64 (2^-1075 / 2^2048 = 2^-3123).
WIDE_LIMIT: Final = 1100.0

#: Below this a^5 is no part of tanh a in double-double, and a^3 needs no more than binary64.
_SMALL: Final = 2.0**-30
_STEPS: Final = 256  # of the table, to 1
_REACH: Final = 90  # steps either side of 0: ln(2)/2 is 88.7 of them
_COEFFICIENTS: Final = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2)


class Slope(NamedTuple, Generic[Number]):
    """d = (hi + lo) 2^exponent, with hi in [1/4, 8) unless it is 0, infinite or NaN."""

    hi: Number
    lo: Number
    exponent: Number


def narrow(numbers: Numbers[Number], a: Number, upstream_gradient: Number) -> tuple[Number, Number]:
    """(tanh a, g sech^2 a) to a relative 2^-43, for a format of at most 24 bits.

    The slope is off by 2 |a| times the relative error of the argument of exp.
    """
    size = abs(a)
    t = numbers.exp(-2.0 * _cut(numbers, size, NARROW_LIMIT))
    one_plus_t = 1.0 + t
    return numbers.tanh(a), upstream_gradient * (4.0 * t / (one_plus_t * one_plus_t))


def wide(
    numbers: Numbers[Number], a: Pair[Number], upstream_gradient: Number
) -> tuple[Number, Slope[Number]]:
    """tanh(hi + lo) to 0.51 ulps of binary64, and g sech^2(hi + lo) to a relative 2^-66.

    `a` is a double-double of any size; its own error comes on top.
    """
    terms = _terms(numbers, a)
    quotient = divide(terms.power, multiply(terms.one_plus_t, terms.one_plus_t))
    # exp(-|a|) is the slope of infinity and of NaN.
    finite = numbers.finite(a[0])
    s = numbers.select(finite, 4.0 * quotient[0], numbers.exp(-abs(a[0])))
    s_rest = numbers.select(finite, 4.0 * quotient[1], 0.0)
    g, g_exponent = numbers.split_exponent(upstream_gradient)
    product, error = two_product(g, s)
    d = fast_two_sum(product, error + g * s_rest)
    proper = numbers.finite(product)
    slope = Slope(
        # copysign: for a g of -0.
        numbers.select(proper, numbers.copysign(d[0], product), product),
        numbers.select(proper, d[1], 0.0),
        numbers.select(proper, terms.exponent + g_exponent, 0.0),
    )
    return _tanh(numbers, a[0], terms), slope


def wide_tanh(numbers: Numbers[Number], a: Pair[Number]) -> Number:
    """The first of `wide`."""
    return _tanh(numbers, a[0], _terms(numbers, a))


class _Terms(NamedTuple, Generic[Number]):
    """Of |a|, cut off: the two parts of it; t as power * 2^exponent, t - 1 and 1 + t."""

    size: Pair[Number]
    power: Pair[Number]
    exponent: Number
    less_one: Pair[Number]
    one_plus_t: Pair[Number]


def _terms(numbers: Numbers[Number], a: Pair[Number]) -> _Terms[Number]:
    hi, lo = a
    size = abs(hi)
    # Infinity is cut off here too, and NaN: the table below has no place for them.
    within = size <= WIDE_LIMIT
    top = numbers.select(within, size, WIDE_LIMIT)
    rest = numbers.select(within, numbers.select(hi < 0, -lo, lo), 0.0)
    power, exponent = _exponential(numbers, -2.0 * top, -2.0 * rest)
    scale = numbers.power_of_two(exponent)
    less_one = plus((power[0] * scale, power[1] * scale), -1.0)
    return _Terms((top, rest), power, exponent, less_one, plus(less_one, 2.0))


def _tanh(numbers: Numbers[Number], a: Number, terms: _Terms[Number]) -> Number:
    top, rest = terms.size
    ratio = divide((-terms.less_one[0], -terms.less_one[1]), terms.one_plus_t)
    small = top + (rest - top * top * top * (1 / 3))
    y = numbers.select(top < _SMALL, small, ratio[0] + ratio[1])
    return numbers.copysign(numbers.select(numbers.finite(a), y, numbers.tanh(abs(a))), a)


def _cut(numbers: Numbers[Number], size: Number, limit: float) -> Number:
    """`size`, or the limit where it is finite and more."""
    return numbers.select((size > limit) & numbers.finite(size), limit, size)


def _exponential(numbers: Numbers[Number], z: Number, rest: Number) -> tuple[Pair[Number], Number]:
    """(m, k) with exp(z + rest) = m 2^k to a relative 2^-70, m in [0.7, 1.42], |z| <= 2200.

    z is taken apart as k ln 2 + j/256 + f, so that |f| <= 2^-9 (1 + 2^-40), and exp(j/256) looked
    up (Tang, Table-driven implementation of the exponential function, 1989). exp f - 1 - f is below
    2^-18.9; its series breaks off at f^8 / 8!, below 2^-87, and is rounded to 2^-72.
    """
    k = numbers.round(z * _PER_LN2)
    # Both steps are exact: 12 bits times 41, and a difference that cancels.
    f, error = two_sum(z - k * _LN2[0], -(k * _LN2[1]))
    error = error + (rest - k * _LN2[2])
    j = numbers.round(f * _STEPS)
    f, error = two_sum(f - j * (1 / _STEPS), error)
    series = f * _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:-1]:
        series = f * (series + coefficient)
    tail = error + f * (error + f * (series + _COEFFICIENTS[-1]))
    less_one = fast_two_sum(f, tail)
    power = numbers.at(_POWERS_HI, j + _REACH), numbers.at(_POWERS_LO, j + _REACH)
    return add(power, multiply(power, less_one)), k


def _chopped(value: mpmath.mpf, bits: int) -> float:
    """`value` rounded down to a multiple of 2^-bits."""
    return float(mpmath.ldexp(mpmath.floor(mpmath.ldexp(value, bits)), -bits))


def _constants() -> tuple[tuple[float, float, float], tuple[float, ...], tuple[float, ...]]:
    """ln 2 as 41 bits, 41 bits and the rest; exp(j/256) as two floats each."""
    with mpmath.workprec(200):
        ln2 = mpmath.ln(2)
        first = _chopped(ln2, 41)
        second = _chopped(ln2 - first, 82)
        powers = [mpmath.exp(mpmath.mpf(j) / _STEPS) for j in range(-_REACH, _REACH + 1)]
        high = tuple(map(float, powers))
        low = tuple(float(power - top) for power, top in zip(powers, high, strict=True))
        return (first, second, float(ln2 - first - second)), high, low


_PER_LN2: Final = 1.4426950408889634
_LN2, _POWERS_HI, _POWERS_LO = _constants()
