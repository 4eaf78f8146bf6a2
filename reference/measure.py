"""How far a computed float is from an exact value, in ulps of the exact value, and whether it is
correctly rounded or faithful."""

from __future__ import annotations

from math import inf, isfinite, isnan
from typing import NamedTuple

from reference.dyadic import (
    ZERO,
    Dyadic,
    compare,
    from_float,
    magnitude,
    negate,
    ratio,
    subtract,
)
from reference.elementary import Enclosure
from reference.formats import Format
from reference.real import Real


class Error(NamedTuple):
    """computed - exact, and log2 of the ulp it is measured in.

    `difference` is zero where the computed value lies inside the exact value's enclosure, else its
    distance to the nearer end: within a relative 2^-96 of the exact value. `correct` says that the
    computed value is the exact one rounded to nearest even, `faithful` that it is one of the two
    floats around it; both are decided, never estimated.
    """

    difference: Dyadic
    ulp_exponent: int
    correct: bool
    faithful: bool

    @property
    def ulps(self) -> float:
        """The signed error in ulps, saturating at the largest float."""
        return ratio(self.difference, Dyadic(1, self.ulp_exponent))


def error(
    exact: Real, computed: float, format: Format, *, flush_to_zero: bool = False
) -> Error | None:
    """The error of `computed`, a member of `format`, or None where it has no size.

    It has none where `computed` is NaN, and where the exact value is NaN or infinite: such results
    are right or wrong (`matches`). An infinity counts as standing at 2^(emax+1), and so does an
    exact value beyond it, so that the largest finite float and infinity are one ulp apart. With
    `flush_to_zero`, the least normal numbers and zero are one ulp apart.
    """
    special = exact.special
    if isnan(computed) or (special is not None and not isfinite(special)):
        return None
    if special is None and not flush_to_zero and isfinite(computed):
        quick = _quick(exact, computed, format)
        if quick is not None:
            return quick
    return _careful(exact, computed, format, flush_to_zero)


def matches(exact: Real, computed: float, format: Format) -> bool:
    """Whether `computed` is the exact value rounded to nearest even, whatever a zero's sign."""
    rounded = exact.rounded(format)
    return computed == rounded or (isnan(computed) and isnan(rounded))


def _quick(exact: Real, computed: float, format: Format) -> Error | None:
    factor, curve = exact
    if curve is None or not isinstance(factor, Dyadic):
        return None
    return _decide(exact.first_enclosure, computed, format)


def _decide(enclosure: Enclosure, computed: float, format: Format) -> Error | None:
    """The error of a finite `computed` where one enclosure decides everything, as it does for all
    but a few in 10^12; None where it does not.

    The exact value r lies inside the enclosure, whose ends have the same exponent. Plain integers,
    since every verification does this often. With r in [2^k, 2^(k+1)) and ulp(r) the spacing of the
    floats there, both ends included, a float c is r rounded iff |c - r| < ulp/2, and one of the two
    around r iff |c - r| < ulp and |c| >= 2^k.
    """
    (low, exponent), (high, _) = enclosure
    mantissa, computed_exponent = from_float(computed)
    sign = 1
    if low < 0:
        low, high, mantissa, sign = -high, -low, -mantissa, -1
    length = high.bit_length()
    if low.bit_length() != length:
        return None
    least = format.least_ulp_exponent
    quantum = length + exponent - format.precision
    if quantum < least:
        quantum = least
    elif quantum > format.emax - format.precision + 1:
        return None
    scale = min(exponent, computed_exponent, quantum - 1)
    if exponent > scale:
        low <<= exponent - scale
        high <<= exponent - scale
    mantissa <<= computed_exponent - scale
    ulp = 1 << quantum - scale
    half = ulp >> 1
    above, below = mantissa - low, mantissa - high
    difference = below if below > 0 else above if above < 0 else 0
    smallest, largest = abs(difference), max(abs(above), abs(below))
    if largest < half:
        correct = faithful = True
    elif smallest <= half or smallest < ulp <= largest:
        return None
    else:
        correct = False
        faithful = largest < ulp and (
            quantum == least or mantissa.bit_length() + scale >= length + exponent
        )
    return Error(Dyadic(sign * difference, scale), quantum, correct, faithful)


def _careful(exact: Real, computed: float, format: Format, flush_to_zero: bool) -> Error:
    """The error by the definitions, through Ziv's loop."""
    lower, upper = exact.first_enclosure
    quantum = exact.ulp_exponent(format)
    largest = format.emax - format.precision + 1
    if quantum > largest:
        quantum = largest
        overflow = format.overflow_value
        lower = upper = overflow if lower.mantissa > 0 else negate(overflow)
    if flush_to_zero and compare(magnitude(lower), format.smallest_normal) < 0:
        quantum = format.emin
    return Error(
        _distance(_stand(computed, format), lower, upper),
        quantum,
        matches(exact, computed, format),
        computed in exact.neighbours(format),
    )


def _stand(computed: float, format: Format) -> Dyadic:
    if computed == inf:
        return format.overflow_value
    if computed == -inf:
        return negate(format.overflow_value)
    return from_float(computed)


def _distance(point: Dyadic, lower: Dyadic, upper: Dyadic) -> Dyadic:
    """point - the nearer end of [lower, upper]; 0 inside."""
    below = subtract(point, lower)
    if below.mantissa <= 0:
        return below
    above = subtract(point, upper)
    return above if above.mantissa > 0 else ZERO
