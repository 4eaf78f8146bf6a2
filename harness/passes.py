"""The passes over the cases of a plan: one that sees them all, and one for each thing it finds."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hypothesis import Phase
from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.judge import Plan, patience_of
from harness.seeded import draw
from harness.smallest import Broken, Look, Smallest, smallest
from harness.strategies import Regime
from harness.tally import Spot, Tally

OnCase = Callable[[], None]

#: Lost processes of an isolated subject after which a regime is left: it costs a hundred cases to
#: start another, and the first is enough to shrink. And how long losses may take, the longest
#: apart, until a regime is left after its first.
_MOST_LOSSES: Final = 3
_MOST_LOST_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Passes:
    """The same cases, as often as they are asked for.

    Each regime is a run of its own: `strategy` draws its cases, `shares` says how many. Its seed
    is that of the plan, of the dtype and the regime, the same for every subject.
    """

    plan: Plan
    strategy: Callable[[str, Regime], SearchStrategy[Case]]
    shares: Mapping[Regime, int]

    def first(
        self, look_at: Callable[[Regime], Look], tally: Tally, on_case: OnCase | None = None
    ) -> None:
        """Add up the findings of all cases, as `look_at` of their regime looks at them. `on_case`
        is called after every case.

        A regime is left where an isolated subject has lost as many processes as `_MOST_LOSSES`, or
        one where losses have taken too long: the cases that are left out are not counted.
        """
        patience = patience_of(self.plan)
        losses: Counter[Regime] = Counter()
        seconds = [0.0]
        for regime, share in self.shares.items():
            look = look_at(regime)

            def collect(case: Case, regime: Regime = regime, look: Look = look) -> None:
                lost = sum(seconds) - max(seconds)
                if losses[regime] < (_MOST_LOSSES if lost < _MOST_LOST_SECONDS else 1):
                    before = 0.0 if patience is None else patience.lost_seconds
                    finding = look(case)
                    if patience is not None and finding.lost:
                        losses[regime] += 1
                        seconds.append(patience.lost_seconds - before)
                    tally.add(regime, finding)
                if on_case is not None:
                    on_case()

            draw(self._drawn(regime), share, self._seed(regime), (Phase.generate,), collect)

    def again(self, spot: Spot, look: Look, broken: Broken) -> Smallest:
        """The smallest finding that is `broken` where the first pass met one."""
        regime = spot.regime
        return smallest(
            spot.finding,
            self._drawn(regime),
            self.shares[regime],
            self._seed(regime),
            look,
            broken,
            patience_of(self.plan),
        )

    def _drawn(self, regime: Regime) -> SearchStrategy[Case]:
        return self.strategy(self.plan.dtype, regime)

    def _seed(self, regime: Regime) -> int:
        return zlib.crc32(f"{self.plan.seed}/{self.plan.dtype}/{regime}".encode())
