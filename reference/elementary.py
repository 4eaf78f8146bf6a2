"""Rigorous enclosures of tanh and sech^2 at a dyadic point, to any precision.

Both come from t = exp(-2|a|), which mpmath evaluates:

    tanh|a| = (1 - t) / (1 + t)        falling in t
    sech^2  = 4 t / (1 + t)^2          rising in t on (0, 1]

so bounds on t give bounds on both. mpmath's exp is documented as accurate to about an ulp of the
working precision but not as correctly rounded; `_GUARD_BITS` widens its answer a thousandfold
beyond that, and only then is it used as a bound.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from mpmath import libmp

from reference.dyadic import ONE as _ONE
from reference.dyadic import Dyadic, compare, multiply, negate, subtract

_GUARD_BITS = 16
_EXP_SLACK_BITS = 10

#: |a| beyond which sech^2(a) < 2^-23000 needs no more detail: with a factor of at most 2^2048 (the
#: product of two binary64 numbers) it still lies far under half the smallest subnormal, 2^-1075.
_NEGLIGIBLE_SECH2 = Dyadic(1, 13)


class Enclosure(NamedTuple):
    """A closed interval that holds an exact value."""

    lower: Dyadic
    upper: Dyadic

    @property
    def aligned(self) -> Enclosure:
        """The same interval, with ends of the same exponent."""
        (low, left), (high, right) = self
        common = min(left, right)
        return Enclosure(
            Dyadic(low << left - common, common), Dyadic(high << right - common, common)
        )


class TanhSech2(NamedTuple):
    """Enclosures of tanh(a) and sech^2(a) at the same point."""

    tanh: Enclosure
    sech2: Enclosure


@lru_cache(maxsize=4096)
def tanh_sech2(argument: Dyadic, bits: int) -> TanhSech2:
    """Enclose tanh(a) and sech^2(a) within a relative width of 2^-bits each.

    `argument` is any dyadic a, `bits` at least 8. The one exception to the width: for |a| >= 8192
    sech^2 is enclosed as [0, 2^-23000] and tanh no closer to 1 than 2^-23000. Strict where it
    matters: for a != 0 neither enclosure touches a itself, 0 (unless |a| >= 8192) or, for
    sech^2, 1.
    """
    if argument.mantissa < 0:
        (lower, upper), sech2 = tanh_sech2(negate(argument), bits)
        return TanhSech2(Enclosure(negate(upper), negate(lower)), sech2)
    if not argument.mantissa:
        return TanhSech2(Enclosure(argument, argument), Enclosure(_ONE, _ONE))
    if 2 * argument.magnitude_exponent + 1 < -bits:
        return _near_zero(argument)
    if compare(argument, _NEGLIGIBLE_SECH2) >= 0:
        return TanhSech2(
            _just_below_one(min(bits + 1, 23000)), Enclosure(Dyadic(0, 0), Dyadic(1, -23000))
        )
    return _from_exponential(argument, bits)


def _near_zero(a: Dyadic) -> TanhSech2:
    """For 0 < a < 1/4: a - 3a^3/8 < tanh a < a - a^3/4 and 1 - a^2 < sech^2 a < 1 - a^2/2.

    From the alternating series tanh a = a - a^3/3 + 2a^5/15 - ... and 1 - sech^2 a = tanh^2 a.
    The widths, relative a^2/8 and a^2/2, are exact consequences of a, not of a precision.
    """
    square = multiply(a, a)
    cube = multiply(square, a)
    return TanhSech2(
        Enclosure(
            subtract(a, Dyadic(3 * cube.mantissa, cube.exponent - 3)),
            subtract(a, Dyadic(cube.mantissa, cube.exponent - 2)),
        ),
        Enclosure(
            subtract(_ONE, square),
            subtract(_ONE, Dyadic(square.mantissa, square.exponent - 1)),
        ),
    )


def _just_below_one(bits: int) -> Enclosure:
    return Enclosure(subtract(_ONE, Dyadic(1, -bits)), _ONE)


def _from_exponential(a: Dyadic, bits: int) -> TanhSech2:
    # 1 - t cancels by about log2(1/a) bits where a < 1.
    precision = bits + _GUARD_BITS + max(0, -a.magnitude_exponent)
    t_lower, t_upper = _exp_minus_twice(a, precision)
    scale = -t_lower.exponent
    low, high = t_lower.mantissa, t_upper.mantissa << (t_upper.exponent + scale)
    if low.bit_length() - scale < -bits - 2:
        # 2t < 2^-(bits+1): 4t(1 - 2t) < 4t/(1+t)^2 < 4t, and 1 - tanh a < 2t. The divisions below
        # would carry scale bits, up to 23,000, for nothing.
        sech2 = Enclosure(
            multiply(Dyadic(low, 2 - scale), subtract(_ONE, Dyadic(1, -bits - 1))),
            Dyadic(high, 2 - scale),
        )
        return TanhSech2(_just_below_one(bits + 1), sech2)
    one = 1 << scale
    keep = precision
    tanh = Enclosure(
        Dyadic((one - high << keep) // (one + high), -keep),
        Dyadic(-((low - one << keep) // (one + low)), -keep),
    )
    # t may be as small as 2^-bits, so its quotient keeps that many bits more.
    keep += scale
    sech2 = Enclosure(
        Dyadic((low * one << keep + 2) // (one + low) ** 2, -keep),
        Dyadic(-((-high * one << keep + 2) // (one + high) ** 2), -keep),
    )
    return TanhSech2(tanh, sech2)


def _exp_minus_twice(a: Dyadic, precision: int) -> Enclosure:
    """Enclose exp(-2a), a > 0, within a relative width of 2^(_EXP_SLACK_BITS + 2 - precision)."""
    minus_twice = libmp.from_man_exp(-a.mantissa, a.exponent + 1)
    _, mantissa, exponent, length = libmp.mpf_exp(minus_twice, precision, "n")
    # Under gmpy2 mpmath's integers are its mpz; plain ints keep one kind of arithmetic.
    wide = int(mantissa) << (precision - length)
    exponent -= precision - length
    slack = 1 << _EXP_SLACK_BITS
    # exp(-2a) < 1 strictly, which keeps tanh > 0 and sech^2 < 1 at every precision.
    ceiling = (1 << -exponent) - 1
    return Enclosure(Dyadic(wide - slack, exponent), Dyadic(min(wide + slack, ceiling), exponent))
