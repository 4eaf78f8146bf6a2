"""binary64 judged by pairs: what settles all but a few lanes in a million of a block.

Lanes outside the range of the pairs of `pairs`, near ties or near powers of two are left
to the enclosures, which are the authority.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from reference.certified.doubledouble import Float64, Pair
from reference.certified.enclosures import Bool
from reference.certified.pairs import GREATEST, LEAST

_BELOW_ONE: Final = 1.0 - 2.0**-53
_FRACTION: Final = np.int64((1 << 52) - 1)
_EXPONENT: Final = np.int64(0x7FF << 52)
#: Minus the exponent bits of v this is 1/ulp(v) in binary64; modulo 2^64, as the subtraction is.
_INVERSE_ULP: Final = np.int64(((2 * 1023 + 52) << 52) - (1 << 64))


def within_range(magnitude: Float64) -> tuple[Float64, Bool | None]:
    """Magnitudes moved into the range of the pairs, and where they were not in it, if anywhere."""
    if magnitude.size and magnitude.min() >= LEAST and magnitude.max() <= GREATEST:
        return magnitude, None
    inside = np.fmin(np.fmax(magnitude, LEAST), GREATEST)
    return inside, inside != magnitude


def round_pair(pair: Pair, slack: float | Float64) -> tuple[Float64, Bool]:
    """Positive pairs within `slack` rounded to binary64, and where that is not certain: Ziv's test.

    Its own rounding, 2^-106 of the pair, is far below what the slack leaves.
    """
    high, low = pair
    rounded = high + (low + slack)
    return rounded, rounded != high + (low - slack)


class Compared(NamedTuple):
    """Results against pairs, as in `Judgement`; entries of open lanes mean nothing."""

    rounded: Float64
    ulps: Float64
    misrounded: Bool
    unfaithful: Bool
    open: Bool


def compare(
    pair: Pair, slack: float | Float64, computed: Float64, sign: Float64 | None
) -> Compared:
    """Compare `computed` with exact values of magnitude `pair`, under 1, and of sign `sign`.

    A lane is settled under the conditions of `reference.certified.binary32.Lanes.compare`.
    """
    rounded, open_ = round_pair(pair, slack)
    at_power = (rounded.view(np.int64) & _FRACTION) == 0
    if at_power.any():
        # The values are under 1, so 1 is no doubt.
        open_ |= at_power & (rounded != 1.0)
    if sign is not None:
        computed = computed * sign
    misrounded = computed != rounded
    exponent = np.minimum(pair[0], _BELOW_ONE).view(np.int64) & _EXPONENT
    ulps = ((computed - pair[0]) - pair[1]) * (_INVERSE_ULP - exponent).view(np.float64)
    size = np.abs(ulps)
    faithful = size <= 1.0 - 2.0**-10
    if faithful.all():
        unfaithful = np.zeros_like(faithful)
    else:
        # NaN is unfaithful, too. Infinities stand at 2^1024, which is the authority's business.
        unfaithful = ~(size <= 1.0 + 2.0**-10)
        open_ |= (faithful == unfaithful) | (size == np.inf)
    if sign is not None:
        rounded, ulps = rounded * sign, ulps * sign
    return Compared(rounded, ulps, misrounded, unfaithful, open_)
