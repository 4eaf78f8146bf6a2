"""The tests' own rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reference.dyadic import Dyadic
from reference.formats import BFLOAT16, BINARY16
from tests.rationals import binade, dyadic, fraction, members, nearest_member


def test_a_dyadic_and_its_fraction_are_one_number() -> None:
    """Dyadics of either exponent sign, and floats, become the rational they stand for."""
    assert Fraction(-3, 8) == fraction(Dyadic(-3, -3))
    assert Fraction(24) == fraction(Dyadic(3, 3))
    assert Fraction(1, 4) == fraction(0.25)
    assert Dyadic(-3, -3) == dyadic(Fraction(-3, 8))


def test_a_third_is_not_dyadic() -> None:
    """A denominator that is no power of two is refused."""
    with pytest.raises(ValueError, match="1/3 is not dyadic"):
        dyadic(Fraction(1, 3))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(Fraction(1), 0), (Fraction(3, 2), 0), (Fraction(2), 1), (Fraction(-1, 3), -2)],
    ids=str,
)
def test_binade(value: Fraction, expected: int) -> None:
    """floor(log2|value|) holds at powers of two and between them."""
    assert expected == binade(value)


def test_members_start_at_zero_and_end_at_the_largest() -> None:
    """The list of members has the counts and ends the standard gives."""
    values, _ = members(BINARY16)
    assert (0x7C00, Fraction(0), Fraction(1, 2**24), Fraction(65504)) == (
        len(values),
        values[0],
        values[1],
        values[-1],
    )
    values, _ = members(BFLOAT16)
    assert (0x7F80, Fraction(255, 128) * 2**127) == (len(values), values[-1])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(2049), 2048.0),
        (Fraction(2051), 2052.0),
        (Fraction(-2049), -2048.0),
        (Fraction(20490001, 10000), 2050.0),
        (Fraction(65519), 65504.0),
        (Fraction(65520), float("inf")),
        (Fraction(-65520), -float("inf")),
        (Fraction(1, 2**25), 0.0),
        (Fraction(3, 2**25), 2.0**-23),
    ],
    ids=str,
)
def test_nearest_member_of_binary16(value: Fraction, expected: float) -> None:
    """Ties go to even, in the normal and subnormal range and at the overflow threshold."""
    assert expected == nearest_member(value, BINARY16)
