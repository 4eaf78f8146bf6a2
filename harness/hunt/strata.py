"""Where a hunt over numbers starts: every binade, thresholds and simple numbers, and around them.

A fault is seldom in the middle of nowhere. It lies in a range between two edges, where a formula
switches, or next to an edge; and edges are powers of two, the landmarks of the format, multiples of
ln(2)/4 (where the argument of an exponential is reduced), or short numbers that someone wrote down.
So the start samples every binade, and next to all of these the distances 0, 1, 2, 3 and then one in
each power of two, on both sides and with both signs. What is narrower than that and next to no
edge, a window of 2^20 numbers of binary64 in the middle of a binade, say, only chance can find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from mpmath import libmp
from numpy.typing import NDArray

from harness.landmarks import landmarks
from harness.strategies.members import power_ordinal
from harness.subjects import Kind
from harness.sweep.segments import Segments, segments_of_x, segments_of_y
from reference.dyadic import Dyadic
from reference.formats import Format

Magnitudes = NDArray[np.uint64]

#: Binades of |x| in which tanh is neither x nor 1 to all purposes, in any format.
_NEAR: Final = (-30, 10)
_NEAR_DRAWS: Final = 512
_FAR_DRAWS: Final = 32
#: Numbers on either side of a landmark that are all tried.
_BESIDE_LANDMARK: Final = 64
_BESIDE: Final = 3
#: Significand bits of the simple numbers.
_SIMPLE_BITS: Final = 6
_LN2_QUARTERS: Final = 128


class Stratum(NamedTuple):
    """The magnitudes from `start` to `stop` - 1, how many of them to draw at first, and whether
    they are near: where tanh is neither x nor 1 to all purposes."""

    start: int
    stop: int
    draws: int
    near: bool


def segments(kind: Kind, format: Format) -> Segments:
    """The segments in which the figures of a hunt are given."""
    return segments_of_y(format) if kind is Kind.TANH_GRADIENT else segments_of_x(format)


def strata(kind: Kind, format: Format, stop: int) -> tuple[Stratum, ...]:
    """The segments below the magnitude `stop`, the near ones first."""
    low, high = (power_ordinal(format, exponent) for exponent in _NEAR)
    found = []
    for segment in segments(kind, format).all:
        if segment.start >= stop:
            continue
        near = low <= segment.start < high
        draws = _NEAR_DRAWS if near else _FAR_DRAWS
        found.append(Stratum(segment.start, min(stop, segment.stop), draws, near))
    return tuple(sorted(found, key=lambda stratum: not stratum.near))


def landmark_surroundings(kind: Kind, format: Format, stop: int) -> Magnitudes:
    """All magnitudes within 64 of a landmark."""
    if kind is Kind.TANH_GRADIENT:
        places = [format.to_bits(1.0)]
    else:
        found = landmarks(format)
        places = [getattr(found, name) for name in found.__dataclass_fields__]
    offsets = np.arange(-_BESIDE_LANDMARK, _BESIDE_LANDMARK + 1)
    return _around(places, offsets, stop)


def edge_surroundings(
    kind: Kind, format: Format, stop: int, rng: np.random.Generator
) -> Iterator[Magnitudes]:
    """Magnitudes next to edges, one array for a group of edges: first those where tanh is neither x
    nor 1, then powers of two elsewhere."""
    low, high = (power_ordinal(format, exponent) for exponent in _NEAR)
    starts = [segment.start for segment in segments(kind, format).all]
    near = [start for start in starts if low <= start < high]
    far = [start for start in starts if not low <= start < high]
    for places in (
        [*near, *_multiples_of_ln2(format)],
        _simple_numbers(format, low, high),
        far,
    ):
        offsets = _offsets(len(places), format.precision - 3, rng)
        yield _around(places, offsets, stop)


def _offsets(count: int, most_bits: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each of `count` edges, in a row: 0 to 3 numbers off, and once for each power of two."""
    beside = np.arange(-_BESIDE, _BESIDE + 1)
    powers = np.int64(1) << np.arange(2, max(3, most_bits), dtype=np.int64)
    drawn = powers + rng.integers(0, powers, (count, 2, powers.size))
    drawn[:, 1] *= -1
    return np.concatenate(
        [np.broadcast_to(beside, (count, beside.size)), drawn.reshape(count, -1)], axis=1
    )


def _around(places: Sequence[int], offsets: NDArray[np.int64], stop: int) -> Magnitudes:
    """Places plus offsets, those that are magnitudes below `stop`."""
    found = np.array(places, dtype=np.int64)[:, None] + offsets
    found = found.reshape(-1)
    kept: Magnitudes = found[(found >= 0) & (found < stop)].astype(np.uint64)
    return kept


def _simple_numbers(format: Format, low: int, high: int) -> list[int]:
    """The magnitudes of the numbers with at most six significant bits in the near binades."""
    bits = min(_SIMPLE_BITS, format.precision)
    step = 1 << format.precision - bits
    return list(range(low, high, step))


def _multiples_of_ln2(format: Format) -> list[int]:
    """The magnitudes of the multiples of ln(2)/4, rounded, while they are near."""
    ln2 = Dyadic(int(libmp.ln2_fixed(200)), -200)
    return [
        format.ordinal(format.round(Dyadic(k * ln2.mantissa, ln2.exponent - 2)))
        for k in range(1, _LN2_QUARTERS + 1)
    ]


def with_both_signs(magnitudes: Magnitudes, format: Format) -> NDArray[Any]:
    """Bit patterns of magnitudes, each with both signs, next to one another."""
    unsigned = np.dtype(f"u{format.width // 8}")
    bits = np.repeat(magnitudes, 2)
    bits[1::2] |= np.uint64(1 << format.width - 1)
    return bits.astype(unsigned)
