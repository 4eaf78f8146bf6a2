"""Bounds in short numbers, never below what they bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference.dyadic import Dyadic
from reference.outward import half, larger, total, twice, up
from tests.rationals import fraction

dyadics = st.builds(Dyadic, st.integers(0, 2**200), st.integers(-300, 300))


@given(dyadics)
def test_up_is_short_and_not_below(value: Dyadic) -> None:
    """64 bits, and less than a relative 2^-63 above."""
    bound = up(value)
    assert bound.mantissa.bit_length() <= 64 or bound.mantissa == 1 << 64
    assert fraction(value) <= fraction(bound) <= fraction(value) * (1 + fraction(2.0**-63))


@given(st.lists(dyadics, max_size=6))
def test_a_total_is_short_and_not_below(terms: list[Dyadic]) -> None:
    """Of any number of terms, none included."""
    bound = total(*terms)
    assert bound.mantissa.bit_length() <= 65
    exact = sum(map(fraction, terms))
    assert exact <= fraction(bound) <= exact * (1 + fraction(2.0**-60))


@given(dyadics, dyadics)
def test_the_larger_of_two(left: Dyadic, right: Dyadic) -> None:
    """By value, whatever their exponents."""
    assert max(fraction(left), fraction(right)) == fraction(larger(left, right))


@given(dyadics)
def test_half_and_twice_are_exact(value: Dyadic) -> None:
    """They change the exponent alone."""
    assert fraction(value) / 2 == fraction(half(value))
    assert fraction(value) * 2 == fraction(twice(value))
