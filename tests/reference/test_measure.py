"""Errors in ulps against rationals."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.dyadic import LARGEST_FLOAT, ONE, Dyadic, from_float
from reference.exact import exact
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.measure import error, matches
from reference.neuron import sech2, tanh
from reference.real import Curve, Real
from tests.rationals import fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


def ulps(real: Real, computed: float, format: Format, *, flush_to_zero: bool = False) -> float:
    """The signed error in ulps of a result that has one."""
    measured = error(real, computed, format, flush_to_zero=flush_to_zero)
    assert measured is not None
    return measured.ulps


@each_format
def test_the_sign_is_that_of_computed_minus_exact(format: Format) -> None:
    """Too large is positive, too small negative, on both sides of zero."""
    up, down = format.next_up(1.5), format.next_down(1.5)
    assert [1.0, -1.0, 0.0] == [ulps(Real(exact(1.5)), each, format) for each in (up, down, 1.5)]
    assert [-1.0, 1.0] == [ulps(Real(exact(-1.5)), -each, format) for each in (up, down)]


@each_format
def test_the_ulp_is_that_of_the_exact_value(format: Format) -> None:
    """Across a power of two the step below counts half; the computed value's ulp is not used."""
    below = format.next_down(1.0)
    assert ulps(Real(ONE), below, format) == -0.5
    assert ulps(Real(exact(below)), 1.0, format) == 1.0
    assert ulps(Real(exact(below)), format.next_up(1.0), format) == 3.0


@each_format
@given(st.data())
def test_the_error_of_tanh_is_known_to_a_millionth_of_an_ulp(
    format: Format, data: st.DataObject
) -> None:
    """Against mpmath at 400 bits, for computed values from next door to far away."""
    a = data.draw(st.floats(0.001, 20) | st.floats(-20, -0.001))
    rounded = tanh(exact(a)).rounded(format)
    computed = format.from_ordinal(format.ordinal(rounded) + data.draw(st.integers(-9, 9)))
    with mpmath.workprec(400):
        value = mpmath.tanh(mpmath.mpf(a))
        mantissa, exponent = mpmath.frexp(value)
        quantum = max(int(exponent) - 1, format.emin) - format.precision + 1
        expected = (mpmath.mpf(computed) - value) / mpmath.mpf(2) ** quantum
        assert abs(ulps(tanh(exact(a)), computed, format) - expected) <= abs(expected) * 1e-6
        assert mantissa


def test_no_error_is_seen_within_the_enclosure() -> None:
    """tanh(40) is within 2^-96 of 1 and tanh(2^-400) of 2^-400: nothing a report would show."""
    assert ulps(tanh(exact(40.0)), 1.0, BINARY64) == 0.0
    assert 0.0 <= ulps(tanh(exact(2.0**-400)), 2.0**-400, BINARY64) < 1e-40
    with mpmath.workprec(300):
        nearly_half = Dyadic(int(mpmath.ldexp(mpmath.atanh(0.5), 200)), -200)
    for sign in (1, -1):
        real = tanh(Dyadic(sign * nearly_half.mantissa, nearly_half.exponent))
        assert ulps(real, sign * 0.5, BINARY64) == 0.0


def test_an_error_far_larger_than_any_float_saturates() -> None:
    """A result of 1 for an exact 2^-1074 * 2^-1000 is off by the largest float."""
    tiny = Real(Dyadic(1, -2074))
    assert [2.0**1000, LARGEST_FLOAT] == [
        ulps(tiny, 2.0**-74, BINARY64),
        ulps(tiny, 1.0, BINARY64),
    ]


@each_format
def test_subnormals_and_zero_are_measured_in_the_smallest_subnormal(format: Format) -> None:
    """Under the normal range the ulp no longer shrinks, and zero has the same one."""
    tiny = float(fraction(format.smallest_subnormal))
    assert [3.0, -3.0] == [
        ulps(Real(zero), 3 * s * tiny, format) for zero, s in ((0.0, 1), (-0.0, -1))
    ]
    assert ulps(Real(exact(3 * tiny)), 0.0, format) == -3.0
    assert ulps(sech2(Dyadic(1, 20)), tiny, format) == 1.0


