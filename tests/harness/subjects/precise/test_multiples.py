"""d * m of every size, against exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.subjects.precise.curve import Slope
from harness.subjects.precise.multiples import value, wide_multiples
from harness.subjects.precise.numbers import FLOATS, TENSORS

sized = st.integers(-1074, 1023).flatmap(
    lambda e: st.floats(1, 2, exclude_max=True).map(lambda m: math.ldexp(m, e))
)
signs = st.sampled_from([1, -1])
slopes = st.builds(
    lambda sign, hi, part, exponent: Slope(sign * hi, hi * part * 2.0**-53, float(exponent)),
    signs,
    st.floats(0.25, 7.9),
    st.floats(-0.49, 0.49),
    st.integers(-3500, 1020),
)
vectors = st.lists(st.tuples(signs, st.one_of(sized, st.just(0.0))), min_size=1, max_size=4)


@settings(deadline=None, max_examples=200)
@given(slopes, vectors)
def test_multiples_are_faithful(slope: Slope[float], drawn: list[tuple[int, float]]) -> None:
    """Whatever else is in the vector: to 0.51 ulps, and 0.9 where subnormal; signs of zeros too."""
    m = [sign * size for sign, size in drawn]
    d = (Fraction(slope.hi) + Fraction(slope.lo)) * Fraction(2) ** int(slope.exponent)
    result = wide_multiples(FLOATS, slope, torch.tensor(m, dtype=torch.float64)).tolist()
    for each, found in zip(m, result, strict=True):
        exact = d * Fraction(each)
        assert math.copysign(1, slope.hi) * math.copysign(1, each) == math.copysign(1, found)
        try:
            ulp = Fraction(math.ulp(float(exact)))
        except OverflowError:
            assert math.isinf(found)
            continue
        if not math.isinf(found):
            bound = 0.9 if abs(exact) < Fraction(2) ** -1022 else 0.51
            assert abs(Fraction(found) - exact) <= Fraction(bound) * ulp
        else:
            assert abs(exact) > Fraction(2) ** 1024 - Fraction(2) ** 970


def test_the_least_normal_results_are_no_worse() -> None:
    """Where a term of the formula would underflow, but not the result: to 0.51 ulps."""
    slope = Slope(1.3, 2.0**-54, 0.0)
    d = Fraction(slope.hi) + Fraction(slope.lo)
    generator = torch.Generator().manual_seed(1)
    m = (1 + torch.rand(500, dtype=torch.float64, generator=generator)) * 2.0**-1022
    for each, found in zip(m.tolist(), wide_multiples(FLOATS, slope, m).tolist(), strict=True):
        exact = d * Fraction(each)
        ulp = Fraction(math.ulp(float(exact)))
        assert abs(Fraction(found) - exact) <= Fraction(0.51) * ulp


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(slopes, vectors.map(lambda v: [s * x for s, x in v][:1])), min_size=1))
def test_a_batch_is_its_rows(rows: list[tuple[Slope[float], list[float]]]) -> None:
    """The same bits, for the vectors and for d itself."""
    batch = Slope(*torch.tensor([slope for slope, _ in rows], dtype=torch.float64).unbind(1))
    m = torch.tensor([row for _, row in rows], dtype=torch.float64)
    found = wide_multiples(TENSORS, batch, m)
    for (slope, _), row, together in zip(rows, m, found, strict=True):
        alone = wide_multiples(FLOATS, slope, row)
        torch.testing.assert_close(together, alone, rtol=0, atol=5e-324)
    assert [value(FLOATS, slope) for slope, _ in rows] == value(TENSORS, batch).tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("side", [1, -1], ids=["above a tie", "below a tie"])
def test_sixteen_bits_are_rounded_once(dtype: torch.dtype, side: int) -> None:
    """Next to a tie, and nearer than binary32 can tell: by way of binary32 it rounds to even."""
    eps = torch.finfo(dtype).eps
    for start in (1.0, 1.0 + eps):
        x = start + eps / 2 + side * 2.0**-40
        expected = start + eps if side > 0 else start
        like = torch.zeros((), dtype=dtype)
        assert expected == FLOATS.tensor(x, like).item()
        assert -expected == FLOATS.tensor(-x, like).item()
        both = TENSORS.tensor(torch.tensor([x, -x], dtype=torch.float64), like)
        assert [expected, -expected] == both.tolist()
