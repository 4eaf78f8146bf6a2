"""Double-double arithmetic: a number as the unevaluated sum of two binary64 numbers, hi + lo.

Sources: Dekker, A floating-point technique for extending the available precision (1971); Knuth,
The Art of Computer Programming, vol. 2, 4.2.2, theorem B; Joldes, Muller and Popescu, Tight and
rigorous error bounds for basic building blocks of double-word arithmetic (2017), whose u is 2^-53.
"""

from __future__ import annotations

from typing import Final

from harness.subjects.precise.numbers import Number, Pair

#: 2^27 + 1: times it, a number of 53 bits splits into two of 26 (Veltkamp).
SPLITTER: Final = 134217729.0


def two_sum(a: Number, b: Number) -> Pair[Number]:
    """(s, e) with s = a + b rounded and s + e = a + b exactly, unless s overflows."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def fast_two_sum(a: Number, b: Number) -> Pair[Number]:
    """`two_sum` of |a| >= |b|, or a = 0."""
    s = a + b
    return s, b - (s - a)


def split(a: Number) -> Pair[Number]:
    """(high, low) of at most 26 bits each, with high + low = a. For |a| < 2^996."""
    c = SPLITTER * a
    high = c - (c - a)
    return high, a - high


def two_product(a: Number, b: Number) -> Pair[Number]:
    """(p, e) with p = a b rounded and p + e = a b exactly.

    For |a|, |b| < 2^996 and 2^-969 < |p| (or p = 0 from a zero factor).
    """
    p = a * b
    ah, al = split(a)
    bh, bl = split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def add(a: Pair[Number], b: Pair[Number]) -> Pair[Number]:
    """a + b to 3 u^2 / (1 - 4 u) of its size (AccurateDWPlusDW)."""
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    s, e = fast_two_sum(s, e + t)
    return fast_two_sum(s, e + f)


def plus(a: Pair[Number], b: float) -> Pair[Number]:
    """a + b to 2 u^2 of its size (DWPlusFP)."""
    s = a[0] + b
    part = s - a[0]
    return fast_two_sum(s, ((a[0] - (s - part)) + (b - part)) + a[1])


def multiply(a: Pair[Number], b: Pair[Number]) -> Pair[Number]:
    """a b to 5 u^2 of its size (DWTimesDW1)."""
    p, e = two_product(a[0], b[0])
    return fast_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


def divide(a: Pair[Number], b: Pair[Number]) -> Pair[Number]:
    """a / b to 15 u^2 of its size (DWDivDW2)."""
    quotient = a[0] / b[0]
    p, e = two_product(quotient, b[0])
    # a - quotient b: its head cancels exactly.
    rest = (a[0] - p) + (a[1] - (e + quotient * b[1]))
    return fast_two_sum(quotient, rest / b[0])
