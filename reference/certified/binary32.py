"""binary32 judged in binary64: what settles all but a few lanes in a thousand of a block.

The bound `_RELATIVE` on numpy's float64 tanh and exp is generous: numpy documents errors of a few
ulps for its own loops and takes the platform's libm elsewhere, whose documented errors are one or
two (Innocente and Zimmermann, "Accuracy of mathematical functions", 2024). 4t/(1+t)^2 adds four
roundings to twice the error of t. 2^-42 is 2048u, some two hundred times all that. It is checked
against `curves`, which trusts no library, when first used in a process.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified import curves
from reference.certified.answers import Judgement
from reference.certified.carriers import Carried, widened
from reference.certified.doubledouble import Float64
from reference.certified.enclosures import Bool

#: Relative error allowed to binary64's tanh|x| and 4t/(1+t)^2.
_RELATIVE: Final = 2.0**-42
#: The same in units of the last place of binary64: |v| < 2^(e+1), so 2^-42 |v| < 2^11 units.
CURVE_UNITS: Final = 1 << 11
#: For g (1 - y^2): two roundings, each half a unit or, across a binade, one.
GRADIENT_UNITS: Final = 1 << 2

#: Of the sample of numpy: the longest short array, and the elements of all of them.
_LONGEST_SHORT: Final = 17
_SHORT_POINTS: Final = 8 * _LONGEST_SHORT * (_LONGEST_SHORT + 1) // 2

BELOW_ONE: Final = 1.0 - 2.0**-53
_EXPONENT: Final = np.int64(0x7FF << 52)
#: Minus the exponent bits of v this is 1/ulp(v) in binary32; modulo 2^64, as the subtraction is.
_INVERSE_ULP: Final = np.int64(((2 * 1023 + 23) << 52) - (1 << 64))
_LEAST_EXPONENT: Final = np.int64((1023 - 126) << 52)
_SIGN32: Final = np.int32(-(1 << 31))
_FRACTION32: Final = np.int32((1 << 23) - 1)


def bits32(value: float) -> int:
    return int(np.float32(value).view(np.int32))


LEAST_NORMAL: Final = bits32(2.0**-126)


class Signs(NamedTuple):
    """The sign bits of binary32 numbers, and the same as factors +1 and -1."""

    bits: npt.NDArray[np.int32]
    factors: Float64


def signs_of(x: Carried) -> Signs | None:
    """None where every sign is positive, the usual case in a sweep of neighbouring patterns."""
    patterns = x.view(np.int32)
    if patterns.min() >= 0:
        return None
    return Signs(patterns & _SIGN32, np.copysign(1.0, widened(x)))


class Lanes:
    """Scratch in which one quantity of a block is compared with a binary64 value of it."""

    def __init__(self, block: int) -> None:
        self._ulps, self._wide, whole = staggered(3, block)
        self._whole = whole.view(np.int64)
        self._rounded = np.empty(block, np.float32)
        self._misrounded = np.empty(block, np.bool_)
        self._unfaithful = np.empty(block, np.bool_)
        self._computed = np.empty(block, np.int32)
        self._half = np.empty(block, np.int32)
        self._open = np.empty(block, np.bool_)
        self._flag = np.empty(block, np.bool_)

    def compare(
        self,
        value: Float64,
        computed: Carried,
        signs: Signs | None,
        *,
        units: int,
        below_one: bool,
        subnormal: bool,
    ) -> Bool:
        """Fill the scratch for |exact| = value (1 +- units 2^-52); return the lanes left open.

        `signs` are those of the exact values (None: all positive), `below_one` promises that they
        are under 1 in magnitude and `value` too, `subnormal` that some may be subnormal in
        binary32. A lane is settled if value is not within `units` of a tie; nor close to a power of
        two, where the ulp changes and a float less than an ulp below need not be a neighbour; nor
        the computed result close to an ulp away or further, where the side of a float on which the
        exact value lies decides whether it is a neighbour.
        """
        n = value.size
        rounded, ulps, wide = self._rounded[:n], self._ulps[:n], self._wide[:n]
        whole, half, result = self._whole[:n], self._half[:n], self._computed[:n]
        open_, flag = self._open[:n], self._flag[:n]
        np.copyto(rounded, value, casting="same_kind")
        narrow = half.view(np.float32)
        if not mark_ties(value, units, subnormal, rounded, whole, wide, narrow, open_):
            open_[:] = False
        patterns = rounded.view(np.int32)
        np.bitwise_and(patterns, _FRACTION32, out=half)
        np.equal(half, 0, out=flag)
        if flag.any():
            if below_one:
                flag &= rounded != 1.0
            if subnormal:
                flag &= rounded >= 2.0**-125
            open_ |= flag

        given = computed.view(np.int32)
        if signs is not None:
            given = np.bitwise_xor(given, signs.bits, out=result)
        np.not_equal(given.view(np.float32), rounded, out=self._misrounded[:n])
        np.copyto(ulps, given.view(np.float32))
        ulps -= value
        np.bitwise_and(value.view(np.int64), _EXPONENT, out=whole)
        if subnormal:
            np.maximum(whole, _LEAST_EXPONENT, out=whole)
        np.subtract(_INVERSE_ULP, whole, out=whole)
        ulps *= whole.view(np.float64)
        np.abs(ulps, out=wide)
        np.less_equal(wide, 1.0 - 2.0**-16, out=flag)
        unfaithful = self._unfaithful[:n]
        if flag.all():
            unfaithful[:] = False
        else:
            # NaN is unfaithful, too.
            np.less_equal(wide, 1.0 + 2.0**-16, out=unfaithful)
            np.logical_not(unfaithful, out=unfaithful)
            np.equal(flag, unfaithful, out=flag)
            open_ |= flag
            # Infinities stand at 2^128, which is the authority's business.
            np.equal(wide, np.inf, out=flag)
            open_ |= flag
        if signs is not None:
            np.bitwise_xor(patterns, signs.bits, out=patterns)
            ulps *= signs.factors
        return open_

    def settle(self, lanes: npt.NDArray[np.intp], judged: Judgement) -> None:
        """Enter the authority's judgement of the lanes that were open."""
        self._rounded[lanes] = judged.rounded
        self._ulps[lanes] = judged.ulps
        self._misrounded[lanes] = judged.misrounded
        self._unfaithful[lanes] = judged.unfaithful

    def judgement(self, n: int, escalated: int) -> Judgement:
        """The scratch as the answer, valid until the next comparison."""
        return Judgement(
            self._rounded[:n], self._ulps[:n], self._misrounded[:n], self._unfaithful[:n], escalated
        )


