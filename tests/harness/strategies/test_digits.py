"""Bytes cut into integers."""

import pytest

from harness.strategies.digits import Digits


def test_integers_are_read_one_after_another() -> None:
    """A whole number of bytes each, most significant first."""
    digits = Digits(bytes([0x12, 0x34, 0x56, 0x80]))
    assert [0x1234, 0x56, 1] == [digits.below(1 << 16), digits.below(256), digits.below(2)]


def test_past_the_end_there_are_zeros() -> None:
    """An integer that straddles the end has zeros for its low bytes."""
    digits = Digits(bytes([0xFF]))
    assert [0xFF00, 0, 0] == [digits.below(1 << 16), digits.below(7), digits.below(1 << 40)]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 24, 255, 256, 257, 1000])
def test_every_integer_is_reached_and_rises_with_its_bytes(count: int) -> None:
    """From 0 to count - 1, each from nearly as many patterns as another."""
    width = (count - 1).bit_length() + 7 >> 3
    patterns = range(256**width)
    found = [Digits(each.to_bytes(width, "big")).below(count) for each in patterns]
    assert sorted(found) == found
    assert set(range(count)) == set(found)
    shares = [found.count(value) for value in (0, count // 2, count - 1)]
    assert max(shares) - min(shares) <= 1
