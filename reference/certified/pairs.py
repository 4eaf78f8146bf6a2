"""tanh and sech^2 of binary64 arguments as plain pairs: `curves` at half the work.

For sweeps over binary64, which call for a test of each rounding and little else. The arguments are
single numbers in [LEAST, GREATEST], where nothing underflows; the bounds are those that a few open
lanes in a million allow. The method and the table are those of `curves`, with a quotient
of 26 bits first, so that its products are exact without splitting. u = 2^-53.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified.curves import (
    C1,
    C2,
    C3,
    LN2,
    MIDDLE,
    SMALL,
    TABLE_BITS,
    TO_GRID,
    N,
    series,
    table,
)
from reference.certified.doubledouble import Float64, Pair, fast_two_sum, two_sum
from reference.certified.enclosures import Int64, power_of_two

#: Above it the low part of sech^2 would be subnormal.
GREATEST: Final = 310.0
#: Below it tanh and sech^2 are a and 1 to within 2^-8 ulps.
LEAST: Final = 2.0**-30
#: Elements a part: temporaries of 31 KiB stay in the caches and in the allocator, and no two arrays
#: are a multiple of 4 KiB apart (see `reference.certified.binary32.staggered`).
PART: Final = 3968

_C23: Final = C2 + C3
_UPPER_26: Final = np.int64(-1 << 27)


class Values(NamedTuple):
    """Pairs and the slack around them: |value - high - low| < slack."""

    tanh: Pair
    tanh_slack: float | Float64
    sech2: Pair
    sech2_slack: float | Float64


class Part(NamedTuple):
    """The values of the elements `at` some indices or a slice."""

    at: npt.NDArray[np.intp] | slice
    values: Values


def parts(a: Float64) -> Iterator[Part]:
    """tanh and sech^2 of LEAST <= a <= GREATEST, range by range, in parts that fit the caches."""
    ranges: tuple[tuple[npt.NDArray[np.bool_], Callable[[Float64], Values]], ...] = (
        (a < SMALL, _small),
        ((a >= SMALL) & (a < MIDDLE), _middle),
        (a >= MIDDLE, _large),
    )
    for inside, evaluate in ranges:
        count = np.count_nonzero(inside)
        if count == a.size:
            for start in range(0, a.size, PART):
                block = slice(start, start + PART)
                yield Part(block, evaluate(a[block]))
        elif count:
            index = np.flatnonzero(inside)
            for start in range(0, index.size, PART):
                some = index[start : start + PART]
                yield Part(some, evaluate(a[some]))


def _small(a: Float64) -> Values:
    """a < 2^-9: the series within 2^-50 of themselves, a times them and sums within u of that."""
    w, loss = series(a)
    change = a * w
    return Values(
        fast_two_sum(a, change), change * -(2.0**-49), fast_two_sum(1.0, loss), loss * -(2.0**-49)
    )


def _exponential(a: Float64) -> tuple[Float64, Float64, Float64, Int64]:
    """exp(-2a) = 2^-K (entry - linear + rest): entry of 26 bits, entry * r_high exact.

    As in `curves._exponential`, with C2 + C3 as one number: k < 2^22 times it is < 2^-19
    and rounded by at most a u 2^-27, and c - C1 - C23 < 2^-94 puts in 2a 2^-82: r within
    a 2^-79.5. r_low^2/2 < 2^-79.8 is left out. In all within 2^-78.2 + a 2^-79.5.
    """
    k = np.rint(a * (2 * N / LN2))
    reduced = (a + a) - k * C1
    second = k * _C23
    r_high = ((reduced - second) + TO_GRID) - TO_GRID
    r_low = (reduced - r_high) - second
    steps = k.astype(np.int64)
    row = steps & (N - 1)
    entries, remainders = table()
    entry, remainder = entries[row], remainders[row]
    r = r_high + r_low
    s = r_low * (r - 1.0) + ((r * r) * r) * (-1 / 6 + r * (1 / 24 - r * (1 / 120)))
    quadratic = (0.5 * r_high) * r_high + s
    rest = remainder + ((entry + remainder) * quadratic - remainder * r_high)
    return entry, entry * r_high, rest, steps >> TABLE_BITS


def _short_quotient(numerator: Pair, denominator: Pair) -> Pair:
    """(q, correction): q of 26 bits, q + correction within (2^-25 + nl/nh + dl/dh) 5u of itself.

    q is nh/dh cut by less than 2^-25 of itself. q times the denominator's upper 26 bits is exact
    and so close to nh that nh less it is exact (Sterbenz); q times its lower bits is exact, too. So
    only the remainder, (2^-25 + nl/nh + dl/dh) nh at most, is rounded: twice whole, twice in parts,
    and in its division, where the denominator is rounded as well: under 5u of it.
    """
    n_high, n_low = numerator
    d_high, d_low = denominator
    q = ((n_high / d_high).view(np.int64) & _UPPER_26).view(np.float64)
    upper = (d_high.view(np.int64) & _UPPER_26).view(np.float64)
    remainder = ((n_high - q * upper) - q * (d_high - upper)) + (n_low - q * d_low)
    return q, remainder / (d_high + d_low)


def _middle(a: Float64) -> Values:
    """2^-9 <= a < 0.34: n = 1 - t within 2^-78, tanh = n/(2 - n), sech^2 = 1 - tanh^2.

    The low parts of n and d are < 2^-26 + 2^-54, the remainder so < n 2^-25 + 2^-25.9 < 2^-25.2 (n
    < 1/2, d > 1.5): an error of 5u 2^-25.2 / d < 2^-76.4 in tanh, with that of n 2^-76. sech^2 has
    2 tanh < 2/3 of it and 2^-79 for its own sums.
    """
    entry, linear, rest, _ = _exponential(a)
    high, low = two_sum(1.0 - entry, linear)
    low = low - rest
    d_high, d_low = fast_two_sum(2.0, -high)
    q, correction = _short_quotient((high, low), (d_high, d_low - low))
    double = q + q
    one, one_low = fast_two_sum(1.0, -(q * q))
    sech2 = fast_two_sum(one, one_low - correction * (double + correction))
    return Values(fast_two_sum(q, correction), 2.0**-75, sech2, 2.0**-75)


def _large(a: Float64) -> Values:
    """0.34 <= a: q = t/(1 + t) = 2^-K q', tanh = 1 - 2q, sech^2 = 4q(1 - q).

    t' > 1/2 is within a relative 2^-77.2 + a 2^-78.5. Low parts are < 2^-25 (t') and 2^-26 (d) of
    the high ones: the quotient adds 2.5 * 2^-25 * 5u = 2^-74.3. tanh has 2q < 0.68 times their sum,
    with 2q a < 0.35: < 2^-74.7; sech^2 has the sum itself, a at its greatest, and 2^-77 for its
    own sums.
    """
    entry, linear, rest, shift = _exponential(a)
    t_high = entry - linear
    t_low = ((entry - t_high) - linear) + rest
    down = power_of_two(-shift)
    d_high, d_low = fast_two_sum(1.0, t_high * down)
    q, correction = _short_quotient((t_high, t_low), (d_high, d_low + t_low * down))
    small = correction * down
    twice = (q + q) * down
    one, one_low = fast_two_sum(1.0, -twice)
    tanh = fast_two_sum(one, one_low - (small + small))
    slope, slope_low = fast_two_sum(q, -(q * (0.5 * twice)))
    slope_low = slope_low + correction * ((1.0 - twice) - small)
    slope, slope_low = fast_two_sum(slope, slope_low)
    factor = 4.0 * down
    high, low = slope * factor, slope_low * factor
    relative = 2.0**-73.8 + float(a.max()) * 2.0**-78.4
    return Values(tanh, 2.0**-74, (high, low), high * relative)
