"""Segments: ranges of |x| in which a format behaves alike, so that figures say where they arise.

The edges are the powers of two and the landmarks of `harness.landmarks`; the subnormal numbers are
one segment, zero, infinity and NaN are others. Where the stored output y is swept there are edges
at 1 - 2^-k too, because what matters there is the distance from 1.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from harness.landmarks import landmarks
from reference.dyadic import Dyadic
from reference.formats import Format

_LANDMARKS = {
    "linear_below": "no longer linear",
    "saturating_from": "1 - y^2 has lost half its bits",
    "one_from": "tanh rounds to 1",
    "vanished_from": "the gradient is subnormal",
}
_LAST_FINITE = {"half_exp_overflow": "exp(2x) overflows", "exp_overflow": "exp(x) overflows"}


@dataclass(frozen=True, slots=True)
class Segment:
    """The magnitudes (bit patterns without sign) from `start` to `stop` - 1. `landmark` says what
    begins here, "" at a mere power of two."""

    start: int
    stop: int
    landmark: str = ""


class Segments:
    """All segments of a format, in order, and which of them a magnitude belongs to."""

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.all = segments
        self._starts = [segment.start for segment in segments]

    def index(self, magnitude: int) -> int:
        """The index of the segment that holds a magnitude."""
        return bisect_right(self._starts, magnitude) - 1

    def cut(self, start: int, stop: int, longest: int) -> list[tuple[int, int, int]]:
        """The range from start to stop - 1 in pieces (start, stop, index of segment), none longer
        than `longest` and none across an edge."""
        pieces = []
        index = self.index(start)
        while start < stop:
            while self.all[index].stop <= start:
                index += 1
            end = min(stop, self.all[index].stop, start + longest)
            pieces.append((start, end, index))
            start = end
        return pieces


@lru_cache
def segments_of_x(format: Format) -> Segments:
    """The segments of |x| for a swept argument x."""
    found = landmarks(format)
    named = {getattr(found, name): text for name, text in _LANDMARKS.items()}
    named |= {getattr(found, name) + 1: text for name, text in _LAST_FINITE.items()}
    return _segments(format, named)


@lru_cache
def segments_of_y(format: Format, pair_bits: int = 0) -> Segments:
    """The segments of |y| for a swept output y, with `pair_bits` low bits of a magnitude for g."""
    distances = {
        format.to_bits(format.round(Dyadic((1 << k) - 1, -k))): f"1 - 2^-{k}"
        for k in range(1, format.precision + 1)
    }
    segments = _segments(format, distances)
    return Segments(
        tuple(
            Segment(segment.start << pair_bits, segment.stop << pair_bits, segment.landmark)
            for segment in segments.all
        )
    )


def _segments(format: Format, landmarks: dict[int, str]) -> Segments:
    infinity = format.to_bits(float("inf"))
    step = 1 << format.precision - 1
    edges = {0, 1, *range(step, infinity, step), *landmarks, infinity, infinity + 1}
    starts = sorted(edge for edge in edges if edge <= infinity + 1)
    stops = [*starts[1:], 1 << format.width - 1]
    names = {**landmarks, 0: "zero", 1: "subnormal", infinity: "infinity", infinity + 1: "NaN"}
    return Segments(
        tuple(
            Segment(start, stop, names.get(start, ""))
            for start, stop in zip(starts, stops, strict=True)
        )
    )