def mark_ties(
    value: Float64,
    units: int,
    subnormal: bool,
    rounded: npt.NDArray[np.float32],
    whole: npt.NDArray[np.int64],
    wide: Float64,
    narrow: npt.NDArray[np.float32],
    out: Bool,
) -> bool:
    """Mark in `out` where binary64 values within `units` units may round otherwise in binary32.

    Returns whether any is marked, and leaves `out` as it is if none is. A normal result is a tie
    where the 29 bits that it drops are 2^28; moved to the top of a word, where that is the sign
    bit, ties are next to the extremes of its range. Subnormal results drop more: there both ends of
    value (1 +- units 2^-52) must round alike. The other arrays are scratch.
    """
    np.left_shift(value.view(np.int64), 35, out=whole)
    reach = (1 << 63) - (units << 35)
    found = bool(whole.max() >= reach or whole.min() <= -reach)
    if found:
        np.greater_equal(whole, reach, out=out)
        out |= whole <= -reach
    if subnormal:
        if not found:
            out[:] = False
        for end in (1.0 - units * 2.0**-52, 1.0 + units * 2.0**-52):
            np.multiply(value, end, out=wide)
            np.copyto(narrow, wide, casting="same_kind")
            np.logical_or(out, narrow != rounded, out=out)
        return True
    return found


def minus_twice(x: Carried, out: Float64, narrow: npt.NDArray[np.float32]) -> float:
    """-2|x|, at least -700, in `out`; returns the least of them before that, NaN if there is one.

    The first steps are exact in binary32, where they cost half as much.
    """
    np.bitwise_or(x.view(np.int32), _SIGN32, out=narrow.view(np.int32))
    np.multiply(narrow, np.float32(2.0), out=narrow)
    least = float(narrow.min())
    if not least >= -700.0:
        np.maximum(narrow, np.float32(-700.0), out=narrow)
    np.copyto(out, narrow)
    return least


@cache
def require_accurate_numpy() -> None:
    """Raise RuntimeError if numpy's tanh and exp are worse than the bound allows, by a factor 8.

    A sample, no proof: some 14,000 arguments from the least binary32 number to -2|x| = -700, in one
    long array, and a thousand of them once more in arrays of 1 to 17, at all places in a line of 64
    bytes, because vector loops treat the ends of arrays and short ones apart.
    """
    x = np.concatenate(
        [
            np.geomspace(2.0**-149, 2.0**-40, 1000),
            np.geomspace(2.0**-40, 350.0, 7000),
            np.linspace(0.01, 45.0, 6000),
        ]
    )
    few = x[:: x.size // _SHORT_POINTS][:_SHORT_POINTS].copy()
    for sample, pieces in ((x, [slice(None)]), (few, _short_pieces())):
        _require_accurate_on(sample, pieces)


def _require_accurate_on(x: Float64, pieces: list[slice]) -> None:
    tanh, slope, scratch = np.empty_like(x), -2.0 * x, np.empty_like(x)
    with np.errstate(all="ignore"):
        for piece in pieces:
            np.tanh(x[piece], out=tanh[piece])
            slope_of(slope[piece], scratch[piece])
        found = tanh, slope
        for name, value, proved in zip(("tanh", "exp"), found, curves.tanh_sech2(x), strict=True):
            off = np.abs(np.ldexp(value, -proved.scale.astype(np.intc)) / proved.head - 1.0)
            if not off.max() < _RELATIVE / 8:
                raise RuntimeError(
                    f"numpy.{name} on float64 is off by a relative {off.max():.2g} here, "
                    f"expected under {_RELATIVE / 8:.2g}; use a numpy build without fast-math"
                )


def _short_pieces() -> list[slice]:
    """Neighbouring slices of 1 to 17 elements, eight times over: 153 elements a time, one more than
    a multiple of 8, so that each length begins at each place in a line of 64 bytes."""
    ends = np.cumsum([0, *(list(range(1, _LONGEST_SHORT + 1)) * 8)]).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


def slope_of(argument: Float64, scratch: Float64) -> Float64:
    """4t/(1+t)^2 = t/(t/2 + 1/2)^2 in place of -2|x| >= -700, with t = exp(-2|x|)."""
    np.exp(argument, out=argument)
    np.multiply(argument, 0.5, out=scratch)
    np.add(scratch, 0.5, out=scratch)
    np.square(scratch, out=scratch)
    return np.divide(argument, scratch, out=argument)


def staggered(count: int, block: int) -> list[Float64]:
    """`count` arrays of `block` numbers, no two of which are a multiple of 4 KiB apart.

    A processor that takes the low 12 bits of two addresses for all of them makes loads wait for
    unrelated stores; arrays from the allocator, page by page, are all alike in those bits.
    """
    stride = -(-block // 512) * 512 + 72
    room = np.empty(count * stride)
    return [room[i * stride : i * stride + block] for i in range(count)]
