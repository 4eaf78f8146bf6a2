"""Numbering the members of a format from the simplest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.strategies.members import (
    Window,
    largest_ordinal,
    power_ordinal,
    powers,
    scatter,
    scattered_indices,
    scattered_signs,
    simplest,
    values_at,
)
from reference.dyadic import from_float
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format

by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
formats = st.sampled_from(FORMATS)


@st.composite
def windows(draw: st.DrawFn, format: Format | None = None) -> Window:
    """Any window, of 1 member to all."""
    format = format or draw(formats)
    ends = st.integers(1, largest_ordinal(format))
    low, high = sorted((draw(ends), draw(ends)))
    return Window(format, low, high)


def significant_bits(format: Format, ordinal: int) -> int:
    """How many bits from the first to the last 1 of a significand."""
    mantissa = int(
        format.from_ordinal(ordinal).hex().split("x")[1].split("p")[0].replace(".", ""), 16
    )
    return len(f"{mantissa:b}".strip("0"))


@by_format
def test_powers_of_two_have_their_ordinals(format: Format) -> None:
    """From the smallest subnormal to the largest power, and clipped beyond."""
    smallest = format.emin - format.precision + 1
    for exponent in (smallest, format.emin - 1, format.emin, -1, 0, 1, format.emax):
        assert 2.0**exponent == format.from_ordinal(power_ordinal(format, exponent))
    assert 1 == power_ordinal(format, smallest - 1) == power_ordinal(format, -5000)
    assert largest_ordinal(format) == power_ordinal(format, format.emax + 1)
    assert float("inf") == format.from_ordinal(largest_ordinal(format) + 1)


@given(windows(), st.integers(0, 2**70), st.integers(0, 3))
def test_every_number_names_a_member_of_the_window(window: Window, number: int, salt: int) -> None:
    """However large the number, with or without salt."""
    assert window.low <= window.pick(number, salt) <= window.high


@given(windows(), st.integers(0, 2**70), st.integers(0, 3))
def test_the_lowest_bit_is_the_sign(window: Window, number: int, salt: int) -> None:
    """Even codes are positive."""
    assert window.pick(number, salt) == window.pick_signed(2 * number, salt)
    assert -window.pick(number, salt) == window.pick_signed(2 * number + 1, salt)


@given(st.data(), st.sampled_from([BINARY16, BFLOAT16]))
def test_every_member_has_a_number(data: st.DataObject, format: Format) -> None:
    """Numbers below 2^code_bits leave none out."""
    window = data.draw(windows(format).filter(lambda window: window.size < 3000))
    numbers = range(1 << window.code_bits)
    assert set(range(window.low, window.high + 1)) == {window.pick(number) for number in numbers}


@given(windows())
def test_number_0_is_the_simplest(window: Window) -> None:
    """No number names a shorter significand than 0 does."""
    shortest = significant_bits(window.format, window.pick(0))
    others = (significant_bits(window.format, window.pick(number)) for number in range(1, 64))
    assert shortest <= min(others)


@pytest.mark.parametrize(
    ("format", "low", "high", "expected"),
    [
        (BINARY32, 0.3, 5.0, 1.0),
        (BINARY32, 1.1, 100.0, 2.0),
        (BINARY32, 1.1, 1.9, 1.5),
        (BINARY32, 0.01, 0.9, 0.5),
        (BINARY32, 0.6, 0.9, 0.75),
        (BINARY64, 2.0**-1074, 2.0**-1000, 2.0**-1000),
        (BINARY64, 2.0**-1074, 2.0**-1030, 2.0**-1030),
        (BINARY64, 3 * 2.0**-1074, 3 * 2.0**-1074, 3 * 2.0**-1074),
        (BINARY16, 2.6, 4.5, 4.0),
        (BFLOAT16, 3.47, 44.0, 4.0),
    ],
    ids=lambda argument: getattr(argument, "name", str(argument)),
)
def test_the_simplest_member(format: Format, low: float, high: float, expected: float) -> None:
    """1, else the power of two nearest to 1, else the shortest significand."""
    ends = [format.ordinal(format.round(from_float(end))) for end in (low, high)]
    assert expected == format.from_ordinal(simplest(format, *ends))


@given(windows(), st.integers(1, 3))
def test_number_0_ignores_the_salt(window: Window, salt: int) -> None:
    """One member that must be long does not lengthen the others."""
    assert window.pick(0) == window.pick(0, salt)


@given(windows(), st.integers(0, 2**16))
def test_salt_keeps_to_the_cell_of_the_number(window: Window, number: int) -> None:
    """A salted pick lies in the same half, quarter, eighth, ... of the window."""
    level = (number + 1).bit_length() - 1
    cell = number + 1 - (1 << level)
    offset = window.pick(number, 1) - window.low
    assert (
        abs(offset - (window.size * (2 * cell + 1) >> level + 1)) <= (window.size >> level + 1) + 1
    )


@by_format
def test_salt_gives_full_significands(format: Format) -> None:
    """About half of the salted picks have their last bit set; few of the plain ones do."""
    window = powers(format, -3, 3)
    salted = sum(window.pick(number, 1) & 1 for number in range(64))
    assert 16 <= salted <= 48
    assert all(not window.pick(number) & 1 for number in range(15))


@given(windows(), st.integers(1, 300), st.integers(0, 2**16 - 1))
def test_scattered_ordinals_lie_in_the_window(window: Window, n: int, seed: int) -> None:
    """And are the same for the same seed."""
    ordinals = window.scattered(n, seed)
    assert ((window.low <= ordinals) & (ordinals <= window.high)).all()
    assert (ordinals == window.scattered(n, seed)).all()


def test_scattered_numbers_spread_evenly() -> None:
    """Each binade, sign and index gets its share, and seeds differ."""
    ordinals = powers(BINARY32, 0, 4).scattered(4000, 5)
    binades = np.bincount((ordinals - power_ordinal(BINARY32, 0)) >> 23, minlength=4)[:4]
    assert (abs(binades - 1000) < 150).all()
    assert abs(scattered_signs(4000, 5).sum()) < 300
    assert (abs(np.bincount(scattered_indices(4000, 5, 5)) - 800) < 150).all()
    assert (powers(BINARY32, 0, 4).scattered(100, 6) != ordinals[:100]).all()


def test_the_array_hash_is_the_integer_hash() -> None:
    """splitmix64 both times; its published first output for the seed 0 is the third value."""
    window = Window(BINARY64, 1, largest_ordinal(BINARY64))
    scalars = [1 + scatter(index, 7) % window.size for index in range(50)]
    assert scalars == window.scattered(50, 7).tolist()
    assert 0xE220A8397B1DCDAF == scatter(0, 0)


@given(windows(), st.integers(0, 2**16))
def test_values_at_ordinals(window: Window, seed: int) -> None:
    """Arrays and sequences of either sign give what `Format.from_ordinal` gives."""
    ordinals = window.scattered(8, seed) * scattered_signs(8, seed)
    expected = [window.format.from_ordinal(int(ordinal)).hex() for ordinal in ordinals]
    assert expected == [value.hex() for value in values_at(window.format, ordinals)]
    assert expected == [value.hex() for value in values_at(window.format, ordinals.tolist())]


@pytest.mark.parametrize(("low", "high"), [(0, 5), (6, 5), (1, 2**15)], ids=str)
def test_a_window_that_is_no_range_of_finite_numbers_is_refused(low: int, high: int) -> None:
    """Zero, an empty range, infinity."""
    with pytest.raises(ValueError, match=f"ordinals {low} to {high} are not a range of positive"):
        Window(BINARY16, low, high)
