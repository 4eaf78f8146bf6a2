"""tanh and sech^2 of arrays of double-double arguments, enclosed within about 2^-68.

    t = exp(-2a) = 2^-K * T_j * exp(-r),   2a = (K N + j) c + r,   c = ln2/N,   N = 4096

with a table of T_j = 2^(-j/N) (Tang, "Table-driven implementation of the exponential function",
1989; the split tables as in Gal's accurate tables method). Then, on three ranges,

    a < 2^-9          Taylor series of both
    2^-9 <= a < 0.34  n = 1 - t,  tanh = n/(2 - n),           sech^2 = 1 - tanh^2
    0.34 <= a         q = t/(1 + t),  tanh = 1 - 2q,          sech^2 = 4q(1 - q)

so that nothing cancels: sech^2 keeps its relative accuracy to the end of every format's range.
Only +, -, *, / of binary64 are used, each correctly rounded by IEEE 754, so the bounds written
beside the steps follow from the standard and not from the quality of a library. u = 2^-53.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from mpmath import libmp

from reference.certified.doubledouble import (
    Float64,
    Pair,
    fast_two_sum,
    quotient,
    split,
    two_product_of_split,
    two_square_of_split,
    two_sum,
)
from reference.certified.enclosures import Enclosures, Int64, enclose, power_of_two, significand

TABLE_BITS: Final = 12
N: Final = 1 << TABLE_BITS

#: Below it the series, whose error is relative to a^2; above it exp, whose error is absolute.
SMALL: Final = 2.0**-9
#: Below it t > 1/2 (exp(-0.68) = 0.5066) and K = 0.
MIDDLE: Final = 0.34
#: Beyond it sech^2 < 2^-3400: times any two binary64 numbers less than 2^-1352, far below the
#: smallest subnormal.
_FAR: Final = 1200.0
_FAR_SCALE: Final = -3400
#: Where 1 - tanh < 2^-299 its size is given up.
_SATURATED: Final = 300
#: An argument less certain than this is left to the escalation.
_HOPELESS: Final = 2.0**-10


class Pairs(NamedTuple):
    """Enclosures of tanh and sech^2 at the same arguments."""

    tanh: Enclosures
    sech2: Enclosures


def tanh_sech2(
    argument: Float64, low: Float64 | None = None, uncertainty: Float64 | None = None
) -> Pairs:
    """Enclose tanh and sech^2 at argument + low, known within +-uncertainty.

    `argument` is any binary64 array, 1-D; `low` (default 0) at most half an ulp of it and 0 where
    it is not finite; `uncertainty` (default 0) non-negative. Without an uncertainty the radius is
    below 2^-67 of the value, and below 2^-73 for |a| > 1; and strict enough to tell that
    |tanh a| < |a|, |tanh a| < 1 and sech^2 a < 1 for every a != 0, also where they round to that.
    """
    special = ~np.isfinite(argument) | (argument == 0.0)
    magnitude = np.abs(argument)
    if special.any():
        magnitude[special] = 1.0
    signed_low = np.zeros_like(argument) if low is None else np.where(argument < 0.0, -low, low)
    pairs = _by_range(magnitude, signed_low)
    if uncertainty is not None:
        pairs = _widen(pairs, magnitude, uncertainty)
    tanh, sech2 = pairs
    sign = np.copysign(1.0, argument)
    if not special.any():
        return Pairs(_with_kind(tanh, sign), sech2)
    return _specials(Pairs(_with_kind(tanh, sign), sech2), argument, special)


def _with_kind(values: Enclosures, kind: Float64) -> Enclosures:
    return Enclosures(values.head, values.tail, values.radius, values.scale, kind)


def _specials(pairs: Pairs, argument: Float64, special: npt.NDArray[np.bool_]) -> Pairs:
    """tanh(+-0) = +-0, tanh(+-inf) = +-1, sech^2(+-0) = 1, sech^2(+-inf) = +0, and NaN of NaN."""
    for values in pairs:
        values.head[special] = 1.0
        values.tail[special] = 0.0
        values.radius[special] = 0.0
        values.scale[special] = 0
    infinite = np.isinf(argument)
    tanh_kind = np.where(special & ~infinite, argument, pairs.tanh.kind)
    slope_kind = np.where(infinite, 0.0, np.where(np.isnan(argument), argument, 1.0))
    return Pairs(_with_kind(pairs.tanh, tanh_kind), _with_kind(pairs.sech2, slope_kind))


def _widen(pairs: Pairs, a: Float64, uncertainty: Float64) -> Pairs:
    """Add what an uncertain argument does: |tanh'| = sech^2 and |sech^2'| = 2 sech^2 tanh, which
    change by less than a factor exp(2^-9) over the uncertainty; tanh < a."""
    tanh, sech2 = pairs
    delta = 1.01 * np.minimum(uncertainty, 1.0)
    # In the units of tanh. It underflows only for K > 1000, where `_large` gives 1 - tanh up.
    change = np.ldexp(delta * sech2.head, (sech2.scale - tanh.scale).astype(np.intc))
    hopeless = uncertainty > _HOPELESS
    certainly_far = a - uncertainty > _FAR
    tanh_radius = tanh.radius + change
    sech2_radius = sech2.radius + 2.0 * delta * sech2.head * np.minimum(a, 1.0)
    tanh_radius[hopeless] = np.inf
    sech2_radius[hopeless] = np.inf
    if certainly_far.any():
        tanh_radius[certainly_far] = tanh.radius[certainly_far]
        sech2_radius[certainly_far] = sech2.radius[certainly_far]
    return Pairs(
        Enclosures(tanh.head, tanh.tail, tanh_radius, tanh.scale, tanh.kind),
        Enclosures(sech2.head, sech2.tail, sech2_radius, sech2.scale, sech2.kind),
    )


def _by_range(a: Float64, low: Float64) -> Pairs:
    """Each range of arguments through its own formulas; a block within one range is not copied."""
    ranges = (
        (a < SMALL, _small),
        ((a >= SMALL) & (a < MIDDLE), _middle),
        (a >= MIDDLE, _large),
    )
    tanh = _empty(a.size)
    sech2 = _empty(a.size)
    for inside, evaluate in ranges:
        index = np.flatnonzero(inside)
        if index.size == a.size:
            return evaluate(a, low)
        if index.size:
            part = evaluate(a[index], low[index])
            for whole, piece in ((tanh, part.tanh), (sech2, part.sech2)):
                whole.head[index] = piece.head
                whole.tail[index] = piece.tail
                whole.radius[index] = piece.radius
                whole.scale[index] = piece.scale
    return Pairs(tanh, sech2)


def _empty(size: int) -> Enclosures:
    return Enclosures(
        np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int64), np.ones(size)
    )


def _small(a: Float64, low: Float64) -> Pairs:
    """0 < a < 2^-9, in the units of a's binade for tanh; see `series`.

    The series allow 2^-50 of what they return. `low` is added to a itself; its part in the other
    terms is a^2 low <= 2^-18 low for tanh and 2 a low <= 2u z for sech^2.
    """
    m, exponent = significand(a)
    correction = np.ldexp(low, -exponent.astype(np.intc))
    w, loss = series(a)
    tail = correction + m * w
    radius = (m * -w) * 2.0**-50 + np.abs(correction) * 2.0**-17
    loss_radius = loss * -(2.0**-49)
    tiny = a < 2.0**-100
    if tiny.any():
        # Losses under 2^-200 of the value, which may underflow: an open interval (-2^-200, 0).
        tail = np.where(tiny, correction - 2.0**-201, tail)
        radius = np.where(tiny, 2.0**-201 + np.abs(correction) * 2.0**-17, radius)
        loss = np.where(tiny, -(2.0**-201), loss)
        loss_radius = np.where(tiny, 2.0**-201, loss_radius)
    head, tail = fast_two_sum(m, tail)
    one, loss = fast_two_sum(1.0, loss)
    kind = np.ones_like(a)
    return Pairs(
        enclose(head, tail, radius, exponent, kind),
        enclose(one, loss, loss_radius, np.zeros_like(exponent), kind),
    )


def series(a: Float64) -> Pair:
    """tanh(a)/a - 1 and sech^2(a) - 1 for 0 < a < 2^-9, each within 2^-50 of itself.

    Both Taylor series in z = a^2 alternate with falling terms, so what is left out is under the
    first term left out (in brackets):

        tanh(a)/a = 1 - z/3 + 2z^2/15 - 17z^3/315 + 62z^4/2835 - [1382z^5/155925 < 2^-97]
        sech^2(a) = 1 - z + 2z^2/3 - 17z^3/45 + 62z^4/315 - [1382z^5/14175 < 2^-93]

    Rounding z, the polynomial (whose first coefficient dominates) and their product is at most 4u,
    half of what is allowed.
    """
    z = a * a
    w = z * (-1 / 3 + z * (2 / 15 + z * (-17 / 315 + z * (62 / 2835))))
    loss = -z * (1.0 + z * (-2 / 3 + z * (17 / 45 + z * (-62 / 315))))
    return w, loss


class _Exponential(NamedTuple):
    """exp(-2a) = 2^-K (table + linear + rest), the sum within 2^-78 and in (0.4999, 1.0001).

    table has 26 bits, so that 1 - table is exact; |linear| < 2^-13.5, |rest| < 2^-26.
    """

    table: Float64
    linear: Float64
    rest: Float64
    shift: Int64


def _exponential(a: Float64, low: Float64) -> _Exponential:
    """For 2^-9 <= a <= 1200, |low| <= u a.

    k = rint(2a/c) < 2^24. C1 and C2 have 29 bits, so k C1 and k C2 are exact. 2a - k C1 is exact
    (Sterbenz; k >= 23). c - C1 - C2 - C3 < 2^-120, times k 2^-96. |r| <= c/2 + 2^-40 < 2^-13.5.
    `r_high` is r rounded to a multiple of 2^-39: 26 bits, so that its square and its product with a
    26-bit table entry are exact. (2a - k C1) - r_high and then k C2 off it are exact, too: all are
    multiples of 2^-71, the first less than 2^-17, the second less than 2^-39. k C3 < 2^-47 and
    2 low <= 2u a round the rest of r, |r_low| < 2^-39.5, by 2^-92 at most.

    exp(-r) - 1 = -r_high + r_high^2/2 + s with
        s = r_low (r_high + r_low/2 - 1) - r^3/6 + r^4/24 - r^5/120:
    |s| < 2^-39.3, its rounding < 2^-90, the terms left out < r^6/719 < 2^-90.
    With the table entry T + L (L = its remainder, |L| <= 2^-27, itself rounded by 2^-81):
        t = T - T r_high + [L + (T + L)(r_high^2/2 + s) - L r_high],
    whose bracket is < 2^-26, so its last rounding loses at most 2^-80 and its parts 2^-80 more.
    Together < 2^-81 + 2^-80 + 2^-80 + 2^-89 < 2^-78.6.
    """
    k = np.rint(a * (2 * N / LN2))
    reduced = (a + a) - k * C1
    second = k * C2
    r_high = ((reduced - second) + TO_GRID) - TO_GRID
    r_low = ((reduced - r_high) - second) + ((low + low) - k * C3)
    steps = k.astype(np.int64)
    row = steps & (N - 1)
    entries, remainders = table()
    entry = entries[row]
    left_over = remainders[row]
    r = r_high + r_low
    cube = (r * r) * r
    s = r_low * ((r_high - 1.0) + 0.5 * r_low) + cube * (-1 / 6 + r * (1 / 24 - r * (1 / 120)))
    quadratic = (0.5 * r_high) * r_high + s
    rest = left_over + ((entry + left_over) * quadratic - left_over * r_high)
    return _Exponential(entry, -(entry * r_high), rest, steps >> TABLE_BITS)


def _middle(a: Float64, low: Float64) -> Pairs:
    """2^-9 <= a < 0.34: both within 2^-78, see `_middle_values`."""
    tanh, sech2 = _middle_values(a, low)
    radius = np.full_like(a, 2.0**-78)
    scale = np.zeros(a.shape, np.int64)
    kind = np.ones_like(a)
    return Pairs(enclose(*tanh, radius, scale, kind), enclose(*sech2, radius, scale, kind))


def _middle_values(a: Float64, low: Float64) -> tuple[Pair, Pair]:
    """tanh and sech^2 where K = 0. n = 1 - t >= 0.0038, within 2^-78.6 + 2^-80 < 2^-78; d = 2 - n
    has the same error and is > 1.5.

    |d(n/d)| <= (1 + tanh) |dn| / d < 0.9 |dn| < 2^-78; the division and sums add 2^-100. sech^2 =
    1 - tanh^2: 2 tanh |d tanh| < 2^-78 and a few 2^-104.
    """
    table, linear, rest, _ = _exponential(a, low)
    high, error = two_sum(1.0 - table, -linear)
    numerator = fast_two_sum(high, error - rest)
    q, q_parts, correction = quotient(numerator, _minus(2.0, numerator))
    p, e = two_square_of_split(q, q_parts)
    sech2 = _minus(1.0, (p, e + (q + q) * correction))
    return fast_two_sum(q, correction), fast_two_sum(*sech2)


def _large(a: Float64, low: Float64) -> Pairs:
    """0.34 <= a, beyond `_FAR` with sech^2 only bounded; see `_large_values`."""
    far = a > _FAR
    any_far = bool(far.any())
    if any_far:
        a, low = np.minimum(a, _FAR), np.where(far, 0.0, low)
    tanh, sech2, shift = _large_values(a, low)
    slope_radius = sech2[0] * 2.0**-77
    slope_scale = 2 - shift
    # 2q = 1 - tanh.
    tanh_radius = ((1.0 - tanh[0]) - tanh[1]) * 2.0**-77 + np.abs(tanh[1]) * 2.0**-52
    saturated = shift >= _SATURATED
    if saturated.any():
        # 0 < 1 - tanh < 2q' 2^-300 for every larger K: an open interval below 1.
        tanh_radius[saturated] = -tanh[1][saturated]
    if any_far:
        for array, value in ((sech2[0], 1.0), (sech2[1], 0.0), (slope_radius, 1.0)):
            array[far] = value
        slope_scale[far] = _FAR_SCALE
    kind = np.ones_like(a)
    return Pairs(
        enclose(*tanh, tanh_radius, np.zeros_like(shift), kind),
        enclose(*sech2, slope_radius, slope_scale, kind),
    )


def _large_values(a: Float64, low: Float64) -> tuple[Pair, Pair, Int64]:
    """tanh, 2^(K - 2) sech^2 and K. t = 2^-K t', t' within a relative 2^-77.6; q' = 2^K q =
    t'/(1 + t) within 2^-77.5; K limited to `_SATURATED` where t stands beside 1.

    sech^2 = 4q(1 - q): its relative error is (1 - 2q)/(1 - q) < 1 times that of q, and 2^-101.
    tanh = 1 - 2q: error 2q 2^-77.5, and u times the low part for its last rounding.
    """
    table, linear, rest, shift = _exponential(a, low)
    high, error = fast_two_sum(table, linear)
    t_high, t_low = fast_two_sum(high, error + rest)
    down = power_of_two(-np.minimum(shift, _SATURATED))
    d_high, d_low = fast_two_sum(1.0, t_high * down)
    q, q_parts, correction = quotient((t_high, t_low), (d_high, d_low + t_low * down))
    high, low = q * down, correction * down
    complement, complement_low = _minus(1.0, (high, low))
    p, e = two_product_of_split(q, q_parts, complement, split(complement))
    sech2 = fast_two_sum(p, e + (q * complement_low + correction * complement))
    one_high, one_low = fast_two_sum(1.0, high * -2.0)
    tanh = fast_two_sum(one_high, one_low - 2.0 * low)
    return tanh, sech2, shift


def _minus(constant: float, pair: Pair) -> Pair:
    """constant - pair for 0 <= pair <= constant: the high parts exactly, one rounding below."""
    high, low = fast_two_sum(constant, -pair[0])
    return high, low - pair[1]


@lru_cache(maxsize=1)
def table() -> Pair:
    """T_j = 2^(-j/N) as 26-bit numbers and binary64 remainders.

    In fixed point of 200 bits: N-th root by integer square roots, powers by truncated products;
    each of the N products loses less than 2 units, so an entry is within 2^13 units, 2^-187.
    """
    bits = 200
    root = 1 << (bits - 1)
    for _ in range(TABLE_BITS):
        root = isqrt(root << bits)
    entry = 1 << bits
    high = np.empty(N)
    low = np.empty(N)
    for j in range(N):
        kept = (entry + (1 << (bits - 27))) >> (bits - 26)
        high[j] = kept * 2.0**-26
        low[j] = (entry - (kept << (bits - 26))) / (1 << bits)
        entry = entry * root >> bits
    return high, low


def _reduction_constants() -> tuple[float, float, float, float]:
    """ln 2, and c = ln2/N = C1 + C2 + C3 with 29, 29 and 53 bits."""
    bits = 200
    c = int(libmp.ln2_fixed(bits)) << 3  # c in units of 2^-(bits + 3 + TABLE_BITS)
    unit = bits + 3 + TABLE_BITS
    ln2 = c / (1 << (bits + 3))
    parts = []
    for width in (29, 29):
        excess = c.bit_length() - width
        kept = c >> excess << excess
        parts.append(kept / (1 << unit))
        c -= kept
    return ln2, parts[0], parts[1], c / (1 << unit)


LN2, C1, C2, C3 = _reduction_constants()
#: Adding and subtracting it rounds to multiples of 2^-39.
TO_GRID = 1.5 * 2.0**13
