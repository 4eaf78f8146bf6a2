"""d * m for every m of a vector, where d = (hi + lo) 2^exponent is known to more than its format.

Formats of at most 24 bits: in a wider format, rounded once more. binary64: m and |d| are taken
apart, and what comes out has the other sign,

    -|d| m = (m (-dl) - ml dh) - mh dh

with mh and dh of 26 bits, so that mh dh is exact, and the rest 2^-24 of it: one rounding counts.
dh is less than |d|, so that dl is positive and every term of a zero m is a zero of the same sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch

from harness.subjects.precise.curve import Slope
from harness.subjects.precise.dot import in_chunks, upper_bits
from harness.subjects.precise.numbers import Number, Numbers
from harness.subjects.precise.pairs import split

#: What is added to the exponent of d so that no term underflows but those of results that vanish.
_SHIFT: Final = 64.0
#: Where the exponent of d is kept while it is multiplied with.
_LEAST, _MOST = -400.0, 800.0


def value(numbers: Numbers[Number], slope: Slope[Number]) -> Number:
    """A slope as one number, rounded to binary64; a subnormal one is rounded twice."""
    half = numbers.round(slope.exponent * 0.5)
    d = slope.hi * numbers.power_of_two(half)
    return d * numbers.power_of_two(slope.exponent - half)


def narrow_multiples(numbers: Numbers[Number], d: Number, m: torch.Tensor) -> torch.Tensor:
    """d m, for a dtype of at most 24 bits."""
    if m.dtype is not torch.float32 and numbers.within_binary32(d):
        # By a number, torch multiplies 16-bit tensors in binary32, and rounds once.
        return m * d
    factor = numbers.column(d)

    def multiples(part: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(part.double().mul_(factor))

    return _by_chunks(m, multiples)


def wide_multiples(numbers: Numbers[Number], slope: Slope[Number], m: torch.Tensor) -> torch.Tensor:
    """d m in binary64, off by at most 0.51 ulps, or 0.9 where it is subnormal, and the relative
    error of d."""
    shifted = numbers.clamp(slope.exponent + _SHIFT, _LEAST, _MOST)

    def multiples(part: torch.Tensor, out: torch.Tensor) -> None:
        result = _multiples(numbers, slope, shifted, part)
        # Squares that add up to something finite: nothing overflowed, and no infinity became NaN.
        norm = numbers.of(torch.linalg.vector_norm(result, 2, -1))
        if numbers.all(numbers.finite(norm)):
            _scale(numbers, slope, shifted, result, out)
        else:
            _guarded(numbers, slope, shifted, part, result, out)

    return _by_chunks(m, multiples)


def _multiples(
    numbers: Numbers[Number], slope: Slope[Number], exponent: Number, m: torch.Tensor
) -> torch.Tensor:
    """-|d| m, with d brought to `exponent`."""
    scale = numbers.power_of_two(exponent)
    d = abs(slope.hi) * scale
    dh, _ = split(d * (1 - 2.0**-25))
    dl = (d - dh) + numbers.select(slope.hi < 0, -slope.lo, slope.lo) * scale
    mh = upper_bits(m)
    result = m * numbers.column(-dl)
    numbers.subtract_multiple(result, dh, m - mh)
    numbers.subtract_multiple(result, dh, mh)
    return result


def _scale(
    numbers: Numbers[Number],
    slope: Slope[Number],
    exponent: Number,
    x: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """-x with the sign and the exponent of d, where it has had another exponent."""
    missing = slope.exponent - exponent
    first = numbers.clamp(missing, -1000.0, 900.0)
    torch.mul(x, numbers.column(numbers.copysign(numbers.power_of_two(first), -slope.hi)), out=out)
    if not numbers.all(first == missing):
        out *= numbers.column(numbers.power_of_two(missing - first))


def _guarded(
    numbers: Numbers[Number],
    slope: Slope[Number],
    shifted: Number,
    m: torch.Tensor,
    small: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """The result of which `small` is the part that has not overflowed: the rest is far from where
    a term might underflow, or is what the product of an infinity or NaN is."""
    plain = numbers.clamp(slope.exponent, _LEAST, _MOST)
    large = _multiples(numbers, slope, plain, m)
    product = m * numbers.column(-abs(slope.hi) * numbers.power_of_two(plain))
    large = torch.where(large.isnan(), product, large)
    finite = small.isfinite()
    _scale(numbers, slope, plain, large, large)
    _scale(numbers, slope, shifted, small, small)
    out.copy_(torch.where(finite, small, large))


def _by_chunks(
    m: torch.Tensor, function: Callable[[torch.Tensor, torch.Tensor], None]
) -> torch.Tensor:
    result = torch.empty(m.shape, dtype=m.dtype, device=m.device)
    for part, out in zip(in_chunks(m), in_chunks(result), strict=True):
        function(part, out)
    return result
