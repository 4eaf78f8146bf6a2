"""The preactivation sum x_i w_i + b as a double-double, known to within a stated error.

Formats of at most 24 bits: the products are exact in binary64, and are summed there. binary64: a
product is two numbers (Dekker), and a sum is split at a power of two sigma, so that the upper parts
add up without an error (Rump, Ogita and Oishi, Accurate floating-point summation, part I, 2008,
section 3):

    q_i = (sigma + p_i) - sigma       multiples of 2^-53 sigma, their sum below sigma: exact
    r_i = p_i - q_i                   exact, at most 2^-53 sigma

The error is bounded a priori, from how large the terms can be. A sum that cancels too far for that,
or overflows or underflows on the way, is worked out exactly instead. The bound does not count on
an order of summation inside torch, only on the depth: the most additions that a term passes
through, which is kept small by summing rows first.
"""

from __future__ import annotations

import math
from typing import Final, Generic, NamedTuple

import torch

from harness.subjects.precise.curve import NARROW_LIMIT, WIDE_LIMIT
from harness.subjects.precise.exact import exact_preactivation
from harness.subjects.precise.numbers import Number, Numbers, Pair
from harness.subjects.precise.pairs import two_sum

_U: Final = 2.0**-53
_UPPER_BITS: Final = -(1 << 27)
_TWO_PRODUCTS_ERROR: Final = 2.0**-75
_ROW: Final = 256
#: Elements that each thread of a CPU works on at once, half as many in float64: their copies in
#: binary64 stay in its second-level cache.
_CHUNK: Final = 1 << 16
#: How far off a preactivation may be: relatively, for tanh, and absolutely, for sech^2. This is at
#: most an eighth of an ulp of binary32, a sixteenth of one of binary64; twice that in sech^2.
_NARROW_TOLERANCE: Final = 2.0**-27
_WIDE_TOLERANCE: Final = 2.0**-57
#: What an underflow may cost: of a product in binary32, of an error term, of a term's square.
_LOST_PRODUCT: Final = 2.0**-149
_LOST_ERROR: Final = 2.0**-1072
_LOST_TERM: Final = 2.0**-536


class _Part(NamedTuple, Generic[Number]):
    """A sum hi + lo, off by at most `error`; it is not known where that is infinite or NaN, or
    where lo is NaN."""

    hi: Number
    lo: Number | float
    error: Number


def preactivation(
    numbers: Numbers[Number], inputs: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor
) -> Pair[Number]:
    """sum x_i w_i + b over the last dimension.

    Vectors and a 0-dim bias where the numbers are floats; where they are tensors, shapes (..., n)
    and (...). Off by at most 2^-27, or 2^-57 where the dtype is float64, both relatively and
    absolutely, except where |a| is beyond the limits of `curve`.
    """
    wide = inputs.dtype is torch.float64
    part = _wide if wide else _narrow
    hi = numbers.of(bias)
    lo = error = 0 * hi
    for x, w in zip(in_chunks(inputs), in_chunks(weights), strict=True):
        more = part(numbers, x, w)
        hi, rest = two_sum(hi, more.hi)
        rest = rest + more.lo
        lo = lo + rest
        error = error + more.error + 2 * _U * (abs(rest) + abs(lo))
    hi, lo = two_sum(hi, lo)
    size = abs(hi)
    tolerance, limit = (_WIDE_TOLERANCE, WIDE_LIMIT) if wide else (_NARROW_TOLERANCE, NARROW_LIMIT)
    known = (error <= tolerance * size) & (error <= tolerance) | (size - error > limit)

    def exact(index: tuple[int, ...]) -> tuple[float, float]:
        x, w, b = inputs[index].tolist(), weights[index].tolist(), bias[index].item()
        return exact_preactivation(x, w, b)

    return numbers.settle(known & (lo == lo), (hi, lo), exact)


def in_chunks(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Pieces along the last dimension that a cache holds; on other devices than a CPU, x itself."""
    chunk = (_CHUNK // 2 if x.dtype is torch.float64 else _CHUNK) * torch.get_num_threads()
    if x.shape[-1] <= chunk or x.device.type != "cpu":
        return (x,)
    return torch.split(x, chunk, -1)


def upper_bits(x: torch.Tensor) -> torch.Tensor:
    """A float64 tensor with all but the upper 26 of its 53 bits cleared, of a number of any size.

    What has been cleared is x minus that, exactly, and has at most 27 bits.
    """
    return (x.view(torch.int64) & _UPPER_BITS).view(torch.float64)


def _narrow(numbers: Numbers[Number], x: torch.Tensor, w: torch.Tensor) -> _Part[Number]:
    # Those of 16-bit formats are exact in binary32, too, unless they overflow or underflow.
    products = (x.double() if x.dtype is torch.float32 else x.float()).mul_(w).double()
    size = _size(numbers, products)
    total, depth = _total(products)
    error = size * ((depth + 2) * _U) + x.shape[-1] * _LOST_PRODUCT
    return _Part(numbers.of(total), 0.0, error)


def _wide(numbers: Numbers[Number], x: torch.Tensor, w: torch.Tensor) -> _Part[Number]:
    n = x.shape[-1]
    products, rest = _two_products(x, w)
    size = _size(numbers, products)
    # A power of two from 2 to 4 times the size.
    sigma = numbers.column(numbers.power_of_two(numbers.split_exponent(size)[1] + 1))
    upper = products + sigma
    upper -= sigma
    rest += products.sub_(upper)
    total, depth = _total(rest)
    relative = 4 * (depth + 4) * (n + 1) * _U * _U + _TWO_PRODUCTS_ERROR
    error = size * relative + n * _LOST_ERROR
    return _Part(numbers.of(upper.sum(-1)), numbers.of(total), error)


def _two_products(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(p, e) with p = x w rounded and p + e = x w to 2^-75 of it.

    After Dekker, with halves of 26 and 27 bits cut off without rounding: xh wh and xh wl are exact,
    and so is xh wh - p; xl w and the two sums that follow are rounded, at 2^-26 of the product.
    """
    product = x * w
    xh, wh = upper_bits(x), upper_bits(w)
    error = xh * wh
    error -= product
    error.addcmul_(xh, w - wh)
    return product, error.addcmul_(x - xh, w)


def _size(numbers: Numbers[Number], products: torch.Tensor) -> Number:
    """At least sum |p_i|, by Cauchy and Schwarz: sqrt(n sum p_i^2).

    The norm is off by n + 3 roundings, here less than 2^-20 of it, and by squares that vanished.
    """
    n = products.shape[-1]
    norm = numbers.of(torch.linalg.vector_norm(products, 2, -1))
    return norm * (math.sqrt(n) * (1 + 2.0**-20)) + n * _LOST_TERM


def _total(terms: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The sum over the last dimension, and its depth."""
    n = terms.shape[-1]
    rows = n // _ROW
    if rows < 2:
        return terms.sum(-1), n
    rest = n - rows * _ROW
    whole = terms[..., : rows * _ROW] if rest else terms
    body = whole.view(*whole.shape[:-1], rows, _ROW).sum(-2)
    if rest:
        body[..., :rest] += terms[..., rows * _ROW :]
    return body.sum(-1), rows + _ROW
