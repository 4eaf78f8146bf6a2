"""Exact sums and products: rationals where finite, IEEE 754 where not."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.dyadic import Dyadic
from reference.exact import Exact, dot, exact, one_minus_square, product, sums
from tests.rationals import fraction

floats = st.floats(allow_nan=False, allow_infinity=False)
TINY, HUGE = 5e-324, 1.7976931348623157e308


def same(expected: float, actual: Exact) -> bool:
    """Whether an exact value is the float `expected`, the sign of zero and NaN included."""
    if isinstance(actual, Dyadic):
        return expected == fraction(actual) != 0
    if isnan(expected):
        return isnan(actual)
    return (expected, copysign(1, expected)) == (actual, copysign(1, actual))


@pytest.mark.parametrize("value", [1.5, -TINY, HUGE, 0.0, -0.0, inf, -inf, nan], ids=str)
def test_exact_keeps_what_the_float_is(value: float) -> None:
    """Finite non-zero floats become dyadics, the special values stay themselves."""
    assert same(value, exact(value))
    assert isinstance(exact(value), Dyadic) == (value in (1.5, -TINY, HUGE))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Fraction(3)),
        (2**2000 + 1, Fraction(2**2000 + 1)),
        (np.int64(2**53 + 1), Fraction(2**53 + 1)),
        (np.uint8(255), Fraction(255)),
        (np.float16(0.1), Fraction(1638, 2**14)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.float64(0.1), Fraction(0.1)),
        (True, Fraction(1)),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_other_numbers_stand_for_themselves(value: float, expected: Fraction) -> None:
    """Integers of any size and NumPy scalars are taken whole: 2^53 + 1 is not rounded."""
    actual = exact(value)
    assert isinstance(actual, Dyadic)
    assert expected == fraction(actual)


@pytest.mark.parametrize(
    "zero", [0, np.int32(0), False, np.float32(0)], ids=lambda z: type(z).__name__
)
def test_other_zeros_are_positive_zero(zero: float) -> None:
    """A zero without a sign is +0."""
    assert same(0.0, exact(zero))


def test_a_number_that_no_float_holds_is_refused() -> None:
    """A long double with more bits than binary64 would be rounded in silence."""
    value = np.longdouble(1) + np.longdouble(2) ** -60
    if value == 1:
        pytest.skip("long double is no wider than binary64 here")
    with pytest.raises(ValueError, match="is no binary64 number; round it to one first"):
        exact(value)
    assert same(1.0, exact(np.longdouble(1)))
    assert same(nan, exact(np.longdouble(nan)))


@given(floats, floats)
def test_products_are_exact(left: float, right: float) -> None:
    """Finite factors give the rational product, however small, with the sign of a zero."""
    actual = product(exact(left), exact(right))
    rational = Fraction(left) * Fraction(right)
    if rational:
        assert isinstance(actual, Dyadic) and rational == fraction(actual)
    else:
        assert same(copysign(0.0, copysign(1, left) * copysign(1, right)), actual)


SPECIAL = [0.0, -0.0, inf, -inf, nan, TINY, -TINY, HUGE, -HUGE]


@pytest.mark.parametrize("left", SPECIAL, ids=str)
@pytest.mark.parametrize("right", SPECIAL, ids=str)
def test_special_products_are_those_of_ieee_754(left: float, right: float) -> None:
    """inf * 0 is NaN and inf * tiny is inf; finite products never underflow or overflow."""
    actual = product(exact(left), exact(right))
    finite = {TINY, -TINY, HUGE, -HUGE}
    if left in finite and right in finite:
        assert isinstance(actual, Dyadic)
    else:
        assert same(left * right, actual)


@given(st.lists(floats, max_size=12), floats)
def test_sums_are_exact_in_any_order(values: list[float], extra: float) -> None:
    """The rational sum comes out, also where it cancels to less than an ulp of the terms."""
    values = [*values, *(-each for each in values), extra]
    actual = sums(map(exact, values)).total
    if extra:
        assert isinstance(actual, Dyadic) and Fraction(extra) == fraction(actual)
    else:
        only_negative = all(each == 0 and copysign(1, each) < 0 for each in values)
        assert same(-0.0 if only_negative else 0.0, actual)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], -0.0),
        ([-0.0, -0.0], -0.0),
        ([-0.0, 0.0], 0.0),
        ([0.0, -0.0], 0.0),
        ([1.0, -1.0], 0.0),
        ([1.0, -1.0, -0.0], 0.0),
        ([-0.0, TINY], TINY),
        ([HUGE, inf], inf),
        ([-HUGE, -inf, -HUGE], -inf),
        ([inf, -inf], nan),
        ([inf, inf], inf),
        ([nan, 1.0], nan),
        ([1.0, nan, inf], nan),
    ],
    ids=str,
)
def test_special_sums_are_those_of_ieee_754(terms: list[float], expected: float) -> None:
    """Signed zeros, infinities and NaN combine as round-to-nearest addition combines them."""
    assert same(expected, sums(map(exact, terms)).total)


@given(st.lists(st.tuples(floats, floats), max_size=8), floats)
def test_dot_is_the_rational_dot_product(pairs: list[tuple[float, float]], bias: float) -> None:
    """sum(x w) + b, sum|x w| + |b| and the two sides of both, with no rounding error."""
    inputs = [exact(x) for x, _ in pairs]
    weights = [exact(w) for _, w in pairs]
    found = dot(inputs, weights, exact(bias))
    products = [Fraction(x) * Fraction(w) for x, w in pairs]
    expected = sum(products, Fraction(bias))
    value = found.total
    assert expected == (fraction(value) if isinstance(value, Dyadic) else value)
    terms = [*products, Fraction(bias)]
    assert sum(map(abs, terms)) == fraction(found.absolute)
    assert sum(term for term in terms if term > 0) == fraction(found.positive)
    assert sum(-term for term in terms if term < 0) == fraction(found.negative)


@pytest.mark.parametrize(
    ("inputs", "weights", "bias", "expected"),
    [
        ([], [], -0.0, -0.0),
        ([], [], 0.0, 0.0),
        ([inf], [0.0], 1.0, nan),
        ([inf], [TINY], -HUGE, inf),
        ([inf, 1.0], [1.0, -inf], 0.0, nan),
        ([1.0], [1.0], -inf, -inf),
        ([-0.0], [1.0], -0.0, -0.0),
        ([HUGE, HUGE], [HUGE, -HUGE], 0.0, 0.0),
    ],
    ids=str,
)
def test_special_dot_products(
    inputs: list[float], weights: list[float], bias: float, expected: float
) -> None:
    """The empty sum is the bias, zero times infinity poisons, and nothing finite overflows."""
    assert same(expected, dot([*map(exact, inputs)], [*map(exact, weights)], exact(bias)).total)


def test_the_absolute_sum_leaves_the_infinite_terms_out() -> None:
    """S counts only the terms that can round."""
    vectors = [exact(inf), exact(-2.0)], [exact(1.0), exact(3.0)]
    assert Fraction(6) == fraction(dot(*vectors, exact(nan)).absolute)


def test_unequal_lengths_are_an_error() -> None:
    """The message gives both lengths and the remedy."""
    with pytest.raises(
        ValueError, match="inputs has 2 elements and weights has 1; give one weight"
    ):
        dot([exact(1.0)] * 2, [exact(1.0)], 0.0)


@given(floats)
def test_one_minus_square_is_rational(value: float) -> None:
    """1 - y^2 is exact for |y| far over 1 and far under an ulp of 1."""
    actual = one_minus_square(exact(value))
    expected = 1 - Fraction(value) ** 2
    assert expected == (fraction(actual) if isinstance(actual, Dyadic) else actual)


@pytest.mark.parametrize(
    ("value", "expected"), [(1.0, 0.0), (-1.0, 0.0), (inf, -inf), (-inf, -inf), (nan, nan)], ids=str
)
def test_special_one_minus_square(value: float, expected: float) -> None:
    """1 - 1 is +0, and infinity squared is taken from 1."""
    assert same(expected, one_minus_square(exact(value)))
