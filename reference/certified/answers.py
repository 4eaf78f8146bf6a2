"""Exact values of one quantity over an array: rounded on request, or set against computed results.

Blocks of enclosures settle nearly every element; the rest are escalated, one by one, to `Real`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reference.certified.carriers import Carried, carried, carrier, require_ieee, widened
from reference.certified.doubledouble import Float64
from reference.certified.enclosures import (
    Bool,
    Enclosures,
    Int64,
    judge,
    place,
    rounded,
    significand,
)
from reference.formats import Format
from reference.measure import error
from reference.real import Real

#: Elements a block: some 64 KiB an array, so that a block's temporaries stay in the second cache.
BLOCK = 8192

_LARGEST = np.finfo(np.float64).max


class Rounded(NamedTuple):
    """The correctly rounded results in the carrier, and how many of them were escalated."""

    values: Carried
    escalated: int


class Judgement(NamedTuple):
    """Computed results against exact values; arrays of one shape.

    rounded: the correctly rounded results, in the carrier. ulps: (computed - exact) / ulp(exact),
    signed, to 0.005; NaN where the error has no size (computed is NaN, or the exact value is NaN or
    infinite), saturating at the largest float; an infinity counts as 2^(emax+1). misrounded:
    computed is not the rounded result (NaN equals NaN, +0 equals -0). unfaithful: computed is not
    one of the two floats around the exact value, or not the exact value where that is a float.
    escalated: how many elements went to exact arithmetic or mpmath.
    """

    rounded: Carried
    ulps: Float64
    misrounded: Bool
    unfaithful: Bool
    escalated: int


class ActivationJudgement(NamedTuple):
    """tanh(x) and sech^2(x): the one-input neuron with weight 1, bias 0, upstream gradient 1."""

    output: Judgement
    gradient: Judgement


@dataclass(frozen=True, slots=True)
class Answers:
    """The exact values of one quantity, one an element of an array of `shape`.

    `enclosures(start, stop)` encloses the elements [start, stop) of the flattened array (and runs
    under numpy.errstate(all="ignore")); `real(i)` is the exact value of element i.
    """

    format: Format
    shape: tuple[int, ...]
    enclosures: Callable[[int, int], Enclosures]
    real: Callable[[int], Real]

    def rounded(self) -> Rounded:
        """Every value rounded once to nearest even.

        Raises RuntimeError in a thread that flushes subnormals or does not round to nearest.
        """
        require_ieee()
        size = prod(self.shape)
        values = np.empty(size, carrier(self.format))
        escalated = 0
        for start in range(0, size, BLOCK):
            stop = min(start + BLOCK, size)
            values[start:stop], count = round_block(
                self._enclosed(start, stop), partial(_at, self.real, start), self.format
            )
            escalated += count
        return Rounded(values.reshape(self.shape), escalated)

    def judge(self, computed: npt.ArrayLike) -> Judgement:
        """Set computed results, an array of `shape` in the carrier, against the exact values.

        Raises TypeError or ValueError for another dtype or shape, RuntimeError as `rounded` does.
        """
        return self._judge(computed)[0]

    def scaled_error(self, computed: npt.ArrayLike, upstream_gradient: npt.ArrayLike) -> Float64:
        """|computed - exact| / (u |g|), in the shape of the answers; g broadcasts against it.

        For gradients: the figure that still says something where the error in ulps has hit its
        ceiling. NaN where the error has no size or g is not finite; for g = 0, 0 or infinity.
        """
        judgement, exponent = self._judge(computed)
        g = np.broadcast_to(np.asarray(upstream_gradient, np.float64), self.shape).reshape(-1)
        usable = np.isfinite(g) & (g != 0.0)
        m, g_exponent = significand(np.where(usable, g, 1.0))
        ulps = np.abs(judgement.ulps.reshape(-1))
        power = exponent + (self.format.precision - g_exponent)
        # An error past the largest float in ulps is that of the computed value alone.
        saturated = ulps >= _LARGEST
        if saturated.any():
            ulps[saturated] = np.abs(widened(np.asarray(computed))[saturated])
            power[saturated] -= exponent[saturated]
        with np.errstate(all="ignore"):
            error_in_units = np.minimum(np.ldexp(ulps / m, power.astype(np.intc)), _LARGEST)
        at_zero = np.where(ulps == 0.0, 0.0, np.where(np.isnan(ulps), np.nan, np.inf))
        result = np.where(usable, error_in_units, np.where(g == 0.0, at_zero, np.nan))
        return result.reshape(self.shape)

    def _enclosed(self, start: int, stop: int) -> Enclosures:
        with np.errstate(all="ignore"):
            return self.enclosures(start, stop)

    def _judge(self, computed: npt.ArrayLike) -> tuple[Judgement, Int64]:
        require_ieee()
        given = carried(computed, self.format, "computed")
        if given.shape != self.shape:
            raise ValueError(f"computed has shape {given.shape}, the exact values {self.shape}")
        size = prod(self.shape)
        given = given.reshape(-1)
        values = np.empty(size, carrier(self.format))
        ulps = np.empty(size)
        misrounded = np.empty(size, np.bool_)
        unfaithful = np.empty(size, np.bool_)
        exponent = np.empty(size, np.int64)
        escalated = 0
        for start in range(0, size, BLOCK):
            block = slice(start, min(start + BLOCK, size))
            judged, exponent[block] = judge_block(
                self._enclosed(start, block.stop),
                given[block],
                partial(_at, self.real, start),
                self.format,
            )
            values[block], ulps[block], misrounded[block], unfaithful[block] = judged[:4]
            escalated += judged.escalated
        judgement = Judgement(
            values.reshape(self.shape),
            ulps.reshape(self.shape),
            misrounded.reshape(self.shape),
            unfaithful.reshape(self.shape),
            escalated,
        )
        return judgement, exponent


def _at(real: Callable[[int], Real], start: int, i: int) -> Real:
    return real(start + i)


def round_block(
    enclosures: Enclosures, real: Callable[[int], Real], format: Format
) -> tuple[Float64, int]:
    """The rounded results of one block as binary64 numbers, and how many were escalated.

    `real(i)` is the exact value of element i of the block.
    """
    with np.errstate(all="ignore"):
        placed = place(enclosures, format)
        values = rounded(placed, format)
        undecided = np.flatnonzero(~(placed.decided | placed.values.special))
    for i in map(int, undecided):
        values[i] = real(i).rounded(format)
    return values, undecided.size


def judge_block(
    enclosures: Enclosures, computed: Carried, real: Callable[[int], Real], format: Format
) -> tuple[Judgement, Int64]:
    """One block of computed results, and log2 of the ulps they are judged in."""
    with np.errstate(all="ignore"):
        flat = widened(computed)
        placed = place(enclosures, format)
        values = rounded(placed, format)
        ulps, unfaithful, undecided, exponent = judge(placed, flat, format)
        undecided |= ~(placed.decided | placed.values.special)
    open_ = np.flatnonzero(undecided)
    for i in map(int, open_):
        exact = real(i)
        values[i] = exact.rounded(format)
        ulps[i], unfaithful[i], exponent[i] = _escalated(exact, float(flat[i]), format)
    misrounded = (flat != values) & ~(np.isnan(flat) & np.isnan(values))
    narrow = values.astype(carrier(format))
    return Judgement(narrow, ulps, misrounded, unfaithful, open_.size), exponent


def _escalated(real: Real, computed: float, format: Format) -> tuple[float, bool, int]:
    """The error in ulps, whether it is unfaithful, and log2 of the ulp, for one element."""
    found = error(real, computed, format)
    neighbours = real.neighbours(format)
    unfaithful = computed not in neighbours and not (
        computed != computed and neighbours[0] != neighbours[0]
    )
    if found is None:
        return float("nan"), unfaithful, format.emin - format.precision + 1
    return found.ulps, unfaithful, found.ulp_exponent