@pytest.mark.parametrize("computed", [0.0, 1.5, inf, nan], ids=str)
@pytest.mark.parametrize("value", [nan, inf, -inf], ids=lambda value: f"exact {value}")
def test_no_size_where_the_exact_value_is_not_finite(value: float, computed: float) -> None:
    """A result is right or wrong there, not so many ulps off."""
    assert error(Real(value), computed, BINARY32) is None


@pytest.mark.parametrize("real", [Real(0.0), Real(ONE), tanh(ONE)], ids=["0", "1", "tanh 1"])
def test_no_size_where_the_computed_value_is_nan(real: Real) -> None:
    """NaN is no distance away from anything."""
    assert error(real, nan, BINARY32) is None


@each_format
def test_infinity_stands_one_ulp_over_the_largest_number(format: Format) -> None:
    """It is measured as 2^(emax+1): for the largest number, one ulp; mirrored below zero."""
    largest = float(fraction(format.largest_finite))
    real = Real(from_float(largest))
    assert [1.0, -1.0] == [ulps(real, inf, format), ulps(real.times(exact(-1.0)), -inf, format)]
    opposite = 2.0 ** (format.precision + 1) - 1
    assert -opposite == ulps(real, -inf, format)


@each_format
@pytest.mark.parametrize("excess", [1, 2, 40], ids=lambda k: f"2^(emax+{k})")
@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "negative"])
def test_exact_values_beyond_the_format_stand_with_infinity(
    format: Format, excess: int, sign: int
) -> None:
    """From 2^(emax+1) on the exact value counts as infinity, one ulp from the largest number."""
    real = Real(Dyadic(sign, format.emax + excess))
    largest = sign * float(fraction(format.largest_finite))
    assert [0.0, -sign * 1.0] == [
        ulps(real, sign * inf, format),
        ulps(real, largest, format),
    ]


def test_an_exact_value_that_overflows_under_two_to_the_emax_plus_one_keeps_its_place() -> None:
    """65528 rounds to infinity, but lies 8 = 1/4 ulp under 65536 and 24 = 3/4 ulp over 65504."""
    real = Real(exact(65528.0))
    assert [0.25, -0.75] == [ulps(real, inf, BINARY16), ulps(real, 65504.0, BINARY16)]


@each_format
def test_with_flush_to_zero_the_subnormals_are_one_ulp(format: Format) -> None:
    """-N, 0 and N are one ulp apart for every exact value under the least normal number N."""
    normal = 2.0**format.emin
    below = Real(exact(normal / 2)) if format is not BINARY64 else Real(Dyadic(1, -1023))
    assert [-0.5, 0.5, -1.5] == [
        ulps(below, each, format, flush_to_zero=True) for each in (0.0, normal, -normal)
    ]
    assert [1.0, -1.0] == [
        ulps(Real(0.0), each, format, flush_to_zero=True) for each in (normal, -normal)
    ]
    at_normal = Real(exact(normal))
    assert ulps(at_normal, format.next_up(normal), format, flush_to_zero=True) == 1.0


@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "negative"])
def test_a_computed_value_on_the_far_side_of_the_enclosure(sign: int) -> None:
    """The nearer end counts on either side of the exact value, and for either sign."""
    real = Real(Dyadic(sign, 0), Curve("tanh", Dyadic(1, 0)))
    near = real.rounded(BFLOAT16)
    above, below = BFLOAT16.next_up(near), BFLOAT16.next_down(near)
    up, down = ulps(real, above, BFLOAT16), ulps(real, below, BFLOAT16)
    assert up > 0 > down
    assert abs(up - down - 2) < 1e-9
    with mpmath.workprec(200):
        value = sign * mpmath.tanh(1)
        assert abs(up - (mpmath.mpf(above) - value) * 2**8) < 1e-9


def test_binary32_error_of_a_known_fault() -> None:
    """2*sigmoid(2x)-1 at 0x1.4f8b58p-17 was seen at 2^-17 * 1.25: 0.0595 * 2^23 ulps too small."""
    x = float.fromhex("0x1.4f8b58p-17")
    expected = (Fraction(1.25) * Fraction(2) ** -17 - Fraction(x)) / Fraction(2) ** -40
    assert abs(ulps(tanh(exact(x)), 1.25 * 2.0**-17, BINARY32) - float(expected)) < 1e-2


