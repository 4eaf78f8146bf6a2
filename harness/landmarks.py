"""Where on the preactivation axis a format changes its behaviour, from the format alone.

With p the precision and s = sech^2(a) = 1 - tanh(a)^2, the derivative:

    linear_below     2^(-p/2)                below it a - tanh(a) is about a^3/3 < ulp(a)
    saturating_from  acosh(2^(p/4))          where s = 2^(-p/2): 1 - y^2 has lost half its bits
    one_from         ln(2^(p+2) - 1) / 2     the least a whose tanh rounds to 1
    vanished_from    acosh(2^(-emin/2))      where s falls below the smallest normal number
    exp_overflow     ln(largest finite)      where exp(a) overflows; exp(2a) does at half of it
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mpmath import MPContext

from reference.dyadic import Dyadic
from reference.formats import Format


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Ordinals of the least members at or beyond each landmark; see the module's table.

    `exp_overflow` and `half_exp_overflow` are those of the nearest members below: the last
    arguments whose exponential, or that of twice the argument, is finite.
    """

    linear_below: int
    saturating_from: int
    one_from: int
    vanished_from: int
    half_exp_overflow: int
    exp_overflow: int


@lru_cache
def landmarks(format: Format) -> Landmarks:
    """The landmarks of `format`, each decided at 300 bits."""
    context = MPContext()
    context.prec = 300

    def at_least(value: object) -> int:
        return format.ordinal(format.round_up(_exact(value)))

    def at_most(value: object) -> int:
        return format.ordinal(format.round_down(_exact(value)))

    def _exact(value: object) -> Dyadic:
        mantissa, exponent = context.mpf(value).man_exp
        return Dyadic(int(mantissa), int(exponent))

    p = format.precision
    largest = context.ldexp(format.largest_finite.mantissa, format.largest_finite.exponent)
    return Landmarks(
        linear_below=at_least(context.mpf(2) ** (-context.mpf(p) / 2)),
        saturating_from=at_least(context.acosh(context.mpf(2) ** (context.mpf(p) / 4))),
        one_from=at_least(context.log(context.ldexp(1, p + 2) - 1) / 2),
        vanished_from=at_least(context.acosh(context.mpf(2) ** (-context.mpf(format.emin) / 2))),
        half_exp_overflow=at_most(context.log(largest) / 2),
        exp_overflow=at_most(context.log(largest)),
    )
