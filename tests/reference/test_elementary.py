"""Enclosures of tanh and sech^2 against mpmath at several times their precision."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.dyadic import Dyadic, compare, magnitude, subtract
from reference.elementary import Enclosure, tanh_sech2

BITS = (8, 24, 53, 96, 192, 500)


def mpf(value: Dyadic) -> mpmath.mpf:
    """The dyadic as an mpmath number, which holds any mantissa exactly."""
    return mpmath.mpf((value.mantissa, value.exponent))


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    """Judge at 6000 bits: even 1 - a^2 and sech^2 a differ at the smallest subnormal."""
    with mpmath.workprec(6000):
        yield


def check(argument: Dyadic, bits: int) -> None:
    """Both enclosures hold mpmath's value strictly inside and are narrow enough."""
    a = mpf(argument)
    tanh, sech2 = mpmath.tanh(a), mpmath.sech(a) ** 2
    for value, enclosure in zip((tanh, sech2), tanh_sech2(argument, bits), strict=True):
        assert mpf(enclosure.lower) < value < mpf(enclosure.upper)
        width = mpf(subtract(enclosure.upper, enclosure.lower))
        assert width <= abs(value) * mpmath.mpf(2) ** -bits


arguments = st.builds(
    lambda mantissa, place: Dyadic(mantissa, place - mantissa.bit_length()),
    st.integers(1, 2**180) | st.integers(-(2**60), -1),
    st.integers(-400, 10),
)


@given(arguments, st.sampled_from(BITS))
@example(Dyadic(1, 0), 8)
@example(Dyadic(-1, -1074), 500)
@example(Dyadic(2**53 - 1, -57), 8)
@example(Dyadic(1, -4), 8)
@example(Dyadic(1, -5), 8)
@example(Dyadic(-1, -49), 96)
@example(Dyadic(1, -48), 96)
@example(Dyadic(277, -3), 96)
@example(Dyadic(271, -3), 96)
def test_enclosures_hold_the_value_and_are_narrow(argument: Dyadic, bits: int) -> None:
    """Near 0, in the curve, where sech^2 is small and where tanh hugs 1, for either sign."""
    check(argument, bits)


@pytest.mark.parametrize("bits", BITS)
def test_both_sides_of_each_change_of_method(bits: int) -> None:
    """The series takes over near 2^(-bits/2), the short quotient near (bits+3) ln(2)/2."""
    for place in range(-bits // 2 - 3, -bits // 2 + 3):
        check(Dyadic(2**60 + 1, place - 60), bits)
        check(Dyadic(2**60 - 1, place - 60), bits)
    turn = int((bits + 3) * mpmath.log(2) / 2 * 16)
    for sixteenths in range(max(1, turn - 40), turn + 40, 3):
        check(Dyadic(sixteenths, -4), bits)


@pytest.mark.parametrize("bits", BITS)
def test_zero_is_exact(bits: int) -> None:
    """tanh 0 = 0 and sech^2 0 = 1 are points."""
    tanh, sech2 = tanh_sech2(Dyadic(0, 9), bits)
    assert [0, 0] == [end.mantissa for end in tanh]
    assert Enclosure(Dyadic(1, 0), Dyadic(1, 0)) == sech2


@given(arguments, st.sampled_from(BITS))
def test_tanh_is_odd_and_sech2_even(argument: Dyadic, bits: int) -> None:
    """The enclosures mirror with the argument, end by end."""
    mirrored = Dyadic(-argument.mantissa, argument.exponent)
    (lower, upper), sech2 = tanh_sech2(argument, bits)
    other_tanh, other_sech2 = tanh_sech2(mirrored, bits)
    assert (-mpf(upper), -mpf(lower)) == tuple(map(mpf, other_tanh))
    assert sech2 == other_sech2


@given(arguments, st.sampled_from(BITS))
def test_the_ends_keep_clear_of_the_exact_values(argument: Dyadic, bits: int) -> None:
    """|tanh a| < |a|, 0 < |tanh a| and 0 < sech^2 a < 1 hold of the ends as of the values."""
    (lower, upper), sech2 = tanh_sech2(argument, bits)
    inner, outer = sorted((magnitude(lower), magnitude(upper)), key=mpf)
    assert 0 < inner.mantissa
    assert compare(outer, magnitude(argument)) < 0
    assert compare(outer, Dyadic(1, 0)) <= 0
    assert 0 < sech2.lower.mantissa
    assert compare(sech2.upper, Dyadic(1, 0)) < 0


@pytest.mark.parametrize("bits", [8, 96, 20_000, 30_000], ids=lambda bits: f"{bits} bits")
@pytest.mark.parametrize(
    "argument",
    [Dyadic(1, 13), Dyadic(-1, 13), Dyadic(2**60 + 1, -47), Dyadic(1, 2046)],
    ids=["8192", "-8192", "just over 8192", "2^2046"],
)
def test_beyond_8192_no_more_is_said_than_is_true(argument: Dyadic, bits: int) -> None:
    """2 exp(-2|a|) bounds 1 - |tanh a|, 4 exp(-2|a|) bounds sech^2 a; both stay inside."""
    (lower, upper), sech2 = tanh_sech2(argument, bits)
    with mpmath.workprec(40_000):
        inner, outer = sorted((mpf(magnitude(lower)), mpf(magnitude(upper))))
        gap = 2 * mpmath.exp(-2 * 8192)
        assert inner < 1 - gap
        assert outer == 1
        assert outer - inner <= mpmath.mpf(2) ** -min(bits, 22_999)
        assert sech2.lower.mantissa == 0
        assert 2 * gap < mpf(sech2.upper) <= mpmath.mpf(2) ** -23_000


def test_just_under_8192_the_width_still_holds() -> None:
    """The last argument before the exception has a sech^2 of its own."""
    with mpmath.workprec(60_000):
        check(Dyadic(2**60 - 1, -47), 64)


def test_negligible_times_any_factor_is_negligible() -> None:
    """2^-23000 times the largest product of two binary64 numbers is under half of 2^-1074."""
    upper = tanh_sech2(Dyadic(1, 13), 96).sech2.upper
    assert upper.exponent + 2048 < -1075 - 19_000
