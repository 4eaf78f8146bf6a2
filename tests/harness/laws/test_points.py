"""Where on the curve a case lies."""

from __future__ import annotations

import math

import pytest

from harness.case import DTYPES, Case
from harness.laws.points import preactivation
from harness.strategies import Regime
from tests.drawn import neuron_cases
from tests.drawn import preactivation as exact


@pytest.mark.parametrize("dtype", DTYPES)
def test_near_the_exact_sum(dtype: str) -> None:
    """Within two ulps of the format, and a member of it."""
    for case in neuron_cases(dtype, Regime.CURVED, 60):
        a = preactivation(case)
        assert case.format.contains(a)
        assert abs(a - exact(case)) <= 2 ** (2 - case.format.precision) * abs(exact(case))


def test_no_place_on_the_curve() -> None:
    """Infinities, NaN, and sums beyond the format's range."""
    huge = 2.0**1023
    for x, w in ((math.inf, 1.0), (math.inf, 0.0), (math.nan, 1.0), (huge, 4.0)):
        assert math.isnan(preactivation(Case("float64", (x,), (w,), 0.0, 1.0)))
    case = Case("float64", (huge, -huge), (4.0, 4.0), 0.0, 1.0)
    assert math.isnan(preactivation(case))
    case = Case("float16", (32768.0, 32768.0), (1.0, 1.0), 0.0, 1.0)
    assert math.isnan(preactivation(case))
