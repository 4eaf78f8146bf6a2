"""The median of a few pairs: an exact test and an exact interval, by order statistics.

If the median is theta, each pair is above it as if by a fair coin, so the number above it is
binomial whatever the noise (the sign test; Arbuthnot 1710, the interval Thompson 1936). Where a
coin has said which process ran which side, that holds of equal sides even if the noise drifts or is
correlated from pair to pair. A percentile bootstrap of the median misses up to three times as often
as it claims with the 10 to 40 pairs there are here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class Interval(NamedTuple):
    """A median and its confidence interval, in the unit of the values."""

    low: float
    median: float
    high: float


def p_above(values: Sequence[float], threshold: float) -> float:
    """The chance of so many values above `threshold` if their median were at most that.

    A value equal to the threshold counts as below it, the cautious side. Values may be infinite.
    Raises ValueError for no value, or NaN.
    """
    _require(values)
    return _tail(len(values), sum(value > threshold for value in values))


def p_below(values: Sequence[float], threshold: float) -> float:
    """The chance of so many values below `threshold` if their median were at least that."""
    return p_above([-value for value in values], -threshold)


def interval(values: Sequence[float], level: float) -> Interval:
    """The median, and an interval that misses it on either side with a chance of at most `level`.

    The ends are values; infinite where the values are too few for the level. `interval(v, level)`
    has its low end at or above theta exactly if `p_above(v, t) <= level` for every t < theta.
    Raises ValueError as `p_above` does.
    """
    _require(values)
    ordered = sorted(values)
    cut = fewest_above(len(values), level)
    middle = statistics.median_low(ordered), statistics.median_high(ordered)
    median = middle[0] if middle[0] == middle[1] else middle[0] / 2 + middle[1] / 2
    if cut is None:
        return Interval(-math.inf, median, math.inf)
    return Interval(ordered[-cut], median, ordered[cut - 1])


@lru_cache
def fewest_above(count: int, level: float) -> int | None:
    """The fewest of `count` values above a threshold that a median of at most the threshold has
    with a chance of `level` or less; None if even all of them are not enough."""
    found = None
    for above in range(count, -1, -1):
        if _tail(count, above) > level:
            break
        found = above
    return found


@lru_cache(maxsize=4096)
def _tail(count: int, above: int) -> float:
    """The chance of `above` heads or more in `count` throws of a fair coin."""
    return float(Fraction(sum(math.comb(count, k) for k in range(above, count + 1)), 2**count))


def _require(values: Sequence[float]) -> None:
    if not values or any(math.isnan(value) for value in values):
        raise ValueError(f"values {list(values)}; expected one or more, none of them NaN")
