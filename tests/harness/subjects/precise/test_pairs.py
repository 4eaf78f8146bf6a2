"""Double-double arithmetic against exact rationals."""

from __future__ import annotations

from fractions import Fraction

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.subjects.precise import pairs

U = Fraction(1, 2**53)
#: Neither their products nor the errors of those underflow or overflow.
numbers = st.floats(2.0**-400, 2.0**400).flatmap(lambda x: st.sampled_from([x, -x]))
doubles = st.tuples(numbers, st.floats(-(2.0**-54), 2.0**-54)).map(
    lambda drawn: pairs.fast_two_sum(drawn[0], drawn[0] * drawn[1])
)
exactly = settings(deadline=None, max_examples=200)


def exact(pair: tuple[float, float]) -> Fraction:
    """The number that a pair stands for."""
    return Fraction(pair[0]) + Fraction(pair[1])


def assert_within(bound: int, expected: Fraction, pair: tuple[float, float]) -> None:
    """Off by at most `bound` u^2 of the size."""
    assert abs(exact(pair) - expected) <= bound * U * U * abs(expected)


@exactly
@given(numbers, numbers)
def test_sums_and_products_without_an_error(a: float, b: float) -> None:
    """two_sum and two_product lose nothing; their head is the rounded result."""
    assert Fraction(a) + Fraction(b) == exact(pairs.two_sum(a, b))
    assert Fraction(a) * Fraction(b) == exact(pairs.two_product(a, b))
    assert (a + b, a * b) == (pairs.two_sum(a, b)[0], pairs.two_product(a, b)[0])


@exactly
@given(numbers)
def test_halves(a: float) -> None:
    """Both halves have at most 26 bits and add up to the whole."""
    high, low = pairs.split(a)
    assert Fraction(a) == exact((high, low))
    for half in (high, low):
        numerator = abs(Fraction(half).numerator)
        assert (numerator >> max(0, (numerator & -numerator).bit_length() - 1)).bit_length() <= 26


@exactly
@given(doubles, doubles)
def test_bounds_of_the_operations(a: tuple[float, float], b: tuple[float, float]) -> None:
    """Sum, product and quotient are within the bounds that their sources prove."""
    assert_within(4, exact(a) + exact(b), pairs.add(a, b))
    assert_within(2, exact(a) + Fraction(b[0]), pairs.plus(a, b[0]))
    assert_within(5, exact(a) * exact(b), pairs.multiply(a, b))
    assert_within(15, exact(a) / exact(b), pairs.divide(a, b))


def test_tensors_give_what_floats_give() -> None:
    """The same formula of tensors: the same bits."""
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(2, 2, 500, dtype=torch.float64, generator=generator)
    a[1] *= 2.0**-55
    b[1] *= 2.0**-55
    a, b = (pairs.fast_two_sum(*each) for each in (a, b))
    for operation in (pairs.add, pairs.multiply, pairs.divide):
        found = operation(a, b)
        expected = [
            operation(*each)
            for each in zip(
                zip(*(part.tolist() for part in a), strict=True),
                zip(*(part.tolist() for part in b), strict=True),
                strict=True,
            )
        ]
        assert expected == list(zip(*(part.tolist() for part in found), strict=True))
