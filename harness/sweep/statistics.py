"""The figures of one quantity in one segment, and the worst inputs: what they are, how they merge.

`Statistics.merge` is associative and commutative with `Statistics()` as its unit: every field is a
sum of integers or a maximum under a total order. So figures do not depend on the order in which
blocks are completed, to the last bit. `Statistics.mirrored` is the statistics of the same results
with inputs and errors negated.

Errors in ulps are counted in bins (lo, hi] of |error| for either sign, with one bin around zero; a
bin holds the same errors on either side, so that mirroring reverses the histogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.certified.answers import Judgement
from reference.formats import Format

#: Upper ends of the bins of |error| in ulps; the first bin, up to 1/8, is for both signs.
BIN_EDGES: Final = (
    *(0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1024.0, 4096.0),
    *(2.0**16, 2.0**20, 2.0**24, 2.0**53),
)
_BINS: Final = 2 * len(BIN_EDGES) + 1
#: How many of the worst inputs are kept.
WORST: Final = 10
#: Groups of errors; the search for the worst looks at the largest of each first.
_GROUPS: Final = 256
_EMPTY_SIDE: Final = (0,) * len(BIN_EDGES)
#: `Statistics.total` counts units of 2^-12 ulp, up to the most that a record can hold.
_UNITS: Final = 1 << 12
_MOST: Final = (1 << 63) - 1
_NOBODY: Final = -1

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures over `points` results.

    `max_ulp` is the largest |error| in ulps among errors that have a size, `worst` the key of the
    first input that has it (-1: none has). `max_scaled_error` is in units of u |g|. A
    `nonfinite_mismatch` is a NaN or an infinity on one side only (`first_nonfinite` is its first
    key), a `zero_sign_mismatch` a zero of the wrong sign. `histogram` counts errors from the most
    negative bin to the most positive. `total` is the sum of the |error|, each rounded to a unit of
    2^-12 ulp, or the most that fits.
    """

    points: int = 0
    misrounded: int = 0
    unfaithful: int = 0
    nonfinite_mismatch: int = 0
    zero_sign_mismatch: int = 0
    max_ulp: float = 0.0
    worst: int = _NOBODY
    max_scaled_error: float = 0.0
    first_nonfinite: int = _NOBODY
    histogram: tuple[int, ...] = (0,) * _BINS
    total: int = 0

    @property
    def mean_ulp(self) -> float | None:
        """The mean |error| in ulps, to 2^-13, over errors that have a size; None where none has, or
        where the sum is too large to tell."""
        sized = sum(self.histogram)
        return self.total / _UNITS / sized if sized and self.total < _MOST else None

    def merge(self, other: Statistics) -> Statistics:
        """The figures of both together."""
        return merged((self, other))

    def mirrored(self, side: int, *, negated: bool) -> Statistics:
        """The figures of the same results on another side, whose keys differ in the bits `side`;
        `negated` says that errors change their sign there."""
        return replace(
            self,
            worst=self.worst ^ side if self.worst >= 0 else _NOBODY,
            first_nonfinite=self.first_nonfinite ^ side if self.first_nonfinite >= 0 else _NOBODY,
            histogram=self.histogram[::-1] if negated else self.histogram,
        )


def merged(parts: Sequence[Statistics]) -> Statistics:
    """The figures of one part or more together."""
    max_ulp, worst = max(((part.max_ulp, part.worst) for part in parts), key=_largest_then_first)
    return Statistics(
        points=sum(part.points for part in parts),
        misrounded=sum(part.misrounded for part in parts),
        unfaithful=sum(part.unfaithful for part in parts),
        nonfinite_mismatch=sum(part.nonfinite_mismatch for part in parts),
        zero_sign_mismatch=sum(part.zero_sign_mismatch for part in parts),
        max_ulp=max_ulp,
        worst=worst,
        max_scaled_error=max(part.max_scaled_error for part in parts),
        first_nonfinite=reduce(first, (part.first_nonfinite for part in parts)),
        histogram=tuple(map(sum, zip(*(part.histogram for part in parts), strict=True))),
        total=min(sum(part.total for part in parts), _MOST),
    )


class Worst(NamedTuple):
    """One of the worst inputs: its key, its error in ulps, the result and the correct result."""

    size: float
    key: int
    ulps: float
    computed: float
    rounded: float


