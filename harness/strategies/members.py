"""The members of a format in a range, numbered from the simplest.

Hypothesis draws integers and shrinks them to 0. A float that is drawn as its number here therefore
shrinks to a short significand and an exponent near 0: number 0 is the simplest member of the
range, 1 and 2 the simplest of its lower and upper half, 3 to 6 those of its quarters, and so on.
Numbers spread evenly over the members, so over the exponents too. Numbers travel as ordinals
(`Format.ordinal`), so nothing here computes with floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.patterns import decode
from reference.formats import Format

_MASK: Final = 2**64 - 1
#: splitmix64 (Steele, Lea, Flood 2014): a bijection that scatters consecutive integers.
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB


@dataclass(frozen=True, slots=True)
class Window:
    """The positive members of `format` with ordinals from `low` to `high`, both included.

    Raises ValueError for an empty window, and for one that reaches below the smallest subnormal
    or beyond the largest finite number.
    """

    format: Format
    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high <= largest_ordinal(self.format):
            raise ValueError(
                f"ordinals {self.low} to {self.high} are not a range of positive finite "
                f"{self.format.name} numbers; expected 1 to {largest_ordinal(self.format)}"
            )

    @property
    def size(self) -> int:
        """How many members lie in the window."""
        return self.high - self.low + 1

    @property
    def code_bits(self) -> int:
        """Numbers below 2^code_bits reach every member."""
        return self.size.bit_length() + 1

    def pick(self, number: int, salt: int = 0) -> int:
        """The ordinal of the member called `number` >= 0.

        With `salt` 0 it is the simplest member of the cell that `number` names. Any other salt
        takes one of the cell's members by hashing, most often one with a full significand; but
        0 names the simplest whatever the salt, so that one long number does not lengthen others.
        """
        level = (number + 1).bit_length() - 1
        cell = number + 1 - (1 << level)
        first = self.low + (self.size * cell >> level)
        last = max(first, self.low + (self.size * (cell + 1) >> level) - 1)
        if salt and number:
            return first + scatter(number, salt) % (last - first + 1)
        return simplest(self.format, first, last)

    def pick_signed(self, code: int, salt: int = 0) -> int:
        """As `pick`, with the sign in the lowest bit of `code`: an odd code is negative."""
        ordinal = self.pick(code >> 1, salt)
        return -ordinal if code & 1 else ordinal

    def scattered(self, n: int, seed: int) -> NDArray[np.int64]:
        """n positive ordinals, shape (n,), that `seed` determines, spread over the window."""
        mixed = _scatter_array(np.arange(n, dtype=np.uint64), seed)
        return (mixed % np.uint64(self.size)).astype(np.int64) + self.low


def power_ordinal(format: Format, exponent: int) -> int:
    """The ordinal of 2^exponent, or of the nearest positive finite member where there is none."""
    fraction_bits = format.precision - 1
    if exponent > format.emax:
        return largest_ordinal(format)
    if exponent >= format.emin:
        return exponent + format.emax << fraction_bits
    return 1 << max(exponent - format.emin + fraction_bits, 0)


def powers(format: Format, low: int, high: int) -> Window:
    """The members from 2^low to 2^high, clipped to the positive finite ones."""
    return Window(format, power_ordinal(format, low), power_ordinal(format, high))


def largest_ordinal(format: Format) -> int:
    """The ordinal of the largest finite member."""
    return (2 * format.emax + 1 << format.precision - 1) - 1


def simplest(format: Format, first: int, last: int) -> int:
    """Of the ordinals `first` to `last` (1 <= first <= last), that of the simplest member.

    That is the power of two nearest to 1 if one lies there, else the member with the fewest
    significant bits.
    """
    one, binade = power_ordinal(format, 0), 1 << format.precision - 1
    if last < binade:  # Subnormal: the ordinal is the significand.
        return _roundest(first, last)
    low, high = first - one, last - one
    if low <= 0 <= high:
        return one
    if high < 0:
        return one - _nearest(-high, min(-low, one - binade), binade)
    return one + _nearest(low, high, binade)


def _nearest(low: int, high: int, binade: int) -> int:
    """The least multiple of `binade` in [low, high], low >= 1, else the roundest integer."""
    multiple = -(-low // binade) * binade
    return multiple if multiple <= high else _roundest(low, high)


def _roundest(low: int, high: int) -> int:
    """The integer in [low, high], low >= 1, with the most trailing zero bits."""
    zeros = ((low - 1) ^ high).bit_length() - 1
    return high >> zeros << zeros


def scatter(value: int, seed: int) -> int:
    """A 64-bit hash of two integers."""
    mixed = (value + (seed + 1) * _GOLDEN) & _MASK
    mixed = ((mixed ^ mixed >> 30) * _FIRST) & _MASK
    mixed = ((mixed ^ mixed >> 27) * _SECOND) & _MASK
    return mixed ^ mixed >> 31


def _scatter_array(values: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """`scatter` of each value."""
    mixed = values + np.uint64((seed + 1) * _GOLDEN & _MASK)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(_FIRST)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(_SECOND)
    return mixed ^ mixed >> np.uint64(31)


def scattered_signs(n: int, seed: int) -> NDArray[np.int64]:
    """n times 1 or -1, shape (n,), that `seed` determines."""
    bits = _scatter_array(np.arange(n, dtype=np.uint64), ~seed) >> np.uint64(63)
    return 1 - 2 * bits.astype(np.int64)


def scattered_indices(n: int, seed: int, count: int) -> NDArray[np.int64]:
    """n integers in [0, count), shape (n,), that `seed` determines."""
    mixed = _scatter_array(np.arange(n, dtype=np.uint64) + np.uint64(n), seed)
    return (mixed % np.uint64(count)).astype(np.int64)


def values_at(format: Format, ordinals: Sequence[int] | NDArray[np.int64]) -> tuple[float, ...]:
    """The members at these finite ordinals, as Python floats."""
    if not isinstance(ordinals, np.ndarray):
        return tuple(format.from_ordinal(ordinal) for ordinal in ordinals)
    sign = np.where(ordinals < 0, np.uint64(1 << format.width - 1), np.uint64(0))
    patterns = np.abs(ordinals).astype(np.uint64) | sign
    return tuple(decode(patterns, format).tolist())