def verdicts(real: Real, computed: float, format: Format) -> tuple[bool, bool]:
    """Whether a result is correct, and whether it is faithful."""
    measured = error(real, computed, format)
    assert measured is not None
    return measured.correct, measured.faithful


@each_format
@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "negative"])
def test_correct_and_faithful_are_the_nearest_and_the_two_around(format: Format, sign: int) -> None:
    """Of the floats about tanh(+-0.7), one is correct, one more faithful, the next are neither."""
    real = tanh(Dyadic(sign * 45875, -16))
    below, above = real.neighbours(format)
    nearest = real.rounded(format)
    other = above if nearest == below else below
    outside = [format.next_down(below), format.next_up(above)]
    assert [(True, True), (False, True), (False, False), (False, False)] == [
        verdicts(real, each, format) for each in (nearest, other, *outside)
    ]


@each_format
def test_less_than_an_ulp_away_is_not_yet_faithful(format: Format) -> None:
    """Just over 1 - u, the float 1 + 2u is 1.5 of the wider ulps away; just over 1, 1 - u is half
    an ulp away and yet beyond the neighbour 1."""
    over = Real(Dyadic(2**80 + 1, -80))
    below = format.next_down(1.0)
    assert abs(ulps(over, below, format)) < 1
    assert verdicts(over, below, format) == (False, False)
    assert verdicts(over, 1.0, format) == (True, True)
    assert verdicts(over, format.next_up(1.0), format) == (False, True)


@each_format
def test_an_exact_float_has_no_other_faithful_result(format: Format) -> None:
    """Where the exact value is a float, its neighbours are an ulp off, and both zeros are one."""
    assert verdicts(Real(ONE), format.next_up(1.0), format) == (False, False)
    assert verdicts(Real(ONE), 1.0, format) == (True, True)
    assert [(True, True)] * 2 == [verdicts(Real(0.0), zero, format) for zero in (0.0, -0.0)]


@each_format
def test_beyond_the_largest_number_infinity_is_correct(format: Format) -> None:
    """The largest finite number is the other neighbour; at the threshold the tie overflows."""
    largest = float(fraction(format.largest_finite))
    threshold = Real(format.overflow_threshold)
    for real in (threshold, Real(Dyadic(3, format.emax + 9))):
        assert verdicts(real, inf, format) == (True, True)
        assert verdicts(real, largest, format) == (False, True)
        assert verdicts(real, format.next_down(largest), format) == (False, False)
        assert verdicts(real, -inf, format) == (False, False)


def test_two_hundred_bits_decide_where_ninety_six_cannot() -> None:
    """2^-150 from a tie, the first enclosure holds the tie, and the verdict is still right."""
    with mpmath.workprec(400):
        tie = mpmath.mpf(1) / 2 + mpmath.ldexp(1, -12)
        a = Dyadic(int(mpmath.floor(mpmath.ldexp(mpmath.atanh(tie), 150))), -150)
    assert verdicts(tanh(a), 0.5, BINARY16) == (True, True)
    assert verdicts(tanh(a), 0.5 + 2.0**-11, BINARY16) == (False, True)
    above = Dyadic(a.mantissa + 1, a.exponent)
    assert verdicts(tanh(above), 0.5, BINARY16) == (False, True)
    assert verdicts(tanh(above), 0.5 + 2.0**-11, BINARY16) == (True, True)


@pytest.mark.parametrize(
    ("value", "computed", "expected"),
    [
        (nan, nan, True), (nan, 0.0, False), (nan, inf, False),
        (inf, inf, True), (inf, -inf, False), (inf, nan, False), (inf, 65504.0, False),
        (-inf, -inf, True), (-inf, nan, False),
    ],
    ids=str,
)  # fmt: skip
def test_special_results_match_or_do_not(value: float, computed: float, expected: bool) -> None:
    """NaN matches NaN and nothing else, an infinity only itself."""
    assert expected == matches(Real(value), computed, BINARY16)
