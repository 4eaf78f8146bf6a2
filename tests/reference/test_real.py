"""Rounding of exact values, among them those that rounding to some precision first gets wrong."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from math import copysign, inf, isnan, nan

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.dyadic import ONE, Dyadic, compare, from_float, subtract
from reference.exact import exact
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import sech2, tanh
from reference.real import Curve, Real, just_inside
from tests.rationals import binade, fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
SPECIAL = [0.0, -0.0, inf, -inf, nan]


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    """Judge at 900 bits."""
    with mpmath.workprec(900):
        yield


def mpf(value: Dyadic) -> mpmath.mpf:
    """The dyadic as an mpmath number."""
    return mpmath.mpf((value.mantissa, value.exponent))


def truncated(value: mpmath.mpf, bits: int) -> Dyadic:
    """The greatest dyadic of `bits` bits that is at most a positive `value`."""
    exponent = int(mpmath.floor(mpmath.log(value, 2))) - bits + 1
    return Dyadic(int(mpmath.floor(mpmath.ldexp(value, -exponent))), exponent)


def midpoint(format: Format, below: float) -> Dyadic:
    """Halfway between a positive member and the next."""
    value = from_float(below)
    quantum = format.ulp_exponent(value)
    return Dyadic((value.mantissa << value.exponent - quantum + 60) >> 59 | 1, quantum - 1)


def test_midpoint() -> None:
    """The helper names the number halfway to the next member."""
    assert [Fraction(1) + Fraction(1, 2**11), Fraction(3, 2**25)] == [
        fraction(midpoint(BINARY16, below)) for below in (1.0, 2.0**-24)
    ]


# Hard to round: a 200-bit argument puts tanh or sech^2 within 2^-190 of where rounding turns.

TANH_PLACES = [
    (BINARY16, 0.5), (BINARY16, 1 - 2.0**-11), (BINARY16, 2.0**-24), (BINARY16, 2.0**-14),
    (BFLOAT16, 0.75), (BFLOAT16, 1 - 2.0**-8), (BFLOAT16, 2.0**-133),
    (BINARY32, 0.25), (BINARY32, 1 - 2.0**-24), (BINARY32, 5 * 2.0**-149),
    (BINARY64, 0.625), (BINARY64, 1 - 2.0**-53), (BINARY64, 2.0**-1074),
]  # fmt: skip
SECH2_PLACES = [
    (BINARY16, 0.5), (BINARY16, 1 - 2.0**-11), (BINARY16, 2.0**-24), (BINARY16, 2.0**-14),
    (BFLOAT16, 0.75), (BFLOAT16, 1 - 2.0**-8), (BFLOAT16, 2.0**-133), (BFLOAT16, 2.0**-126),
    (BINARY32, 0.25), (BINARY32, 1 - 2.0**-24), (BINARY32, 5 * 2.0**-149),
    (BINARY64, 0.625), (BINARY64, 1 - 2.0**-53), (BINARY64, 2.0**-1074),
]  # fmt: skip


def place_id(value: object) -> str:
    """A test's name for a curve, a format or a float."""
    if isinstance(value, Format):
        return value.name
    return value.hex() if isinstance(value, float) else str(value)


def inverse(name: str, value: Dyadic) -> mpmath.mpf:
    """The positive argument at which tanh or sech^2 takes a value between 0 and 1."""
    y = mpf(value)
    return mpmath.atanh(y) if name == "tanh" else mpmath.acosh(1 / mpmath.sqrt(y))


def around(name: str, target: Dyadic, bits: int = 200) -> tuple[Dyadic, Dyadic]:
    """Two arguments whose curve values lie just below and just above `target`."""
    low = truncated(inverse(name, target), bits)
    high = Dyadic(low.mantissa + 1, low.exponent)
    return (low, high) if name == "tanh" else (high, low)


CURVE_PLACES = [("tanh", *place) for place in TANH_PLACES] + [
    ("sech2", *place) for place in SECH2_PLACES
]


