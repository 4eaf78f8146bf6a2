"""Placing enclosures among floats: what is decided is right, what is uncertain is left open."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.certified.enclosures import (
    Enclosures,
    enclose,
    judge,
    place,
    rounded,
    scaled,
    sign_or_special,
    significand,
    times,
)
from reference.formats import BFLOAT16, BINARY16, FORMATS, Format
from tests.rationals import dyadic, nearest_member


def one(head: float, tail: float, radius: float, scale: int = 0, kind: float = 1.0) -> Enclosures:
    return enclose(
        np.array([head]), np.array([tail]), np.array([radius]), np.array([scale]), np.array([kind])
    )


def settled(values: Enclosures, format: Format) -> float | None:
    """The rounded value if it is decided."""
    placed = place(values, format)
    return float(rounded(placed, format)[0]) if placed.decided[0] else None


TIE = 1.0 + 2.0**-8  # in bfloat16, between 1 and 1 + 2^-7


@pytest.mark.parametrize(
    ("tail", "radius", "expected"),
    [
        (0.0, 0.0, 1.0),
        (2.0**-50, 0.0, 1.0 + 2.0**-7),
        (-(2.0**-50), 0.0, 1.0),
        (2.0**-50, 2.0**-51, 1.0 + 2.0**-7),
        (-(2.0**-50), 2.0**-51, 1.0),
        (2.0**-50, 2.0**-50, None),
        (0.0, 2.0**-90, None),
        (0.0, np.inf, None),
    ],
    ids=[
        "exact tie -> even",
        "exact above a tie -> up",
        "exact below a tie -> down",
        "enclosed above a tie -> up",
        "enclosed below a tie -> down",
        "enclosure touching a tie -> open",
        "enclosure around a tie -> open",
        "nothing known -> open",
    ],
)
def test_rounding_near_a_tie(tail: float, radius: float, expected: float | None) -> None:
    """A tie is decided by exact values, and never by an enclosure that reaches it."""
    assert expected == settled(one(TIE, tail, radius), BFLOAT16)


@pytest.mark.parametrize("format", [BINARY16, BFLOAT16], ids=lambda format: format.name)
def test_exact_values_round_as_ieee_754_says(format: Format) -> None:
    """Random dyadics over the whole range, half of them ties, against a search among all floats."""
    rng = np.random.default_rng(1)
    count = 4000
    bits = rng.integers(1, format.precision + 3, count)
    head = rng.integers(1 << (bits - 1), 1 << bits) * 1.0
    low, high = format.emin - format.precision - 6, format.emax + 2
    scale = rng.integers(low, high, count) - (bits - 1)
    kind = rng.choice([-1.0, 1.0], count)
    zero = np.zeros(count)
    placed = place(enclose(head, zero, zero, scale, kind), format)
    found = rounded(placed, format)
    assert placed.decided.all()
    for h, s, k, value in zip(head, scale, kind, found, strict=True):
        exact = Fraction(h * k) * Fraction(2) ** int(s)
        assert nearest_member(exact, format) == value


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_decisions_hold_for_every_value_enclosed(format: Format) -> None:
    """Both ends of a decided enclosure round to the answer, across binades and subnormals."""
    rng = np.random.default_rng(2)
    count = 3000
    head = 1.0 + rng.integers(0, 1 << min(format.precision + 1, 52), count) * 2.0 ** -min(
        format.precision + 1, 52
    )
    head[:200] = rng.choice([1.0, 2.0 - 2.0**-52, 1 + 2.0**-52], 200)
    tail = rng.choice([-1.0, 0.0, 1.0], count) * 2.0 ** rng.uniform(-80, -54, count)
    radius = 2.0 ** rng.uniform(-85, -30, count)
    scale = rng.integers(format.emin - format.precision - 4, format.emax + 2, count)
    values = enclose(head, tail, radius, scale, np.ones(count))
    with np.errstate(all="ignore"):
        placed = place(values, format)
        found = rounded(placed, format)
    assert 0.2 < placed.decided.mean() < 1.0
    for i in np.flatnonzero(placed.decided):
        unit = Fraction(2) ** int(values.scale[i])
        middle = Fraction(values.head[i]) + Fraction(values.tail[i])
        for end in (-1, 1):
            value = (middle + end * Fraction(values.radius[i])) * unit
            assert format.round(dyadic(value)) == found[i]


def test_ulps_change_at_powers_of_two() -> None:
    """Just below 1 an ulp is half of that above; an enclosure of both sides is left open."""
    half = np.array([1.0 - 2.0**-8])
    below = judge(place(one(1.0, -(2.0**-70), 2.0**-71), BFLOAT16), half, BFLOAT16)
    above = judge(place(one(1.0, 2.0**-70, 2.0**-71), BFLOAT16), half, BFLOAT16)
    around = judge(place(one(1.0, 0.0, 2.0**-71), BFLOAT16), half, BFLOAT16)
    assert (-1.0, False, False) == (below.ulps[0], below.unfaithful[0], below.undecided[0])
    assert (-0.5, True, False) == (above.ulps[0], above.unfaithful[0], above.undecided[0])
    assert around.undecided[0]


@pytest.mark.parametrize(
    ("computed", "tail", "unfaithful"),
    [
        (1.5 + 2.0**-7, 2.0**-70, False),
        (1.5 - 2.0**-7, 2.0**-70, True),
        (1.5 - 2.0**-7, -(2.0**-70), False),
        (1.5, 2.0**-70, False),
        (1.5 + 2.0**-6, 2.0**-70, True),
        (float("nan"), 2.0**-70, True),
        (-1.5, 2.0**-70, True),
        (float("inf"), 2.0**-70, True),
    ],
)
def test_neighbours_depend_on_the_side_of_the_float(
    computed: float, tail: float, unfaithful: bool
) -> None:
    """Of the floats around 1.5 only that on the side of the exact value is a neighbour."""
    found = judge(place(one(1.5, tail, 2.0**-71), BFLOAT16), np.array([computed]), BFLOAT16)
    assert (unfaithful, False) == (found.unfaithful[0], found.undecided[0])


def test_a_side_that_is_not_known_is_left_open() -> None:
    """An enclosure on both sides of a float decides for no neighbour, but for all other results."""
    placed = place(one(1.5, 0.0, 2.0**-71), BFLOAT16)
    for computed, undecided in ((1.5 + 2.0**-7, True), (1.5, False), (1.75, False)):
        found = judge(placed, np.array([computed]), BFLOAT16)
        assert undecided == found.undecided[0]


def test_overflow_is_measured_from_where_infinity_stands() -> None:
    """Exact values beyond 2^(emax+1) and infinities stand there, one ulp above the largest."""
    largest = BINARY16.from_bits(0x7BFF)
    for scale in (16, 17, 40):
        placed = place(one(1.25, 0.0, 0.0, scale), BINARY16)
        found = judge(placed, np.array([largest]), BINARY16)
        assert (-1.0, False) == (found.ulps[0], found.unfaithful[0])
        found = judge(placed, np.array([np.inf]), BINARY16)
        assert (0.0, False) == (found.ulps[0], found.unfaithful[0])
        assert np.inf == rounded(placed, BINARY16)[0]


@pytest.mark.parametrize("kind", [1.0, -1.0], ids=["positive", "negative"])
def test_products_stay_enclosed(kind: float) -> None:
    """times() encloses the products, and keeps exact ones exact."""
    rng = np.random.default_rng(3)
    count = 3000
    head = rng.uniform(1, 2, count)
    tail = head * rng.uniform(-(2.0**-53), 2.0**-53, count)
    radius = np.where(rng.random(count) < 0.5, 0.0, 2.0**-70)
    few = rng.random(count) < 0.3
    head[few], tail[few] = rng.integers(1, 1 << 20, few.sum()) * 2.0**-19, 0.0
    scale = rng.integers(-2000, 2000, count)
    multiplier = (
        rng.choice([-1.0, 1.0], count)
        * rng.uniform(1, 2, count)
        * 2.0 ** rng.integers(-1070, 1000, count)
    )
    multiplier[few] = rng.integers(1, 1 << 20, few.sum())
    values = enclose(head, tail, radius, scale, np.full(count, kind))
    found = times(values, multiplier)
    assert (found.radius[few & (values.radius == 0.0)] == 0.0).all()
    for i in range(count):
        exact = (Fraction(values.head[i]) + Fraction(values.tail[i])) * abs(Fraction(multiplier[i]))
        exact *= Fraction(2) ** (int(values.scale[i]) - int(found.scale[i]))
        middle = Fraction(found.head[i]) + Fraction(found.tail[i])
        spare = Fraction(found.radius[i]) - abs(middle - exact)
        reach = Fraction(values.radius[i]) * abs(Fraction(multiplier[i]))
        assert spare >= reach * Fraction(2) ** (int(values.scale[i]) - int(found.scale[i]))
        assert 1 <= found.head[i] <= 2
        assert kind * np.sign(multiplier[i]) == found.kind[i]


def test_significands_of_the_whole_range() -> None:
    """m * 2^e is the magnitude, subnormals included."""
    value = np.array([5e-324, -1e-310, 2.0**-1022, 1.0, -3.0, 1.7976931348623157e308])
    m, e = significand(value)
    assert ((m >= 1) & (m < 2)).all()
    assert np.abs(value).tolist() == scaled(m, e).tolist()


def test_signs_and_special_values() -> None:
    """The sign of what is finite and not zero, else the value."""
    given = np.array([0.0, -0.0, np.inf, -np.inf, 3.0, -5e-324])
    expected = ["0.0", "-0.0", "inf", "-inf", "1.0", "-1.0"]
    assert expected == [str(value) for value in sign_or_special(given).tolist()]
