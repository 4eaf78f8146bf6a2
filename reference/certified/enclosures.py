"""Arrays of exact values, each enclosed tightly, and what follows from an enclosure in a format.

What an enclosure decides (the rounded result, the neighbouring floats, the ulp) is decided by
interval arguments alone. What it does not decide is marked, never guessed. Placeholders and
saturating steps raise floating-point flags, so callers run under numpy.errstate(all="ignore").

Radii are either at
least a relative 2^-10 larger than their derivations ask, or make the enclosure touch `head` or 0 in
numbers that are exact; so the roundings of the comparisons below, each relative 2^-53, decide
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified.doubledouble import Float64, fast_two_sum, two_product, two_sum
from reference.formats import Format

Bool = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

_EXPONENT_BIAS = 1023
_ONE_BITS = np.int64(_EXPONENT_BIAS << 52)
_EXPONENT_MASK = np.int64(0x7FF << 52)
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, slots=True)
class Enclosures:
    """Exact values v = kind * (head + tail + e) * 2^scale, one an element, 1-D.

    |e| < radius, or e = 0 where radius is 0; an infinite radius says nothing is known. For a
    non-zero real `kind` is its sign, +1 or -1, 1 <= head <= 2, |tail| <= 2^-30 unless the radius is
    as large, and head = 1 has no negative tail that takes the whole enclosure below 1. For a
    special value (a signed zero, an infinity, NaN) `kind` is that value and the rest means nothing.
    """

    head: Float64
    tail: Float64
    radius: Float64
    scale: Int64
    kind: Float64

    @property
    def special(self) -> Bool:
        """Where the value is a zero, an infinity or NaN."""
        result: Bool = np.abs(self.kind) != 1.0
        return result

    def take(self, index: slice | npt.NDArray[np.intp]) -> Enclosures:
        """The elements at `index`, in its order."""
        return Enclosures(
            self.head[index],
            self.tail[index],
            self.radius[index],
            self.scale[index],
            self.kind[index],
        )


def concatenate(parts: Sequence[Enclosures]) -> Enclosures:
    """One after the other."""
    return Enclosures(
        np.concatenate([part.head for part in parts]),
        np.concatenate([part.tail for part in parts]),
        np.concatenate([part.radius for part in parts]),
        np.concatenate([part.scale for part in parts]),
        np.concatenate([part.kind for part in parts]),
    )


def power_of_two(exponent: Int64) -> Float64:
    """2.0**exponent for exponents in [-1022, 1023], from the bit pattern."""
    return ((exponent + _EXPONENT_BIAS) << 52).view(np.float64)


def scaled(value: Float64, exponent: Int64) -> Float64:
    """value * 2^exponent for |exponent| <= 2044, in two steps that are exact unless the result
    leaves the range of binary64 (where the last step overflows or rounds)."""
    half = exponent >> 1
    return (value * power_of_two(half)) * power_of_two(exponent - half)


def significand(value: Float64) -> tuple[Float64, Int64]:
    """(m, e) with |value| = m * 2^e and 1 <= m < 2, for finite non-zero values."""
    fraction, exponent = np.frexp(np.abs(value))
    return 2.0 * fraction, exponent.astype(np.int64) - 1


def sign_or_special(value: Float64) -> Float64:
    """The value where it is a zero, an infinity or NaN, else its sign."""
    ordinary = np.isfinite(value) & (value != 0.0)
    return np.where(ordinary, np.copysign(1.0, value), value)


def enclose(
    head: Float64, tail: Float64, radius: Float64, scale: Int64, kind: Float64
) -> Enclosures:
    """Enclosures with head brought from (0, 2^1000) into [1, 2], all by powers of two.

    |tail| must be at most half an ulp of head (head = fl(head + tail)), so that powers of two are
    the only heads whose binade the tail can change.
    """
    exponent = (head.view(np.int64) & _EXPONENT_MASK) - _ONE_BITS
    # head == a power of two with a value below it belongs to the binade below.
    below = ((head.view(np.int64) & ~_EXPONENT_MASK) == 0) & (tail + radius <= 0.0) & (tail < 0.0)
    exponent -= below.astype(np.int64) << 52
    factor = (_ONE_BITS - exponent).view(np.float64)
    return Enclosures(head * factor, tail * factor, radius * factor, scale + (exponent >> 52), kind)


def times(values: Enclosures, multiplier: Float64) -> Enclosures:
    """The values times exact binary64 numbers, by IEEE 754's rules where either is special.

    The product of pairs: h m exactly, l m rounded and two sums, which adds less than 2^-103 of the
    result to the radius; an exact product whose low part needs no rounding stays exact.
    """
    kind = values.kind * sign_or_special(multiplier)
    usable = np.where(np.isfinite(multiplier) & (multiplier != 0.0), multiplier, 1.0)
    m, exponent = significand(usable)
    p, e = two_product(values.head, m)
    if (values.radius == 0.0).any():
        low, low_error = two_product(values.tail, m)
    else:
        low = values.tail * m
        low_error = np.where(m == 1.0, 0.0, low * 2.0**-53)
    tail, sum_error = two_sum(e, low)
    head, tail = fast_two_sum(p, tail)
    radius = values.radius * m + 2.0 * (np.abs(low_error) + np.abs(sum_error))
    return enclose(head, tail, radius, values.scale + exponent, kind)


class Placed(NamedTuple):
    """Enclosures placed among the floats of a format, in units of 2^scale and without the sign.

    candidate: the float that `head` rounds to; quantum: the spacing of floats around it;
    residual: value - candidate, within radius; decided: the value rounds to `candidate`;
    straddles: the value may lie on either side of a power of two at which the spacing changes.
    """

    values: Enclosures
    candidate: Float64
    quantum: Float64
    residual: Float64
    decided: Bool
    straddles: Bool


def place(values: Enclosures, format: Format) -> Placed:
    """Place enclosures in a format. Values far below the smallest subnormal are moved up to where
    the arithmetic of the format still reaches, inside an enclosure that holds them."""
    floor = format.emin - format.precision - 60
    buried = values.scale < floor - 2
    if buried.any():
        # 0 < v < (2 + 4) 2^scale < 2^(scale + 3) <= 2^floor, inside (0, 2^(floor + 1)).
        known = buried & (values.radius <= 4.0)
        values = Enclosures(
            np.where(known, 1.0, values.head),
            np.where(known, 0.0, values.tail),
            np.where(known, 1.0, np.where(buried, np.inf, values.radius)),
            np.where(buried, floor, values.scale),
            values.kind,
        )
    head, tail, radius, scale = values.head, values.tail, values.radius, values.scale
    exponent = np.maximum(format.emin - scale, 0) - (format.precision - 1)
    quantum = power_of_two(exponent)
    candidate = np.rint(head * power_of_two(-exponent)) * quantum
    offset = head - candidate
    # rint takes ties to even; a tail decides them otherwise.
    beyond = (np.abs(offset) == 0.5 * quantum) & (offset * tail > 0.0)
    if beyond.any():
        candidate = np.where(beyond, candidate + np.copysign(quantum, offset), candidate)
        offset = head - candidate
    residual = offset + tail
    straddles = ((head - 1.0) + (tail - radius) < 0.0) & (scale > format.emin)
    half = np.where(straddles, 0.25, 0.5) * quantum
    # fl(offset + tail) is off by at most 2^-53 |residual|; 2^-52 quanta cover that and the
    # comparison. Exact values: one without a tail has an exact residual, and rint broke its tie;
    # one whose head is a float of the format is at most half an ulp of binary64 away from it, and
    # where that is a tie, the sum that made head = fl(head + tail) took it to even.
    margin = half - np.abs(residual)
    decided = margin > radius + quantum * 2.0**-52
    decided |= (radius == 0.0) & ((tail == 0.0) | (offset == 0.0)) & ~straddles
    straddles |= ((head - 2.0) + (tail + radius) > 0.0) & (scale >= format.emin)
    return Placed(values, candidate, quantum, residual, decided, straddles)


def rounded(placed: Placed, format: Format) -> Float64:
    """The rounded results as binary64 numbers: right where `placed.decided` or a value special."""
    values = placed.values
    result = scaled(placed.candidate, np.minimum(values.scale, format.emax + 1))
    result[result > _largest(format)] = np.inf
    return np.where(values.special, values.kind, np.copysign(result, values.kind))


class Judged(NamedTuple):
    """Computed results against enclosures. See `certified.Judgement` for ulps and unfaithful.

    undecided: elements whose error, ulp or neighbours the enclosure does not settle;
    ulp_exponent: log2 of the ulp in which the error is counted.
    """

    ulps: Float64
    unfaithful: Bool
    undecided: Bool
    ulp_exponent: Int64


def judge(placed: Placed, computed: Float64, format: Format) -> Judged:
    """Errors of `computed` (members of the format as binary64) in ulps of the exact values."""
    values, candidate, quantum = placed.values, placed.candidate, placed.quantum
    # At and beyond 2^(emax+1) exact values and infinities stand there, one ulp above the largest.
    beyond = (values.scale > format.emax) & np.isfinite(values.radius)
    scale = np.minimum(values.scale, format.emax)
    head = np.where(beyond, 2.0, values.head)
    tail = np.where(beyond, 0.0, values.tail)
    quantum = np.where(beyond, 2.0 ** (1 - format.precision), quantum)
    candidate = np.where(beyond, 2.0, candidate)

    infinite = np.isinf(computed)
    point = scaled(computed * values.kind, -scale)
    standing = scaled(np.full(1, 2.0), np.minimum(format.emax - scale, 2044))
    point = np.where(infinite, np.copysign(standing, computed * values.kind), point)
    ulps = (((point - head) - tail) / quantum) * values.kind
    ulps = np.clip(ulps, -_LARGEST, _LARGEST)

    steps = point - candidate
    beside = np.abs(steps) == quantum
    side = np.where(beyond, -quantum, placed.residual)
    same_side = (steps > 0.0) == (side > 0.0)
    exact = (values.radius == 0.0) & (side == 0.0)
    unfaithful = (steps != 0.0) & ~(beside & same_side & ~exact)
    # A value that rounds to 0 is still known to be positive (its sign is apart).
    side_unknown = beside & ~beyond & ~exact & (np.abs(side) < values.radius) & (candidate != 0.0)

    undecided = (placed.straddles & ~beyond) | side_unknown | ~(values.radius < 2.0)
    special = values.special
    if special.any():
        zero = values.kind == 0.0
        smallest = format.emin - format.precision + 1
        standing = np.where(
            infinite, np.copysign(2.0 ** min(format.emax + 1, 1023), computed), computed
        )
        from_zero = np.clip(scaled(standing, np.full_like(scale, -smallest)), -_LARGEST, _LARGEST)
        ulps = np.where(special, np.where(zero, from_zero, np.nan), ulps)
        same = (computed == values.kind) | (np.isnan(computed) & np.isnan(values.kind))
        unfaithful = np.where(special, ~same, unfaithful)
        undecided &= ~special
    ulps = np.where(np.isnan(computed), np.nan, ulps)
    exponent = scale + ((quantum.view(np.int64) - _ONE_BITS) >> 52)
    exponent = np.where(special, format.emin - format.precision + 1, exponent)
    return Judged(ulps, unfaithful, undecided, exponent)


def _largest(format: Format) -> float:
    return (2.0 - 2.0 ** (1 - format.precision)) * 2.0**format.emax
