"""Dyadic rationals against Python's own rationals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import copysign, inf, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.dyadic import (
    LARGEST_FLOAT,
    Dyadic,
    add,
    compare,
    from_float,
    magnitude,
    multiply,
    negate,
    ratio,
    subtract,
    truncate_down,
    truncate_up,
)
from tests.rationals import binade, fraction

dyadics = st.builds(Dyadic, st.integers(-(2**200), 2**200), st.integers(-300, 300))
finite_floats = st.floats(allow_nan=False, allow_infinity=False)


@given(finite_floats)
@example(5e-324)
@example(-2.2250738585072014e-308)
@example(-2.225073858507201e-308)
@example(1.7976931348623157e308)
def test_from_float_is_the_ratio_python_gives(value: float) -> None:
    """Every finite float decodes to the rational that `as_integer_ratio` names."""
    assert Fraction(*value.as_integer_ratio()) == fraction(from_float(value))


def test_both_zeros_have_mantissa_zero() -> None:
    """The sign of a zero is not the business of a dyadic."""
    assert [0, 0] == [from_float(value).mantissa for value in (0.0, -0.0)]


@pytest.mark.parametrize("value", [inf, -inf, nan], ids=str)
def test_non_finite_floats_have_no_exact_value(value: float) -> None:
    """Infinities and NaN are refused by name."""
    with pytest.raises(ValueError, match=f"{value} is not finite"):
        from_float(value)


OPERATIONS: dict[str, tuple[Callable[[Dyadic, Dyadic], Dyadic], Callable[..., Fraction]]] = {
    "add": (add, lambda left, right: left + right),
    "subtract": (subtract, lambda left, right: left - right),
    "multiply": (multiply, lambda left, right: left * right),
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(dyadics, dyadics)
def test_arithmetic_is_exact(name: str, left: Dyadic, right: Dyadic) -> None:
    """Sums, differences and products equal those of the rationals, whichever exponent is larger."""
    operation, rational = OPERATIONS[name]
    assert rational(fraction(left), fraction(right)) == fraction(operation(left, right))
    assert rational(fraction(right), fraction(left)) == fraction(operation(right, left))


@given(dyadics, dyadics)
def test_compare_orders_like_rationals(left: Dyadic, right: Dyadic) -> None:
    """-1, 0 and 1 say less, equal and greater, also for one number written two ways."""
    a, b = fraction(left), fraction(right)
    assert (a > b) - (a < b) == compare(left, right)
    assert compare(left, Dyadic(left.mantissa << 7, left.exponent - 7)) == 0


@given(dyadics)
def test_negate_and_magnitude(value: Dyadic) -> None:
    """They change the sign and nothing else."""
    assert -fraction(value) == fraction(negate(value))
    assert abs(fraction(value)) == fraction(magnitude(value))


@given(dyadics.filter(lambda value: value.mantissa != 0))
def test_magnitude_exponent_is_the_binade(value: Dyadic) -> None:
    """floor(log2|value|), for negative values too."""
    assert binade(fraction(value)) == value.magnitude_exponent


def test_zero_has_no_magnitude_exponent() -> None:
    """log2(0) is refused with the remedy."""
    with pytest.raises(ValueError, match="zero has no binary exponent; test the mantissa first"):
        _ = Dyadic(0, 5).magnitude_exponent


@given(dyadics.filter(lambda value: value.mantissa != 0), st.integers(1, 220))
@example(Dyadic(2**64 - 1, 0), 63)
@example(Dyadic(-(2**64) + 1, 0), 63)
@example(Dyadic(2**64 + 1, -9), 64)
def test_truncation_is_directed_and_tight(value: Dyadic, bits: int) -> None:
    """Up and down bracket the value within one unit of the last of `bits` bits, or leave it."""
    exact = fraction(value)
    low, high = fraction(truncate_down(value, bits)), fraction(truncate_up(value, bits))
    assert low <= exact <= high
    unit = Fraction(2) ** (binade(exact) - bits + 1)
    assert (low == exact == high) == (exact % unit == 0)
    assert high - low == (0 if exact % unit == 0 else unit)
    assert low % unit == high % unit == 0 or low == high


@given(dyadics, dyadics.filter(lambda value: value.mantissa != 0))
def test_ratio_is_the_rounded_quotient(numerator: Dyadic, denominator: Dyadic) -> None:
    """The quotient is rounded once."""
    expected = fraction(numerator) / fraction(denominator)
    assert float(expected) == ratio(numerator, denominator)


@pytest.mark.parametrize("top", [1, -1], ids=["positive", "negative"])
@pytest.mark.parametrize("bottom", [1, -1], ids=["by a positive", "by a negative"])
def test_ratio_saturates_with_the_sign_of_the_quotient(top: int, bottom: int) -> None:
    """A quotient beyond the largest float is that float, never an infinity."""
    expected = copysign(LARGEST_FLOAT, top * bottom)
    assert expected == ratio(Dyadic(top, 2000), Dyadic(bottom, -2000))


def test_the_largest_float() -> None:
    """Saturation stops at the largest finite binary64 number."""
    assert 2.0**1023 * (2 - 2.0**-52) == LARGEST_FLOAT


def test_ratio_by_zero_is_an_error() -> None:
    """A zero denominator is not hidden."""
    with pytest.raises(ZeroDivisionError):
        ratio(Dyadic(1, 0), Dyadic(0, 0))


def test_repr_reads_as_a_number() -> None:
    """Failure messages show hex mantissa and binary exponent."""
    assert "Dyadic(-0xff * 2**-3)" == repr(Dyadic(-255, -3))
