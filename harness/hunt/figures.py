"""The statistics of scattered inputs, by segment: a sweep's figures over what a hunt has tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.hunt.evaluate import Evaluated
from harness.hunt.strata import segments
from harness.sweep.laws import LawTally, beyond_one, negative
from harness.sweep.plan import Plan
from harness.sweep.statistics import WORST, Statistics, Worst, measure, worst_of
from harness.sweep.summary import Seconds, Summary
from reference.certified.answers import Judgement

_OUTPUT_LAW, _GRADIENT_LAW = "output-bounded", "gradient-sign"


class Figures:
    """Adds up evaluations; an input that is tried twice counts twice.

    `quantities` are those that are evaluated; where a plan has more, these stay without points.
    """

    def __init__(self, plan: Plan, quantities: tuple[str, ...]) -> None:
        self._plan = plan
        self._quantities = quantities
        self._mask = np.uint64((1 << plan.format.width - 1) - 1)
        self._starts = np.array(
            [segment.start for segment in segments(plan.kind, plan.format).all], np.uint64
        )
        self._segments: dict[int, dict[str, Statistics]] = {}
        self._worst: dict[str, tuple[Worst, ...]] = {name: () for name in quantities}
        self._escalated = dict.fromkeys(quantities, 0)
        self._laws = {
            law: LawTally()
            for law, name in ((_OUTPUT_LAW, "output"), (_GRADIENT_LAW, "gradient"))
            if name in quantities
        }
        #: How many inputs were tried.
        self.points = 0

    def add(self, evaluated: Evaluated) -> None:
        """Add one evaluation."""
        bits = evaluated.bits.astype(np.uint64)
        magnitudes = bits & self._mask
        self.points += bits.size
        groups = np.searchsorted(self._starts, magnitudes, "right") - 1
        first, last = int(groups.min()), int(groups.max())
        if first == last:
            self._add_group(first, evaluated, bits, slice(None))
        else:
            order = np.argsort(groups, kind="stable")
            edges = np.flatnonzero(np.diff(groups[order])) + 1
            for index in np.split(order, edges):
                self._add_group(int(groups[index[0]]), evaluated, bits, index)
        for name, judgement, computed in zip(
            self._quantities, evaluated.judgements, evaluated.results, strict=True
        ):
            self._escalated[name] += judgement.escalated
            self._add_worst(name, judgement, computed, bits)
            law, broken = (
                (_OUTPUT_LAW, beyond_one(computed))
                if name == "output"
                else (_GRADIENT_LAW, negative(computed))
            )
            self._add_law(law, broken, bits)

    def note_scaled_error(self, bits: int, scaled_error: float) -> None:
        """A certified scaled error, which takes the place of a smaller one."""
        group = int(np.searchsorted(self._starts, np.uint64(bits) & self._mask, "right")) - 1
        statistics = self._segments[group]["gradient"]
        if scaled_error > statistics.max_scaled_error:
            self._segments[group]["gradient"] = replace(statistics, max_scaled_error=scaled_error)

    def summary(self) -> Summary:
        """All figures so far, as a sweep has them."""
        plan = self._plan
        nothing = Statistics()
        return Summary(
            start=0,
            stop=plan.positive[1],
            points=self.points,
            segments={
                group: tuple(found.get(name, nothing) for name in plan.quantities)
                for group, found in sorted(self._segments.items())
            },
            worst=tuple(self._worst.get(name, ()) for name in plan.quantities),
            escalated=tuple(self._escalated.get(name, 0) for name in plan.quantities),
            laws=self._laws,
            ends={},
            seconds=Seconds(),
        )

    def _add_group(
        self, group: int, evaluated: Evaluated, bits: NDArray[np.uint64], index: Any
    ) -> None:
        found = self._segments.setdefault(group, {})
        for name, judgement, computed in zip(
            self._quantities, evaluated.judgements, evaluated.results, strict=True
        ):
            part = Judgement(
                judgement.rounded[index],
                judgement.ulps[index],
                judgement.misrounded[index],
                judgement.unfaithful[index],
                0,
            )
            own = bits[index]
            statistics = measure(part, computed[index], 0.0, 0, 1)
            statistics = replace(
                statistics,
                worst=self._key(own, statistics.worst),
                first_nonfinite=self._key(own, statistics.first_nonfinite),
            )
            found[name] = found.get(name, Statistics()).merge(statistics)

    def _add_worst(
        self, name: str, judgement: Judgement, computed: Any, bits: NDArray[np.uint64]
    ) -> None:
        worst = self._worst[name]
        sizes = np.nan_to_num(np.abs(judgement.ulps), nan=0.0)
        least = worst[-1].size if len(worst) == WORST else 0.0
        candidates = np.flatnonzero(sizes > least)
        if not candidates.size:
            return
        if candidates.size > WORST:
            # The inputs differ, so that ties go to whatever comes first.
            candidates = candidates[np.argsort(-sizes[candidates], kind="stable")[: 4 * WORST]]
        entries = tuple(
            Worst(
                float(sizes[i]),
                self._key(bits, int(i)),
                float(judgement.ulps[i]),
                float(computed[i]),
                float(judgement.rounded[i]),
            )
            for i in candidates
        )
        self._worst[name] = worst_of(worst, entries)

    def _add_law(self, law: str, broken: Any, bits: NDArray[np.uint64]) -> None:
        breaches = 0 if broken is None else int(np.count_nonzero(broken))
        first = self._key(bits, int(broken.argmax())) if breaches else -1
        self._laws[law] = self._laws[law].merge(LawTally(bits.size, breaches, first))

    def _key(self, bits: NDArray[np.uint64], index: int) -> int:
        """The key of an input by its place; -1 for none."""
        if index < 0:
            return -1
        pattern = int(bits[index])
        return self._plan.key(pattern & int(self._mask), pattern >> self._plan.format.width - 1)
