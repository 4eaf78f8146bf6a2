"""The draws that every regime shares."""

import math
from fractions import Fraction
from random import Random

import pytest

from harness.case import DTYPES, Case, Layout
from harness.strategies.drawing import ORDERS, SIZES, Drawing, exact_sum, shifted
from harness.strategies.members import power_ordinal, powers
from harness.strategies.regimes import Regime
from reference.formats import BINARY16, BINARY32
from tests.drawn import preactivation
from tests.rationals import dyadic, fraction

by_dtype = pytest.mark.parametrize("dtype", DTYPES)


@by_dtype
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 40], ids=lambda n: f"n={n}")
def test_terms_sum_to_their_target(dtype: str, n: int) -> None:
    """Within 2^gain ulps, whatever the form, the split and the sign, at both ends of the range."""
    generator = Random(n)
    for _ in range(150):
        drawing = Drawing(generator.randrange, dtype, (n,))
        format = drawing.format
        lowest, highest = (power_ordinal(format, e) for e in (format.emin, format.emax - 5))
        target = generator.choice([lowest, highest, generator.randint(lowest, highest)])
        target *= generator.choice([1, -1])
        goal = Fraction(format.from_ordinal(target))
        inputs, weights, bias = drawing.summing_to(target)
        assert n == len(inputs) == len(weights)
        assert all(map(math.isfinite, (*inputs, *weights, bias)))
        ulp = fraction(format.ulp(dyadic(goal)))
        missed = abs(preactivation(Case(dtype, inputs, weights, bias, 1.0)) - goal) / ulp
        assert missed <= 2**drawing.gain


@by_dtype
def test_one_term_of_a_power_of_two_hits_its_target_exactly(dtype: str) -> None:
    """Then the preactivation carries no rounding error, whatever the order of summation."""
    generator = Random(1)
    exact = 0
    for _ in range(100):
        drawing = Drawing(generator.randrange, dtype, (1,))
        target = generator.randint(*(power_ordinal(drawing.format, e) for e in (-3, 3)))
        inputs, weights, bias = drawing.summing_to(target)
        if bias == 0:
            exact += 1
            assert math.frexp(weights[0])[0] == 0.5
            goal = Fraction(drawing.format.from_ordinal(target))
            assert Fraction(inputs[0]) * Fraction(weights[0]) == goal
    assert 25 < exact < 75


@by_dtype
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 40], ids=lambda n: f"n={n}")
def test_vectors_keep_to_their_window(dtype: str, n: int) -> None:
    """In length, magnitude and sign; equal elements where the layout asks for them."""
    generator = Random(n)
    for positive in [True, False] * 40:
        drawing = Drawing(generator.randrange, dtype, (n,))
        vector = drawing.vector(powers(drawing.format, -2, 1), positive=positive)
        assert n == len(vector)
        assert all(0.25 <= abs(value) <= 2 for value in vector)
        assert not positive or all(value > 0 for value in vector)
        assert drawing.layout is not Layout.EXPANDED or 1 >= len(set(vector))


def test_an_expanded_case_draws_as_much_as_a_contiguous_one() -> None:
    """Else the shrinker would take it for the simpler one."""

    def drawn_by(layout_index: int, n: int) -> int:
        answers = iter([layout_index, *[1] * 200])
        taken = []

        def below(count: int) -> int:
            taken.append(count)
            return min(next(answers), count - 1)

        drawing = Drawing(below, "float32", (n,))
        drawing.vector(powers(BINARY32, -2, 1))
        drawing.zeros()
        return len(taken)

    for n in (1, 2, 3, 8):
        assert drawn_by(0, n) == drawn_by(6, n)


def test_all_zeros_draw_the_simplest() -> None:
    """Smaller integers are simpler: contiguous, no terms, short significands, g = 1."""
    drawing = Drawing(lambda count: 0, "float32", SIZES)
    assert (Layout.CONTIGUOUS, 0, 0, 0, 0) == (
        drawing.layout,
        drawing.n,
        drawing.form,
        drawing.salt,
        drawing.gain,
    )
    assert 1.0 == drawing.gradient()
    assert 1.0 == drawing.value(powers(BINARY32, -3, 3))


@pytest.mark.parametrize(
    ("regime", "least", "most"), [(Regime.LONG, 33, 1024), (Regime.VERY_LONG, 1025, 4096)]
)
def test_long_lengths_reach_every_order_of_magnitude(regime: Regime, least: int, most: int) -> None:
    """From end to end, the longest more rarely, for what they cost."""
    below = Random(3).randrange
    lengths = [Drawing(below, "float32", ORDERS[regime], orders=True).n for _ in range(2000)]
    orders = {(n - 1).bit_length() for n in lengths}
    assert set(range((least - 1).bit_length(), (most - 1).bit_length() + 1)) == orders
    assert least <= min(lengths) <= least * 1.1
    assert most / 1.1 <= max(lengths) <= most


def test_neighbours_stop_at_the_largest_number() -> None:
    """Steps go up and down the number line, through zero, and never to infinity."""
    assert 1 + 2.0**-10 == shifted(BINARY16, 1.0, 1)
    assert 1 - 2.0**-11 == shifted(BINARY16, 1.0, -1)
    assert -(2.0**-24) == shifted(BINARY16, 0.0, -1)
    assert 65504.0 == shifted(BINARY16, 65504.0, 5)
    assert -65504.0 == shifted(BINARY16, -65504.0, -5)


def test_sums_are_exact() -> None:
    """Terms that a float would lose are kept."""
    total = exact_sum([2.0**60, 2.0**-60], [1.0, -1.0], -(2.0**60))
    assert -Fraction(1, 2**60) == fraction(total)
