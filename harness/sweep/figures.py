"""The figures of a block while it is being judged, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.sweep.plan import Plan
from harness.sweep.segments import Segments
from harness.sweep.statistics import (
    WORST,
    Floats,
    Statistics,
    Worst,
    faultless,
    largest_scaled_error,
    measure,
    merged,
    worst_entries,
    worst_of,
)
from reference.certified.answers import Judgement


class Mirror(NamedTuple):
    """A side whose results are those of the side judged: the bits in which their keys differ, and
    whether results and errors change their sign."""

    difference: int
    negated: bool


@dataclass(slots=True)
class _Pieces:
    """Statistics not merged yet, and the largest scaled error among them."""

    found: list[Statistics]
    max_scaled_error: float


class Figures:
    """Statistics by segment and quantity, and the worst inputs of each quantity."""

    def __init__(self, plan: Plan, segments: Segments) -> None:
        self._plan = plan
        self._segments = segments
        self._step = plan.key(1, 0)
        # Pieces are merged, and mirrors applied, at the end: mirroring distributes over merging.
        self._found: dict[tuple[int, int, int, tuple[Mirror, ...]], _Pieces] = {}
        self._worst: list[tuple[Worst, ...]] = [() for _ in plan.quantities]

    def add(
        self,
        quantity: int,
        judgement: Judgement,
        computed: Floats,
        start: int,
        side: int,
        mirrors: tuple[Mirror, ...],
        scaled_errors: Callable[[], NDArray[np.float64]] | None,
    ) -> None:
        """Enter the results of one quantity for neighbouring magnitudes from `start` on one side,
        which hold for its mirrors too. `scaled_errors` computes the scaled errors of a gradient."""
        scaled: NDArray[np.float64] | None = None
        for lower, upper, segment in self._segments.cut(
            start, start + computed.size, computed.size
        ):
            part = slice(lower - start, upper - start)
            judged = judgement._replace(
                rounded=judgement.rounded[part],
                ulps=judgement.ulps[part],
                misrounded=judgement.misrounded[part],
                unfaithful=judgement.unfaithful[part],
            )
            before = self._pieces(segment, quantity, side, mirrors)
            largest_scaled = 0.0
            if scaled_errors is not None:
                known = before.max_scaled_error
                bound = largest_scaled_error(judged.ulps, judged.rounded, self._plan.format)
                # NaN bounds nothing, and with a g to divide by there is no bound.
                if self._plan.pairs or not bound <= known:
                    scaled = scaled_errors() if scaled is None else scaled
                    largest_scaled = float(np.fmax.reduce(scaled[part], initial=0.0))
            first_key = self._plan.key(lower, side)
            found = measure(judged, computed[part], largest_scaled, first_key, self._step)
            before.found.append(found)
            before.max_scaled_error = max(before.max_scaled_error, largest_scaled)
            if found.max_ulp and self._may_enter(quantity, found.max_ulp, lower):
                tenth = self._tenth(quantity)
                entries = worst_entries(judged, computed[part], tenth, first_key, self._step)
                self._worst[quantity] = worst_of(
                    self._worst[quantity],
                    entries,
                    *(tuple(_mirrored(entry, mirror) for entry in entries) for mirror in mirrors),
                )

    def add_right(
        self, quantity: int, size: int, start: int, side: int, mirrors: tuple[Mirror, ...]
    ) -> None:
        """Enter `size` results that are correctly rounded, all with an error of 0."""
        for lower, upper, segment in self._segments.cut(start, start + size, size):
            found = faultless(upper - lower, self._plan.key(lower, side))
            self._pieces(segment, quantity, side, mirrors).found.append(found)

    def _pieces(
        self, segment: int, quantity: int, side: int, mirrors: tuple[Mirror, ...]
    ) -> _Pieces:
        return self._found.setdefault((segment, quantity, side, mirrors), _Pieces([], 0.0))

    def segments(self) -> Mapping[int, tuple[Statistics, ...]]:
        """The statistics of each quantity in each segment, mirrors included."""
        rows: dict[int, list[Statistics]] = {}
        for (segment, quantity, _, mirrors), pieces in self._found.items():
            found = merged(pieces.found)
            row = rows.setdefault(segment, [Statistics() for _ in self._plan.quantities])
            row[quantity] = row[quantity].merge(found)
            for mirror in mirrors:
                image = found.mirrored(mirror.difference, negated=mirror.negated)
                row[quantity] = row[quantity].merge(image)
        return {segment: tuple(row) for segment, row in sorted(rows.items())}

    def worst(self) -> tuple[tuple[Worst, ...], ...]:
        """The worst inputs of each quantity."""
        return tuple(self._worst)

    def _may_enter(self, quantity: int, size: float, magnitude: int) -> bool:
        """Whether errors up to `size` at magnitudes from `magnitude` may be among the worst: of
        equal errors those at the least magnitudes are."""
        tenth = self._tenth(quantity)
        if size != tenth:
            return size > tenth
        return magnitude <= self._plan.place(self._worst[quantity][-1].key)[0]

    def _tenth(self, quantity: int) -> float:
        worst = self._worst[quantity]
        return worst[-1].size if len(worst) == WORST else 0.0


def _mirrored(entry: Worst, mirror: Mirror) -> Worst:
    key = entry.key ^ mirror.difference
    if not mirror.negated:
        return entry._replace(key=key)
    return Worst(entry.size, key, -entry.ulps, -entry.computed, -entry.rounded)
