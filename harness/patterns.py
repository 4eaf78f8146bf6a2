"""Bit patterns of many floats at once: Python floats to a format's storage and back.

The same maps as `Format.to_bits` and `Format.from_bits`, for arrays. Everything is integer
arithmetic, so neither the rounding mode nor flush-to-zero can touch a value; conversions by numpy
are a short cut, taken only where subnormals are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.flush import flushing
from harness.hexfloat import hex_text
from reference.formats import BFLOAT16, Format

_FRACTION_BITS = 52
_BIAS = 1023
#: numpy's float of each width, and the integer that holds its pattern.
_CARRIERS = {
    16: (np.float16, np.uint16),
    32: (np.float32, np.uint32),
    64: (np.float64, np.uint64),
}


def encode(values: Sequence[float], format: Format) -> NDArray[np.uint64]:
    """The bit patterns, shape (n,), of n members of `format`; the quiet NaN for every NaN.

    Raises ValueError for a value that `format` does not contain.
    """
    array = np.array(values, dtype=np.float64)
    bits = array.view(np.uint64)
    if not bits.size:
        return bits
    if not flushing():
        quick = _encode_by_casts(array, format)
        if quick is not None:
            return quick
    fraction_bits = format.precision - 1
    # Signed, so that shifts and exponents below can go negative.
    magnitude = (bits & np.uint64(2**63 - 1)).view(np.int64)
    biased = magnitude >> _FRACTION_BITS
    fraction = magnitude & (2**_FRACTION_BITS - 1)
    special = biased == 2 * _BIAS + 1
    mantissa = np.where(biased > 0, fraction | 2**_FRACTION_BITS, fraction)
    exponent = np.maximum(biased, 1) - _BIAS
    # Members below the normal range are multiples of the smallest subnormal: shift further.
    shift = _FRACTION_BITS - fraction_bits + np.clip(format.emin - exponent, 0, format.precision)
    kept = mantissa >> shift
    field = np.maximum(exponent + format.emax - 1, 0)
    patterns = (field << fraction_bits) + kept
    largest = (2 * format.emax + 1) << fraction_bits
    outside = ((kept << shift) != mantissa) | (patterns >= largest)
    if (outside & ~special).any():
        value = values[int(np.flatnonzero(outside & ~special)[0])]
        raise ValueError(f"{hex_text(value)} is not a {format.name} number; round it first")
    patterns = np.where(special, largest + (fraction > 0) * 2 ** (fraction_bits - 1), patterns)
    # The format's one NaN is positive, whatever sign the NaN came with.
    negative = np.where(special & (fraction > 0), np.uint64(0), bits >> np.uint64(63))
    result: NDArray[np.uint64] = patterns.view(np.uint64) | negative << np.uint64(format.width - 1)
    return result


def _encode_by_casts(array: NDArray[np.float64], format: Format) -> NDArray[np.uint64] | None:
    """`encode` by numpy's conversions, which are exact on members; None if a value is NaN, whose
    pattern a conversion need not keep, or is not a member. Only where subnormals are kept."""
    carrier, integer = _CARRIERS[format.width if format != BFLOAT16 else 32]
    with np.errstate(all="ignore"):
        narrow = array.astype(carrier)
    if not (narrow == array).all():
        return None
    patterns = narrow.view(integer).astype(np.uint64)
    if format == BFLOAT16:
        if (patterns & np.uint64(0xFFFF)).any():
            return None
        patterns >>= np.uint64(16)
    return patterns


def decode(patterns: NDArray[np.uint64], format: Format) -> NDArray[np.float64]:
    """The values, shape (n,), of n bit patterns below 2^width; every NaN is the quiet NaN."""
    fraction_bits = format.precision - 1
    negative = patterns >> np.uint64(format.width - 1)
    magnitude = (patterns & np.uint64(2 ** (format.width - 1) - 1)).view(np.int64)
    biased = magnitude >> fraction_bits
    fraction = magnitude & (2**fraction_bits - 1)
    special = biased == 2 * format.emax + 1
    widened = (magnitude << _FRACTION_BITS - fraction_bits) + (
        (_BIAS - format.emax) << _FRACTION_BITS
    )
    if format.emin > 1 - _BIAS:
        # Narrow subnormals are normal in binary64. The conversion of an integer normalises them:
        # it is exact, and its result far from what a flush could reach.
        quantum = format.emin - fraction_bits
        scaled = fraction.astype(np.float64).view(np.int64) + (quantum << _FRACTION_BITS)
        widened = np.where(biased > 0, widened, np.where(fraction > 0, scaled, 0))
    infinity = (2 * _BIAS + 1) << _FRACTION_BITS
    quiet = np.where(fraction > 0, 2 ** (_FRACTION_BITS - 1), 0)
    widened = np.where(special, infinity + quiet, widened)
    negative = np.where(special & (fraction > 0), np.uint64(0), negative)
    result: NDArray[np.float64] = (widened.view(np.uint64) | negative << np.uint64(63)).view(
        np.float64
    )
    return result