@pytest.mark.parametrize(("name", "format", "below"), CURVE_PLACES, ids=place_id)
@pytest.mark.parametrize("sign", [1, -1], ids=["a > 0", "a < 0"])
def test_values_next_to_a_tie_round_to_their_own_side(
    name: str, format: Format, below: float, sign: int
) -> None:
    """Just below the midpoint goes down and just above goes up, where 96 bits cannot tell."""
    function = tanh if name == "tanh" else sech2
    arguments = around(name, midpoint(format, below))
    reals = [function(Dyadic(sign * a.mantissa, a.exponent)) for a in arguments]
    factor = sign if name == "tanh" else 1
    if name == "sech2" or below > 2.0**-40:  # else the series for small a tells at once
        for real in reals:
            lower, upper = real.first_enclosure
            assert format.round(lower) != format.round(upper)
    expected = [factor * below, factor * format.next_up(below)]
    assert expected == [real.rounded(format) for real in reals]


@pytest.mark.parametrize(("name", "format", "edge"), CURVE_PLACES, ids=place_id)
@pytest.mark.parametrize("sign", [1, -1], ids=["a > 0", "a < 0"])
def test_values_next_to_a_member_have_that_member_and_the_next(
    name: str, format: Format, edge: float, sign: int
) -> None:
    """Within 2^-190 of a member, on either side of it, the two neighbours are the right ones."""
    function = tanh if name == "tanh" else sech2
    below, above = around(name, from_float(edge))
    if name == "tanh" and sign < 0:
        under, over = (function(Dyadic(-a.mantissa, a.exponent)) for a in (below, above))
        assert (-edge, -format.next_down(edge)) == under.neighbours(format)
        assert (format.next_down(-edge), -edge) == over.neighbours(format)
    else:
        under, over = (function(Dyadic(sign * a.mantissa, a.exponent)) for a in (below, above))
        assert (format.next_down(edge), edge) == under.neighbours(format)
        assert (edge, format.next_up(edge)) == over.neighbours(format)


@pytest.mark.parametrize("name", ["tanh", "sech2"])
@pytest.mark.parametrize("edge", [1, 2, 12, 14, 126, 1022], ids=lambda k: f"2^-{k}")
@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "negative"])
@each_format
def test_the_ulp_next_to_a_power_of_two(name: str, edge: int, sign: int, format: Format) -> None:
    """Within 2^-190 of 2^-k the ulp is that of the value's own binade, also for a factor < 0."""
    below, above = around(name, Dyadic(1, -edge))
    quanta = [
        Real(Dyadic(sign, 0), Curve("tanh" if name == "tanh" else "sech2", a)).ulp_exponent(format)
        for a in (below, above)
    ]
    assert [
        max(-edge - 1, format.emin) - format.precision + 1,
        max(-edge, format.emin) - format.precision + 1,
    ] == quanta


# Every value, against mpmath.


@st.composite
def reals(draw: st.DrawFn) -> tuple[Real, mpmath.mpf]:
    """An exact value and mpmath's."""
    mantissa = draw(st.integers(1, 2**60)) * draw(st.sampled_from([1, -1]))
    a = Dyadic(mantissa, draw(st.integers(-140, 8)) - mantissa.bit_length())
    factor = Dyadic(draw(st.integers(-(2**53), 2**53).filter(bool)), draw(st.integers(-200, 100)))
    if draw(st.booleans()):
        return Real(factor, Curve("tanh", a)), mpf(factor) * mpmath.tanh(mpf(a))
    return Real(factor, Curve("sech2", a)), mpf(factor) * mpmath.sech(mpf(a)) ** 2


@each_format
@given(pair=reals())
def test_rounding_neighbours_and_ulp_agree_with_900_bits(
    format: Format, pair: tuple[Real, mpmath.mpf]
) -> None:
    """A truncation to 880 bits rounds alike, lies between the neighbours and has the same ulp."""
    real, value = pair
    with mpmath.workprec(900):
        size = truncated(abs(value), 880)
    near = Dyadic(size.mantissa if value > 0 else -size.mantissa, size.exponent)
    assert format.round(near) == real.rounded(format)
    assert format.ulp_exponent(near) == real.ulp_exponent(format)
    below, above = real.neighbours(format)
    assert (format.round_down(near), format.round_up(near)) == (below, above)
    assert copysign(1, value) == copysign(1, real.rounded(format))


