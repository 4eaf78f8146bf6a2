"""How far computed multiples d * m of one exact value d are from the exact ones, many at a time.

`reference.measure` decides one result on integers. A neuron has thousands of multiples of one d,
and float64 pairs decide nearly all of them: those near a rounding boundary, beyond the largest
finite number or not finite are left undecided.

Everything is scaled by powers of two, so that nothing overflows or underflows. An error in ulps is
off by less than 2^-40 ulps and a relative 2^-50:

    d            the end of an enclosure of relative width 2^-96, cut to 106 bits
    d * m        exact but for d.low * m and the last sum: together a relative 2^-95 of d * m
    c - d * m    two roundings of the small difference

With p <= 53 an ulp is at least 2^-53 of the exact value, so 2^-95 of it is 2^-42 ulps. What is
within `_DOUBT` = 2^-30 ulps (and 2^-48 of the error) of a boundary is undecided: room for a process
that rounds towards an infinity, where the products of `doubledouble` are no longer exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified.doubledouble import Float64, fast_two_sum, two_product, two_sum
from reference.dyadic import Dyadic
from reference.exact import Exact
from reference.formats import Format

Bools = npt.NDArray[np.bool_]
Exponents = npt.NDArray[np.int32]

_DOUBT = 2.0**-30
_RELATIVE_DOUBT = 2.0**-48
_LARGEST_SHIFT = 900
_LEAST_EXPONENT = -(1 << 24)


class Scaled(NamedTuple):
    """The numbers significand * 2^exponent, elementwise: |significand| in [1/2, 1), or 0."""

    significands: Float64
    exponents: Exponents


class Errors(NamedTuple):
    """What computed multiples are worth, elementwise; nothing is said where `decided` is false.

    `ulps` are signed, `ulp_exponents` are log2 of the ulp they are measured in; `correct` and
    `faithful` as in `reference.measure`.
    """

    decided: Bools
    ulps: Float64
    ulp_exponents: Exponents
    correct: Bools
    faithful: Bools


def scaled(values: Sequence[Exact]) -> Scaled:
    """Exact values as arrays; 0 for what is no non-zero number of at most 53 bits."""
    pairs = [value if isinstance(value, Dyadic) else (0, 0) for value in values]
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    table[np.abs(table[:, 0]) >= 2.0**53] = 0
    significands, exponents = np.frexp(table[:, 0])
    return Scaled(significands, exponents + table[:, 1].astype(np.int32))


def errors(end: Dyadic, multipliers: Scaled, computed: Float64, format: Format) -> Errors:
    """The errors of `computed`, members of `format`, as multiples of the value with an end `end` of
    its enclosure of relative width 2^-96.

    A multiplier 0 and a computed value that is not finite are undecided.
    """
    high, low, exponent = _pair(end)
    m, m_exponents = multipliers
    finite = np.isfinite(computed)
    c, c_exponents = np.frexp(np.where(finite, computed, 0.0))
    unit = m_exponents + np.int32(exponent)

    product, rest = two_product(np.full_like(m, high), m)
    product, rest = fast_two_sum(product, rest + low * m)
    fraction, binade = np.frexp(product)
    top = unit + binade
    quantum = np.maximum(top - np.int32(format.precision), np.int32(format.least_ulp_exponent))

    shift = np.where(c == 0, 0, c_exponents - unit)
    near = np.abs(shift) <= _LARGEST_SHIFT
    total, lost = two_sum(np.ldexp(c, np.where(near, shift, 0)), -product)
    ulps = np.ldexp(total + (lost - rest), unit - quantum)

    size = np.abs(ulps)
    doubt = _DOUBT + _RELATIVE_DOUBT * size
    decided = (
        finite
        & near
        & (m != 0)
        & (np.abs(fraction) != 0.5)
        & (quantum <= format.emax - format.precision + 1)
        & (np.abs(size - 0.5) > doubt)
        & (np.abs(size - 1.0) > doubt)
    )
    least = quantum == format.least_ulp_exponent
    return Errors(
        decided=decided,
        ulps=ulps,
        ulp_exponents=quantum,
        correct=size < 0.5,
        faithful=(size < 1.0) & (least | (c_exponents >= top)),
    )


def float_and_exponent(value: Dyadic) -> tuple[float, int]:
    """(f, e) with f * 2^e = value within a relative 2^-52; |f| < 2^53."""
    mantissa, exponent = value
    excess = max(0, mantissa.bit_length() - 53)
    return float(mantissa >> excess), exponent + excess


def _pair(value: Dyadic) -> tuple[float, float, int]:
    """(high, low, e): (high + low) * 2^e is `value` cut to 106 bits; |high| in [1, 2)."""
    mantissa, exponent = value
    size = abs(mantissa)
    length = size.bit_length()
    bits = size >> length - 106 if length >= 106 else size << 106 - length
    sign = 1.0 if mantissa > 0 else -1.0
    high, low = bits >> 53, bits & (1 << 53) - 1
    # Nothing is told apart where every multiple vanishes beside the smallest ulp.
    scale = max(exponent + length - 1, _LEAST_EXPONENT)
    return sign * high * 2.0**-52, sign * low * 2.0**-105, scale
