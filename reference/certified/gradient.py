"""The raw operation dy * (1 - y^2) of a stored output y, enclosed; exact where pairs can hold it.

y is a float, so the value is rational and may be a float itself or a tie; `Enclosures` with radius
0 keep such values exact. A radius that is not 0 is twice the size of the bits left out.
"""

from __future__ import annotations

import numpy as np

from reference.certified.doubledouble import Float64, fast_two_sum, two_square, two_sum
from reference.certified.enclosures import Enclosures, enclose, significand, times

_TINY = 2.0**-100
_HUGE = 2.0**60


def tanh_gradient(y: Float64, upstream_gradient: Float64) -> Enclosures:
    """Enclose dy * (1 - y^2), elementwise, for binary64 arrays of one length."""
    return times(one_minus_square(y), upstream_gradient)


def one_minus_square(y: Float64) -> Enclosures:
    """Enclose 1 - y^2: exact where it fits a pair, else within 2^-104. +0 for y = +-1.

    For 2^-100 <= |y| < 2^60 each step is an error-free transformation: y^2 = p + e, 1 - p = h + l,
    l - e = t + t2, h + t = head + tail; only t2 is left out. (h = 0 only for |y| = 1: the floats
    next to 1 have squares at least 2^-52 away.) Below that range the loss y^2 < 2^-200 becomes an
    open interval under 1; above it 1/y^2 <= 2^-120 becomes part of the radius around y^2.
    """
    magnitude = np.abs(y)
    kind = np.where(np.isfinite(y), np.where(magnitude > 1.0, -1.0, 1.0), 1.0 - y * y)
    kind[magnitude == 1.0] = 0.0
    ordinary = np.isfinite(y) & (magnitude != 1.0)
    inside = np.where(ordinary & (magnitude >= _TINY) & (magnitude < _HUGE), magnitude, 0.5)
    p, e = two_square(inside)
    high, low = two_sum(1.0, -p)
    low, left_out = two_sum(low, -e)
    head, tail = fast_two_sum(high, low)
    tail = np.where(head < 0.0, -tail, tail)
    head = np.abs(head)
    radius = 2.0 * np.abs(left_out)
    scale = np.zeros(y.shape, np.int64)
    zero = magnitude == 0.0
    head[zero], tail[zero], radius[zero] = 1.0, 0.0, 0.0
    tiny = (magnitude < _TINY) & ~zero
    head[tiny], tail[tiny], radius[tiny] = 1.0, -(2.0**-201), 2.0**-201
    huge = ordinary & (magnitude >= _HUGE)
    if huge.any():
        m, exponent = significand(magnitude[huge])
        head[huge], tail[huge] = two_square(m)
        radius[huge] = 2.0**-119
        scale[huge] = 2 * exponent
    return enclose(head, tail, radius, scale, kind)