@given(reals())
def test_enclosures_tighten_around_the_value(pair: tuple[Real, mpmath.mpf]) -> None:
    """Each enclosure of Ziv's loop holds the value strictly, within 2^-96, 2^-192, 2^-384."""
    real, value = pair
    with mpmath.workprec(900):
        for bits, (lower, upper) in zip((96, 192, 384), islice(real.enclosures(), 3), strict=True):
            assert mpf(lower) < value < mpf(upper)
            assert mpf(subtract(upper, lower)) <= abs(value) * mpmath.mpf(2) ** -bits


# Values without a curve.


@pytest.mark.parametrize("value", SPECIAL, ids=str)
@each_format
def test_special_values_are_their_own_rounding(value: float, format: Format) -> None:
    """Zeros keep their sign, infinities and NaN stay; each is both of its neighbours."""
    real = Real(value)
    for actual in (real.rounded(format), *real.neighbours(format), real.special):
        assert actual is not None
        assert (isnan(value) and isnan(actual)) or (value, copysign(1, value)) == (
            actual,
            copysign(1, actual),
        )


@each_format
def test_an_exact_value_is_rounded_on_the_integers(format: Format) -> None:
    """A member is its own neighbour; a tie goes to even and lies between two members."""
    member, tie = Real(ONE), Real(midpoint(format, 1.0))
    following = format.next_up(1.0)
    assert (1.0, 1.0, 1.0) == (member.rounded(format), *member.neighbours(format))
    assert (1.0, 1.0, following) == (tie.rounded(format), *tie.neighbours(format))
    assert [-format.precision + 1] * 2 == [each.ulp_exponent(format) for each in (member, tie)]


@each_format
def test_overflow_has_the_largest_number_and_infinity_as_neighbours(format: Format) -> None:
    """A value beyond the largest finite number lies between it and infinity."""
    largest = float(fraction(format.largest_finite))
    beyond = Real(Dyadic(1, format.emax + 2), Curve("sech2", Dyadic(1, -9)))
    assert (inf, largest, inf) == (beyond.rounded(format), *beyond.neighbours(format))
    negative = beyond.times(exact(-1.0))
    assert (-inf, -inf, -largest) == (negative.rounded(format), *negative.neighbours(format))


@pytest.mark.parametrize("value", [inf, -inf, nan], ids=str)
def test_what_is_not_finite_has_no_enclosure(value: float) -> None:
    """The error names the remedy."""
    with pytest.raises(ValueError, match="has no enclosure; test `special` first"):
        Real(value).enclosure(96)


@pytest.mark.parametrize("value", [0.0, -0.0, 0.75], ids=str)
def test_what_is_exact_is_a_point(value: float) -> None:
    """Zeros and exact values are enclosed by themselves."""
    lower, upper = Real(exact(value)).enclosure(96)
    assert Fraction(value) == fraction(lower) == fraction(upper)


@pytest.mark.parametrize(
    ("multiplier", "expected"),
    [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan)],
    ids=str,
)
def test_a_derivative_times_a_special_value_is_special(multiplier: float, expected: float) -> None:
    """sech^2 > 0, so the product is the multiplier, and the curve is gone."""
    product = sech2(Dyadic(1, 0)).times(multiplier)
    assert product.curve is None
    assert str(expected) == str(product.special)
    assert str(-expected) == str(sech2(Dyadic(1, 0)).times(exact(-2.0)).times(multiplier).special)


def test_products_of_factors_are_exact() -> None:
    """Two factors of 2^-1074 make one of 2^-2148, which only the last rounding loses."""
    tiny = exact(5e-324)
    value = sech2(Dyadic(1, 0)).times(tiny).times(tiny)
    assert Fraction(2) ** -2148 == fraction(value.factor)
    assert (0.0, 5e-324) == value.neighbours(BINARY64)
    big = value.times(exact(2.0**1023)).times(exact(2.0**100))
    assert float(mpmath.ldexp(mpmath.sech(1) ** 2, -1025)) == big.rounded(BINARY64)


def test_negligible_gradients_round_to_zero_with_their_sign() -> None:
    """Where sech^2 is only known to be in (0, 2^-23000), +-0 and the subnormal are neighbours."""
    for sign, format in [(1, BINARY64), (-1, BINARY64), (1, BINARY16), (-1, BFLOAT16)]:
        value = sech2(Dyadic(1, 20)).times(Dyadic(sign, 2040))
        tiny = float(fraction(format.smallest_subnormal))
        assert (0.0, sign) == (value.rounded(format), copysign(1, value.rounded(format)))
        assert sorted([0.0, sign * tiny]) == list(value.neighbours(format))
        assert format.least_ulp_exponent == value.ulp_exponent(format)


