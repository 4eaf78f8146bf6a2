"""tanh and the slope against mpmath, for floats and for tensors."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.subjects.precise import curve
from harness.subjects.precise.numbers import FLOATS, TENSORS

#: Of every size at which something happens: tiny, where a^3 counts, curved, and up to the limit.
sizes = st.one_of(
    st.floats(5e-324, 2.0**-1000),
    st.floats(2.0**-40, 2.0**-20),
    st.floats(2.0**-10, 3.0),
    st.floats(3.0, 25.0),
    st.floats(25.0, 1000.0),
)
signed = sizes.flatmap(lambda size: st.sampled_from([size, -size]))
gradients = st.floats(2.0**-1000, 2.0**1000).flatmap(lambda g: st.sampled_from([g, -g]))
ENDS = (0.0, -0.0, 5e-324, 2.0**-30, 300.0, 301.0, 1100.0, 1101.0, 1e308, math.inf, math.nan)


@settings(deadline=None, max_examples=150)
@given(signed, st.floats(-0.49, 0.49), gradients)
def test_wide(a: float, part: float, g: float) -> None:
    """tanh is off by less than 0.51 ulps of binary64, the slope by a relative 2^-66, and a part
    below the last bit of the preactivation counts."""
    lo = part * math.ulp(a) if abs(a) > 1e-290 else 0.0
    y, slope = curve.wide(FLOATS, (a, lo), g)
    with mpmath.workprec(400):
        exact = mpmath.mpf(a) + mpmath.mpf(lo)
        expected = mpmath.tanh(exact)
        assert abs(y - expected) <= 0.51 * math.ulp(float(expected))
        d = mpmath.ldexp(mpmath.mpf(slope.hi) + mpmath.mpf(slope.lo), int(slope.exponent))
        assert abs(d / (g / mpmath.cosh(exact) ** 2) - 1) <= 2.0**-66
    assert 0.25 <= abs(slope.hi) < 8


@settings(deadline=None, max_examples=150)
@given(signed.filter(lambda a: abs(a) <= curve.NARROW_LIMIT), st.floats(2.0**-100, 2.0**100))
def test_narrow(a: float, g: float) -> None:
    """Both are off by a relative 2^-43 at most."""
    y, d = curve.narrow(FLOATS, a, g)
    with mpmath.workprec(400):
        assert abs(y - mpmath.tanh(a)) <= 2.0**-43 * abs(mpmath.tanh(a))
        assert abs(d / (g / mpmath.cosh(mpmath.mpf(a)) ** 2) - 1) <= 2.0**-43


@pytest.mark.parametrize("g", [0.0, -0.0, 1.5, -1e300, 5e-324, math.inf, math.nan])
@pytest.mark.parametrize("a", [*ENDS, *(-end for end in ENDS)])
def test_at_the_ends(a: float, g: float) -> None:
    """Signs, infinities and NaN are as IEEE 754 has them for the exact tanh and sech^2."""
    narrow_y, narrow_d = curve.narrow(FLOATS, a, g)
    wide_y, slope = curve.wide(FLOATS, (a, 0.0), g)
    for y in (narrow_y, wide_y):
        assert math.isnan(a) == math.isnan(y)
        assert math.isnan(a) or math.copysign(1, a) == math.copysign(1, y)
        assert not abs(a) >= 300 or abs(y) == 1
        assert a != 0 or y == 0
    # Between 0 and infinity sech^2 is positive, however small.
    exact = g * (0.0 if math.isinf(a) else math.nan if math.isnan(a) else 1.0)
    for d in (slope.hi, narrow_d):
        assert math.isnan(exact) == math.isnan(d)
        assert math.isinf(exact) == math.isinf(d)
        assert math.isnan(exact) or math.copysign(1, exact) == math.copysign(1, d)
    assert (exact == 0) == (slope.hi == 0)


def test_tensors_give_what_floats_give() -> None:
    """The same formulas of a tensor: the same bits where no library function is called."""
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(500, dtype=torch.float64, generator=generator) * 8
    a[: len(ENDS)] = torch.tensor(ENDS, dtype=torch.float64)
    lo, g = a * 2.0**-55, torch.randn(500, dtype=torch.float64, generator=generator)
    lo[~lo.isfinite()] = 0.0
    y, slope = curve.wide(TENSORS, (a, lo), g)
    rows = zip(*(part.tolist() for part in (y, *slope)), strict=True)
    arguments = zip(*(part.tolist() for part in (a, lo, g)), strict=True)
    for (hi, low, upstream), found in zip(arguments, rows, strict=True):
        expected_y, expected = curve.wide(FLOATS, (hi, low), upstream)
        for left, right in zip((expected_y, *expected), found, strict=True):
            assert left == right or (math.isnan(left) and math.isnan(right))
    torch.testing.assert_close(curve.wide_tanh(TENSORS, (a, lo)), y, rtol=0, atol=0, equal_nan=True)
