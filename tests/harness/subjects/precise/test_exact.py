"""The exact preactivation, and what it makes of what is not finite."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.subjects.precise.exact import exact_preactivation

finite = st.floats(allow_nan=False, allow_infinity=False)
MOST = float.fromhex("0x1.fffffffffffffp+1023")


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(finite, finite), max_size=6), finite)
def test_both_parts_are_rounded_once(terms: list[tuple[float, float]], bias: float) -> None:
    """hi is the exact sum rounded, lo what is left, rounded; beyond the format, its end."""
    total = sum((Fraction(x) * Fraction(w) for x, w in terms), Fraction(bias))
    hi, lo = exact_preactivation([x for x, _ in terms], [w for _, w in terms], bias)
    try:
        expected = float(total)
    except OverflowError:
        expected = math.copysign(MOST, 1 if total > 0 else -1)
        assert (expected, 0.0) == (hi, lo)
    else:
        assert (expected, float(total - Fraction(expected))) == (hi, lo)


def test_the_least_products() -> None:
    """Two of the smallest products make what is half of nothing in binary64, and no less."""
    tiny = 5e-324
    assert (0.0, 0.0) == exact_preactivation([tiny], [tiny], 0.0)
    assert (tiny, 0.0) == exact_preactivation([tiny, tiny], [0.5, 0.5], 0.0)
    assert (1.0, tiny) == exact_preactivation([tiny, 1.0], [1.0, 1.0], 0.0)


@pytest.mark.parametrize(
    ("inputs", "weights", "bias", "expected"),
    [
        pytest.param([math.inf], [0.0], 0.0, math.nan, id="inf * 0 -> nan"),
        pytest.param([math.inf, 1.0], [1.0, -math.inf], 0.0, math.nan, id="inf - inf -> nan"),
        pytest.param([math.inf, MOST], [1.0, -MOST], 0.0, math.inf, id="inf - max*max -> inf"),
        pytest.param([MOST], [MOST], -math.inf, -math.inf, id="max*max - inf -> -inf"),
        pytest.param([math.nan], [0.0], 0.0, math.nan, id="nan * 0 -> nan"),
        pytest.param([1.0], [1.0], math.nan, math.nan, id="1 + nan -> nan"),
    ],
)
def test_not_finite(
    inputs: list[float], weights: list[float], bias: float, expected: float
) -> None:
    """IEEE 754 on the exact terms: a product that overflows is not infinite."""
    hi, lo = exact_preactivation(inputs, weights, bias)
    assert 0.0 == lo
    assert expected == hi or (math.isnan(expected) and math.isnan(hi))