@given(st.integers(1, 2**60) | st.integers(-(2**60), -1), st.integers(-50, 50))
def test_just_inside_is_under_the_bound_and_in_its_last_binade(
    mantissa: int, exponent: int
) -> None:
    """It is smaller in size, of the same sign, and a power of two falls to the binade below."""
    bound = Dyadic(mantissa, exponent)
    inside = just_inside(bound)
    size, inner = abs(fraction(bound)), abs(fraction(inside))
    assert inside.mantissa * mantissa > 0
    assert size / 2 <= inner < size
    power_of_two = abs(mantissa) & (abs(mantissa) - 1) == 0
    if abs(mantissa) > 1:
        assert binade(inner) == binade(size) - power_of_two
    assert (
        compare(Dyadic(abs(inside.mantissa), inside.exponent), Dyadic(abs(mantissa), exponent)) < 0
    )


# Traps: what goes wrong when a value is rounded another way, on values where it does.


def tanh64(x: float) -> float:
    """tanh of a float, rounded once to binary64."""
    return tanh(exact(x)).rounded(BINARY64)


@pytest.mark.parametrize(
    "text", ["0x1.06d35e1c74660p-4", "0x1.0a3f74ce8d890p-1", "0x1.07bcd0a062390p+0"]
)
def test_trap_mpmath_at_53_bits_is_not_correctly_rounded(text: str) -> None:
    """mpmath's tanh is off by one unit of its working precision here; the oracle is the nearest."""
    x = float.fromhex(text)
    with mpmath.workprec(53):
        naive = float(mpmath.tanh(mpmath.mpf(x)))
    true = mpmath.tanh(mpmath.mpf(x))
    assert naive != tanh64(x)
    assert abs(tanh64(x) - true) < abs(naive - true)


@pytest.mark.parametrize(
    "text", ["-0x1.5e9a0d026194cp+1", "-0x1.2476ef5699579p+1", "0x1.e1d2c729e9e64p-1"]
)
def test_trap_sixty_bits_and_then_float_rounds_twice(text: str) -> None:
    """60 bits land on a tie of binary64, and float() takes the wrong side of it."""
    x = float.fromhex(text)
    with mpmath.workprec(60):
        naive = float(mpmath.tanh(mpmath.mpf(x)))
    true = mpmath.tanh(mpmath.mpf(x))
    assert naive != tanh64(x)
    assert abs(tanh64(x) - true) < abs(naive - true)


@pytest.mark.parametrize(("below", "nudge"), [(1, -1), (2, 1), (3, -1), (4, 1)])
def test_trap_float_of_an_mpf_rounds_twice_among_subnormals(below: int, nudge: int) -> None:
    """float(mpf) rounds to 53 bits and then to the subnormals; integers round once."""
    value = Dyadic(((2 * below + 1) << 60) + nudge, -1074 - 61)
    tiny = 5e-324
    expected = tiny * (below + (nudge > 0))
    assert float(mpf(value)) != expected
    assert expected == BINARY64.round(value) == Real(value).rounded(BINARY64)


def test_trap_float32_of_an_mpf_goes_through_binary64() -> None:
    """1 + 2^-24 + 2^-60 is above a tie of binary32; np.float32(mpf) makes it 1."""
    value = Dyadic(2**60 + 2**36 + 1, -60)
    assert np.float32(mpf(value)) == 1.0
    assert Real(value).rounded(BINARY32) == 1.0 + 2.0**-23


def test_trap_mpf_loses_the_sign_of_zero() -> None:
    """mpf(-0.0) is +0; the oracle's tanh(-0) is -0."""
    assert copysign(1, float(mpmath.tanh(mpmath.mpf(-0.0)))) == 1
    assert copysign(1, tanh64(-0.0)) == -1


def test_trap_one_minus_square_in_binary64_saturates() -> None:
    """sech^2(20) is 1.7e-17, but y = tanh(20) rounds to 1 and 1 - y^2 to 0."""
    y = tanh64(20.0)
    assert 1 - y * y == 0
    assert sech2(exact(20.0)).rounded(BINARY64) == float.fromhex("0x1.39792499b1a24p-56")