def first(a: int, b: int) -> int:
    """The smaller of two keys, where -1 means none."""
    return max(a, b) if min(a, b) < 0 else min(a, b)


def worst_of(*lists: tuple[Worst, ...]) -> tuple[Worst, ...]:
    """The worst of several lists: by size, then by key, at most `WORST`."""
    entries = {entry.key: entry for entries in lists for entry in entries}
    return tuple(sorted(entries.values(), key=lambda entry: (-entry.size, entry.key))[:WORST])


def _largest_then_first(pair: tuple[float, int]) -> tuple[float, int, int]:
    size, key = pair
    # No key at all loses against any, also at size 0.
    return size, int(key >= 0), -key


def faultless(points: int, first_key: int) -> Statistics:
    """The statistics of results that are correctly rounded, all with an error of 0."""
    return Statistics(
        points=points, worst=first_key, histogram=(*_EMPTY_SIDE, points, *_EMPTY_SIDE)
    )


def measure(
    judgement: Judgement, computed: Floats, scaled_error: float, first_key: int, key_step: int
) -> Statistics:
    """The statistics of a piece: results `computed` of inputs with keys first_key + i * key_step.

    `scaled_error` is the largest of the piece. The arrays are 1-D, of one length of 1 or more.
    """
    ulps = judgement.ulps
    low, high = float(ulps.min()), float(ulps.max())
    if low != low:
        return _measure_with_nan(judgement, computed, scaled_error, first_key, key_step)
    max_ulp = max(high, -low)
    index = 0
    if low != high:
        index = int(ulps.argmax()) if high == max_ulp else ulps.size
        if -low == max_ulp:
            index = min(index, int(ulps.argmin()))
    misrounded, nonfinite, zeros = _flaws(judgement, computed)
    return Statistics(
        points=ulps.size,
        misrounded=misrounded,
        unfaithful=int(np.count_nonzero(judgement.unfaithful)) if misrounded else 0,
        nonfinite_mismatch=0 if nonfinite is None else int(np.count_nonzero(nonfinite)),
        zero_sign_mismatch=zeros,
        max_ulp=max_ulp,
        worst=first_key + index * key_step,
        max_scaled_error=scaled_error,
        first_nonfinite=_first_of(nonfinite, first_key, key_step),
        histogram=_histogram(ulps, low, high, ulps.size),
        total=_total(np.abs(ulps), max_ulp) if max_ulp else 0,
    )


def _measure_with_nan(
    judgement: Judgement, computed: Floats, scaled_error: float, first_key: int, key_step: int
) -> Statistics:
    """`measure` where some errors have no size."""
    sized = ~np.isnan(judgement.ulps)
    misrounded, nonfinite, zeros = _flaws(judgement, computed)
    figures = Statistics(
        points=sized.size,
        misrounded=misrounded,
        unfaithful=int(np.count_nonzero(judgement.unfaithful)),
        nonfinite_mismatch=0 if nonfinite is None else int(np.count_nonzero(nonfinite)),
        zero_sign_mismatch=zeros,
        max_scaled_error=scaled_error,
        first_nonfinite=_first_of(nonfinite, first_key, key_step),
    )
    if not sized.any():
        return figures
    ulps = judgement.ulps[sized]
    sizes = np.abs(ulps)
    max_ulp = float(sizes.max())
    index = int(np.flatnonzero(sized)[sizes.argmax()])
    return replace(
        figures,
        max_ulp=max_ulp,
        worst=first_key + index * key_step,
        histogram=_histogram(ulps, float(ulps.min()), float(ulps.max()), ulps.size),
        total=_total(sizes, max_ulp),
    )


def _total(sizes: NDArray[np.float64], largest: float) -> int:
    """The sum of `sizes`, each rounded to a unit; exact, so that it is the sum of any parts'."""
    if largest * _UNITS >= _MOST:
        return _MOST
    units = np.rint(sizes * _UNITS)
    if largest * _UNITS * sizes.size < 1 << 52:
        return int(np.add.reduce(units))
    return min(sum(map(int, units.tolist())), _MOST)


