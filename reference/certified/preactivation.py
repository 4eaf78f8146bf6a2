"""Preactivations of batches of neurons as double-doubles with a bound on what they lack.

    a_b = sum_i x_bi w_bi + b_b        inputs, weights (B, n), bias (B,)

Products are exact as pairs (in the formats up to binary32 as single binary64 numbers). Pairwise
sums keep each level's rounding errors, which two_sum gives exactly; only the sum of those errors
is rounded (the idea of Ogita, Rump and Oishi, "Accurate sum and dot product", 2005, on a tree).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified.doubledouble import Float64, two_product, two_sum
from reference.formats import Format

#: Below it two_product may underflow, losing under 2^-1072 (five roundings of at most 2^-1075). A
#: thousand times that leaves room for what is lost when it is multiplied itself.
_LEAST_PRODUCT = 2.0**-960
_LOST_IN_PRODUCT = 2.0**-1062
#: Beyond it terms may overflow in a sum or in their parts.
_LARGEST_TERM = 2.0**960


class Preactivations(NamedTuple):
    """a = high + low within +-uncertainty (0 where the pair is exact); high = fl(high + low).

    Non-finite values and the signs of exact zeros are IEEE 754's. `unknown` marks neurons whose
    products leave the range in which the pair means anything.
    """

    high: Float64
    low: Float64
    uncertainty: Float64
    unknown: npt.NDArray[np.bool_]


def preactivations(
    inputs: Float64, weights: Float64, bias: Float64, format: Format
) -> Preactivations:
    """The preactivations of B neurons with members of `format` as inputs.

    The errors that two_sum and two_product return are exact, so a = root + sum(errors). m numbers
    summed in any order lose at most (m - 1) u / (1 - (m - 1) u) times the sum of their magnitudes
    (Higham, Accuracy and Stability, eq. 4.4); m <= 2n + 2 here. Twice that covers the rounded sum
    of the magnitudes. A single error that is not zero is not rounded at all.
    """
    count = inputs.shape[1]
    finite = np.isfinite(bias) & np.isfinite(inputs).all(axis=1) & np.isfinite(weights).all(axis=1)
    x, w, b = inputs, weights, bias
    if not finite.all():
        row = finite[:, np.newaxis]
        x, w, b = np.where(row, x, 0.0), np.where(row, w, 0.0), np.where(finite, b, 0.0)
    if format.precision <= 24:
        products = x * w
        errors = np.zeros_like(b)
        magnitudes = np.zeros_like(b)
        inexact = np.zeros(b.shape, np.int64)
        lost_products = np.zeros(b.shape, np.int64)
        unknown = np.abs(b) < 0.0
    else:
        products, product_errors = two_product(
            np.ascontiguousarray(x, np.float64), np.ascontiguousarray(w, np.float64)
        )
        size = np.abs(products)
        # Splitting a factor close to the largest float may round it to infinity.
        lost = (size > _LARGEST_TERM) | ~np.isfinite(product_errors)
        unknown = np.any(lost, axis=1) | (np.abs(b) > _LARGEST_TERM)
        if unknown.any():
            products[unknown] = 0.0
            product_errors[unknown] = 0.0
            b = np.where(unknown, 0.0, b)
        lost = (size < _LEAST_PRODUCT) & (x != 0.0) & (w != 0.0)
        lost_products = np.count_nonzero(lost, axis=1)
        errors = product_errors.sum(axis=1)
        magnitudes = np.abs(product_errors).sum(axis=1)
        inexact = np.count_nonzero(product_errors, axis=1)

    level = np.concatenate([products, b[:, np.newaxis]], axis=1)
    negative_zero = (level == 0.0).all(axis=1) & np.signbit(level).all(axis=1)
    while level.shape[1] > 1:
        half = level.shape[1] // 2
        sums, lost_bits = two_sum(level[:, :half], level[:, half : 2 * half])
        errors += lost_bits.sum(axis=1)
        magnitudes += np.abs(lost_bits).sum(axis=1)
        inexact += np.count_nonzero(lost_bits, axis=1)
        level = (
            sums if level.shape[1] == 2 * half else np.concatenate([sums, level[:, -1:]], axis=1)
        )
    high, low = two_sum(level[:, 0], errors)
    uncertainty = np.where(inexact > 1, magnitudes * ((2 * count + 4) * 2.0**-52), 0.0)
    uncertainty += lost_products * _LOST_IN_PRODUCT
    high = np.where((high == 0.0) & negative_zero, -0.0, high)
    if not finite.all():
        high = np.where(finite, high, _special_sum(inputs, weights, bias))
        low = np.where(finite, low, 0.0)
        uncertainty = np.where(finite, uncertainty, 0.0)
        unknown &= finite
    unknown |= (high == 0.0) & (uncertainty > 0.0)
    return Preactivations(high, low, uncertainty, unknown)


def _special_sum(inputs: Float64, weights: Float64, bias: Float64) -> Float64:
    """The sums where a non-finite number takes part: finite non-zero numbers count as their signs,
    so that no product or sum of them overflows."""
    total: Float64 = (_sign_of_finite(inputs) * _sign_of_finite(weights)).sum(axis=1)
    return total + _sign_of_finite(bias)


def _sign_of_finite(values: Float64) -> Float64:
    return np.where(np.isfinite(values), np.sign(values), values)
