"""Error-free transformations of binary64 arrays: sums and products as unevaluated pairs.

Every function is a few numpy passes without data-dependent branches, so each element depends on
its own operands alone. The identities hold in rounding to nearest without overflow, and for
products without underflow; `certified` checks the first and scales for the rest. numpy evaluates
one operation a pass, so no compiler can contract or reorder them.

Sources: Knuth, TAOCP vol. 2, section 4.2.2 (two_sum); Dekker, "A floating-point technique for
extending the available precision", 1971 (fast_two_sum, two_product); Muller et al., Handbook of
Floating-Point Arithmetic, 2nd ed., chapter 4.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Float64: TypeAlias = npt.NDArray[np.float64]
Pair: TypeAlias = tuple[Float64, Float64]

_HALF_OF_LOW = np.int64(1 << 26)
_ABOVE_LOW = np.int64(-1 << 27)


def two_sum(a: Any, b: Any) -> Pair:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly."""
    s = a + b
    shadow = s - a
    return s, (a - (s - shadow)) + (b - shadow)


def fast_two_sum(a: Any, b: Any) -> Pair:
    """`two_sum` where |a| >= |b|, or a = 0 = b, elementwise."""
    s = a + b
    return s, b - (s - a)


def split(a: Float64) -> Pair:
    """a = high + low exactly, each of at most 26 significant bits (low signed).

    Rounds the bit pattern, not the value: one operation fewer than Veltkamp's splitting and no
    overflow but of the largest numbers. A carry into the exponent field is the rounding up to a
    power of two that it should be.
    """
    high = ((a.view(np.int64) + _HALF_OF_LOW) & _ABOVE_LOW).view(np.float64)
    return high, a - high


def two_product(a: Float64, b: Float64) -> Pair:
    """(p, e) with p = fl(a * b) and p + e = a * b exactly."""
    return two_product_of_split(a, split(a), b, split(b))


def two_square(a: Float64) -> Pair:
    """(p, e) with p = fl(a * a) and p + e = a * a exactly."""
    return two_square_of_split(a, split(a))


def two_square_of_split(a: Float64, parts: Pair) -> Pair:
    """`two_square` of a number that is already split."""
    high, low = parts
    p = a * a
    cross = high * low
    return p, ((high * high - p) + (cross + cross)) + low * low


def two_product_of_split(a: Float64, a_parts: Pair, b: Float64, b_parts: Pair) -> Pair:
    """`two_product` of numbers that are already split."""
    (a_high, a_low), (b_high, b_low) = a_parts, b_parts
    p = a * b
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def quotient(numerator: Pair, denominator: Pair) -> tuple[Float64, Pair, Float64]:
    """(q, split(q), correction) with q + correction = numerator / denominator within a relative
    2^-101, for normalised pairs (|low| <= u |high|); |correction| < 2^-51 |q|.

    One step of long division. With q = fl(nh/dh), nh - q dh is exact: two_product gives q dh as
    p + e, and nh - p is exact by Sterbenz's lemma since p is nh within 2 ulps. What is left is the
    rounding of the remainder, at most 4 u |nh| in size, in four operations and a division: under
    20 u^2 = 2^-101.7 of the quotient, with the second-order term of dl 2^-106.
    """
    n_high, n_low = numerator
    d_high, d_low = denominator
    q = n_high / d_high
    parts = split(q)
    p, e = two_product_of_split(q, parts, d_high, split(d_high))
    remainder = (((n_high - p) - e) + n_low) - q * d_low
    return q, parts, remainder / d_high
