"""Errors of many multiples at a time against the errors of each alone."""

from __future__ import annotations

from math import inf, ldexp, nan
from random import Random

import numpy as np
import pytest

from reference.dyadic import Dyadic, from_float
from reference.exact import Exact, exact
from reference.formats import BINARY32, FORMATS, Format
from reference.measure import error
from reference.multiples import Errors, errors, float_and_exponent, scaled
from reference.neuron import sech2
from reference.real import Real
from tests.rationals import fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def found(d: Real, multipliers: list[Exact], computed: list[float], format: Format) -> Errors:
    """The errors of `computed` as d times the multipliers."""
    return errors(d.first_enclosure.lower, scaled(multipliers), np.array(computed), format)


def member(random: Random, format: Format, low: int, high: int) -> float:
    """A normal member of `format` between 2^low and 2^high in magnitude."""
    value = ldexp(random.uniform(1, 1.99), random.randint(low, high - 1))
    return random.choice([-1, 1]) * format.round(from_float(value))


def computed_near(random: Random, exact_value: Real, format: Format) -> float:
    """The exact value rounded, up to five floats beside it, or something else altogether."""
    rounded = exact_value.rounded(format)
    if random.random() < 0.1:
        return random.choice([0.0, -rounded, 2 * rounded, member(random, format, -9, 9)])
    if abs(rounded) == inf:
        return rounded
    limit = (1 << format.width - 1) - (1 << format.precision - 1)
    ordinal = format.ordinal(rounded) + random.randint(-5, 5)
    return format.from_ordinal(max(-limit, min(limit, ordinal)))


def require_equal(
    d: Real, multipliers: list[Exact], computed: list[float], format: Format
) -> Errors:
    """Whatever is decided is what `measure` says."""
    result = found(d, multipliers, computed, format)
    for index in np.flatnonzero(result.decided):
        measured = error(d.times(multipliers[index]), computed[index], format)
        assert measured is not None
        assert measured.ulp_exponent == result.ulp_exponents[index]
        assert measured.correct == result.correct[index]
        assert measured.faithful == result.faithful[index]
        assert result.ulps[index] == pytest.approx(measured.ulps, rel=2**-50, abs=2**-40)
    return result


@each_format
@pytest.mark.parametrize("seed", range(4))
def test_what_is_decided_is_what_one_alone_is(format: Format, seed: int) -> None:
    """From subnormal to overflowing products, from next door to far away; few stay undecided."""
    random = Random(f"{format.name} {seed}")
    decided = total = 0
    for _ in range(40):
        a = random.choice(
            [random.uniform(-1, 1), random.uniform(-25, 25), random.uniform(-500, 500)]
        )
        d = sech2(exact(a)).times(exact(member(random, format, -14, 15) * 0.9))
        multipliers = [
            exact(member(random, format, *random.choice([(-5, 5), (format.emin, format.emax)])))
            for _ in range(20)
        ]
        computed = [computed_near(random, d.times(m), format) for m in multipliers]
        result = require_equal(d, multipliers, computed, format)
        # Where the exact value vanishes, the floats beside 0 are 1 ulp away to the last bit.
        sizes = np.array([abs(d.times(m).rounded(format)) for m in multipliers])
        largest = format.round(format.largest_finite)
        ordinary = (0 < sizes) & (sizes < largest) & np.isfinite(computed)
        decided += int(result.decided[ordinary].sum())
        total += int(ordinary.sum())
    assert decided > 0.97 * total


@each_format
@pytest.mark.parametrize("seed", range(4))
def test_near_a_boundary_it_is_right_or_undecided(format: Format, seed: int) -> None:
    """d * m is put 2^-20 to 2^-90 ulps beside a tie, a float or a power of two."""
    random = Random(f"near {format.name} {seed}")
    undecided = 0
    for _ in range(300):
        point = fraction(member(random, format, -8, 8))
        if random.random() < 0.3:
            point = fraction(ldexp(1, random.randint(-8, 8)))
        ulp = fraction(format.ulp(exact_nonzero(float(point))))
        halves = random.choice([0, 1])
        near = random.randint(20, 90)
        target = point + ulp * halves / 2 + random.choice([-1, 1]) * ulp / 2**near
        m = exact_nonzero(member(random, format, -8, 8))
        curve = sech2(exact(random.uniform(-3, 3)))
        # A factor of 200 bits puts the product there whatever the curve's value is.
        slope = fraction(curve.enclosure(300).lower)
        factor = target / slope / fraction(m)
        d = curve.times(Dyadic(round(factor * 2**220), -220))
        middle = float(point)
        computed = [format.next_down(middle), middle, format.next_up(middle)]
        result = require_equal(d, [m] * 3, computed, format)
        undecided += int((~result.decided).sum())
        if halves and near > 30:
            assert not result.decided[1]
    assert undecided > 100


def exact_nonzero(value: float) -> Dyadic:
    """What a float that is not zero stands for."""
    value_exact = exact(value)
    assert isinstance(value_exact, Dyadic)
    return value_exact


@each_format
def test_nothing_is_said_of_special_values(format: Format) -> None:
    """Zero, NaN and infinite multipliers, and computed values that are not finite."""
    d = sech2(exact(0.75))
    multipliers: list[Exact] = [0.0, -0.0, nan, inf, exact(1.0), exact(1.0), exact(1.0)]
    computed = [0.0, 0.0, nan, inf, nan, inf, -inf]
    assert not found(d, multipliers, computed, format).decided.any()


def test_nothing_is_said_beyond_the_largest_finite_number() -> None:
    """There an error is measured in another way."""
    d = sech2(exact(0.25))
    assert not found(d, [exact(2.0**129)], [BINARY32.from_ordinal(0x7F7FFFFF)], BINARY32).decided[0]


def test_a_product_that_vanishes_is_correct_as_zero() -> None:
    """However small it is."""
    for a in (200.0, 3000.0, 1e9):
        d = sech2(exact(a))
        result = found(d, [exact(1.0)], [0.0], BINARY32)
        assert (True, True, True) == (result.decided[0], result.correct[0], result.faithful[0])
        assert abs(result.ulps[0]) < 1e-9


@each_format
def test_nothing_but_zero_passes_where_a_product_vanishes(format: Format) -> None:
    """Beyond |a| = 8192, where sech^2 is only bounded, also times the largest number."""
    largest = exact_nonzero(format.round(format.largest_finite))
    for g in (1.0, -1.0):
        d = sech2(exact(9000.0)).times(exact(g))
        smallest = ldexp(1, format.least_ulp_exponent)
        computed = [0.0, smallest, -smallest, 2 * smallest, 1.0, -1.0]
        result = require_equal(d, [largest] * len(computed), computed, format)
        assert result.decided[0] and result.correct[0]
        assert not (result.decided & result.faithful)[3:].any()


def test_a_long_number_is_no_multiplier() -> None:
    """More than 53 bits do not fit, and are left to exact arithmetic."""
    multipliers: list[Exact] = [Dyadic((1 << 53) - 1, 0), Dyadic((1 << 54) + 1, 0)]
    assert [True, False] == list(scaled(multipliers).significands != 0)


@pytest.mark.parametrize("mantissa", [0, 1, 3 << 80, (1 << 200) - 1, 5])
def test_a_dyadic_is_a_float_and_an_exponent(mantissa: int) -> None:
    """To 53 bits, whatever its length."""
    value, exponent = float_and_exponent(Dyadic(mantissa, -77))
    assert float(fraction(value) * fraction(Dyadic(1, exponent))) == pytest.approx(
        float(fraction(Dyadic(mantissa, -77))), rel=2**-52
    )