def _flaws(judgement: Judgement, computed: Floats) -> tuple[int, NDArray[np.bool_] | None, int]:
    """How many results are misrounded, where NaN or infinity do not match (None: nowhere), and how
    many zeros have the wrong sign."""
    rounded = judgement.rounded
    bits = _unsigned(computed)
    if np.array_equal(bits, _unsigned(rounded)):
        return 0, None, 0
    misrounded = int(np.count_nonzero(judgement.misrounded))
    low, high = computed.min(), computed.max()
    nonfinite = None
    # NaN compares false.
    within = -np.inf < low and high < np.inf
    if misrounded and not (within and -np.inf < rounded.min() and rounded.max() < np.inf):
        nonfinite = judgement.misrounded & ~(np.isfinite(computed) & np.isfinite(rounded))
        nonfinite = nonfinite if nonfinite.any() else None
    if low > 0 or high < 0:
        return misrounded, nonfinite, 0
    zeros = (computed == 0) & (rounded == 0)
    if zeros.any():
        zeros &= bits != _unsigned(rounded)
    return misrounded, nonfinite, int(np.count_nonzero(zeros))


def _unsigned(values: Floats) -> NDArray[Any]:
    return values.view(f"u{values.itemsize}")


def _first_of(flags: NDArray[np.bool_] | None, first_key: int, key_step: int) -> int:
    if flags is None or not flags.any():
        return _NOBODY
    return first_key + int(flags.argmax()) * key_step


def _histogram(ulps: NDArray[np.float64], low: float, high: float, size: int) -> tuple[int, ...]:
    """The histogram of errors between `low` and `high`: one count for each edge between them."""
    if max(high, -low) <= BIN_EDGES[0]:
        return (*_EMPTY_SIDE, size, *_EMPTY_SIDE)
    above = _tails(ulps, high, np.greater)
    below = _tails(ulps, -low, _less_than_negative)
    positive = [a - b for a, b in zip(above, [*above[1:], 0], strict=True)]
    negative = [a - b for a, b in zip(below, [*below[1:], 0], strict=True)]
    return (*reversed(negative), size - above[0] - below[0], *positive)


def _tails(ulps: NDArray[np.float64], extreme: float, beyond: Any) -> list[int]:
    """How many errors lie beyond each edge on the side that ends at `extreme`."""
    return [
        int(np.count_nonzero(beyond(ulps, edge))) if edge < extreme else 0 for edge in BIN_EDGES
    ]


def _less_than_negative(ulps: NDArray[np.float64], edge: float) -> NDArray[np.bool_]:
    return ulps < -edge


def worst_entries(
    judgement: Judgement, computed: Floats, least: float, first_key: int, key_step: int
) -> tuple[Worst, ...]:
    """The worst inputs of a piece with errors of at least `least` ulps, at most `WORST`."""
    sizes = np.abs(judgement.ulps)
    candidates = np.flatnonzero(sizes >= max(least, _tenth_at_least(sizes)))
    if candidates.size > WORST:
        of_candidates = sizes[candidates]
        tenth = np.partition(of_candidates, -WORST)[-WORST]
        larger = candidates[of_candidates > tenth]
        # Of those that are equally bad the first.
        equal = candidates[of_candidates == tenth][: WORST - larger.size]
        candidates = np.concatenate([larger, equal])
    return worst_of(
        tuple(
            Worst(
                float(sizes[i]),
                first_key + int(i) * key_step,
                float(judgement.ulps[i]),
                float(computed[i]),
                float(judgement.rounded[i]),
            )
            for i in candidates
        )
    )


def _tenth_at_least(sizes: NDArray[np.float64]) -> float:
    """The tenth largest of the maxima of groups: the tenth largest size is no smaller."""
    each = sizes.size // _GROUPS
    if not each:
        return 0.0
    # NaN loses against any size.
    maxima = np.fmax.reduce(sizes[: each * _GROUPS].reshape(each, _GROUPS), axis=0, initial=0.0)
    return float(np.partition(maxima, -WORST)[-WORST])


def largest_scaled_error(ulps: NDArray[np.float64], rounded: Floats, format: Format) -> float:
    """No scaled error of a piece (g = 1) is larger: its largest error in ulps times the ulp of its
    largest exact value, in units of u. NaN where an error has no size."""
    largest = float(np.abs(rounded).max())
    exponent = format.emin if largest == 0 else max(int(np.frexp(largest)[1]) - 1, format.emin)
    return float(np.ldexp(max(float(ulps.max()), -float(ulps.min())), exponent + 1))
