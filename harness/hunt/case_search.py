"""The hunt over whole neurons: the worst cases so far, and what becomes of them when they change.

For every quantity there are two records, since the errors in ulps are dominated by cases whose sum
cancels, which no implementation in this format can do better: the error in ulps, and the error over
the textbook bound, which allows for that. Of each objective the worst few cases are kept; most new
cases are these, changed, the rest are drawn in the regimes of `harness.strategies`. What has led to
records is done more often. Decided by scores alone, never by time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from harness.case import Case
from harness.hunt.budget import Budget
from harness.hunt.judge import (
    MISMATCH,
    NEURON_OBJECTIVES,
    RAISED,
    CaseJudge,
    Judged,
)
from harness.hunt.mutate import MUTATIONS, crossed
from harness.hunt.plan import Plan
from harness.hunt.scores import Objective
from harness.strategies import Regime, regimes_for
from harness.strategies.neurons import neuron_case
from harness.subjects import Kind

#: Cases that are kept of each objective.
_ELITE: Final = 8
#: Cases judged in one step.
_A_STEP: Final = 24
#: Cases of each regime before the first is changed.
_DRAWN_FIRST: Final = 4
#: Of the cases after that, how many are drawn.
_DRAWN: Final = 0.25
_CROSSED: Final = 0.1
#: No figure can become larger than this: nothing is left to hunt for.
_CEILING: Final = 1e308


@dataclass(slots=True)
class CaseRecord:
    """The worst case of an objective: its judgement, where it comes from, after how many cases."""

    value: float
    judged: Judged
    origin: str
    evaluations: int


@dataclass(slots=True)
class RegimeFigures:
    """What was drawn in a regime, or changed from what was: cases, and the worst by objective."""

    cases: int = 0
    worst: dict[Objective, tuple[float, Case]] = field(default_factory=dict)


@dataclass(slots=True)
class _Member:
    value: float
    case: Case
    regime: str


@dataclass(slots=True)
class _Source:
    """How often a mutation or a regime was tried, and how often a record came of it."""

    tries: int = 0
    records: float = 0.0

    @property
    def weight(self) -> float:
        return (1.0 + self.records) / (16.0 + self.tries)


class CaseSearch:
    """A search over the cases of a neuron, step by step. `first` are judged before all others."""

    def __init__(
        self, plan: Plan, judge: CaseJudge, budget: Budget, first: Sequence[Case] = ()
    ) -> None:
        self._dtype = plan.dtype
        self._judge = judge
        self._budget = budget
        self._random = Random(plan.seed)
        regimes = regimes_for(Kind.NEURON)
        self._first: list[tuple[str, Case]] = [("given", case) for case in first]
        self._drawn_first = [regime for regime in regimes for _ in range(_DRAWN_FIRST)]
        self._regimes = {regime: _Source() for regime in regimes}
        self._mutations = {mutation: _Source() for mutation in MUTATIONS}
        self._elites: dict[Objective, list[_Member]] = {}
        self._turn = 0
        self.records: dict[Objective, CaseRecord] = {}
        self.figures: dict[str, RegimeFigures] = {}
        self.unjudged = 0
        self.cases = 0
        #: The law of a call that was broken first, and the case.
        self.breaches: dict[str, tuple[str, Case]] = {}

    def step(self) -> bool:
        """Judge a few cases. True: there are always more."""
        for _ in range(self._budget.room(_A_STEP)):
            origin, regime, case, sources = self._next()
            with self._budget.calling(case.to_json):
                judged = self._judge(case)
            self._take(origin, regime, judged, sources)
            if self._budget.spent():
                break
        return True

    def _next(self) -> tuple[str, str, Case, list[_Source]]:
        """A case: how it was made, the regime it goes back to, and what gets the credit."""
        random = self._random
        if self._first:
            origin, case = self._first.pop(0)
            return origin, "given", case, []
        if self._drawn_first:
            return self._draw(self._drawn_first.pop(0))
        live = [
            objective
            for objective in NEURON_OBJECTIVES
            if (elite := self._elites.get(objective)) and elite[-1].value < _CEILING
        ]
        if not live or random.random() < _DRAWN:
            regimes = list(self._regimes)
            weights = [self._regimes[regime].weight for regime in regimes]
            return self._draw(random.choices(regimes, weights)[0])
        self._turn += 1
        elite = self._elites[live[self._turn % len(live)]]
        parent = random.choice(elite)
        if random.random() < _CROSSED:
            case = crossed(parent.case, random.choice(elite).case, random)
            return "crossed", parent.regime, case, []
        case, names, sources = parent.case, [], []
        mutations = list(self._mutations)
        weights = [self._mutations[mutation].weight for mutation in mutations]
        for mutation in random.choices(mutations, weights, k=random.choice((1, 1, 2, 3))):
            case = mutation(case, random)
            names.append(mutation.__name__)
            sources.append(self._mutations[mutation])
        return f"changed by {', '.join(names)}", parent.regime, case, sources

    def _draw(self, regime: Regime) -> tuple[str, str, Case, list[_Source]]:
        case = neuron_case(self._random.randrange, self._dtype, regime)
        return f"drawn in {regime}", str(regime), case, [self._regimes[regime]]

    def _take(self, origin: str, regime: str, judged: Judged, sources: list[_Source]) -> None:
        self._budget.evaluations += 1
        self.cases += 1
        self.unjudged += judged.raised is None and judged.grade is None and not judged.breaches
        figures = self.figures.setdefault(regime, RegimeFigures())
        figures.cases += 1
        for law, text in judged.breaches.items():
            self.breaches.setdefault(law, (text, judged.case))
        if judged.raised is not None:
            self._record(Objective("call", RAISED), 1.0, judged, origin)
            return
        progress = 0.0
        for objective, figure in judged.figures.items():
            worst = figures.worst.get(objective)
            if worst is None or figure.value > worst[0]:
                figures.worst[objective] = figure.value, judged.case
            if objective.figure == MISMATCH:
                self._record(objective, figure.value, judged, origin)
            elif self._join(objective, figure.value, judged.case, regime):
                progress += 0.25 + self._record(objective, figure.value, judged, origin)
        for source in sources:
            source.tries += 1
            source.records += min(progress, 1.0)

    def _record(self, objective: Objective, value: float, judged: Judged, origin: str) -> bool:
        before = self.records.get(objective)
        if before is not None and value <= before.value:
            return False
        self.records[objective] = CaseRecord(value, judged, origin, self._budget.evaluations)
        return True

    def _join(self, objective: Objective, value: float, case: Case, regime: str) -> bool:
        """Put a case among the worst of an objective if it is one of them."""
        if objective not in _HUNTED or value <= 0:
            return False
        elite = self._elites.setdefault(objective, [])
        if len(elite) == _ELITE and value <= elite[-1].value:
            return False
        if value < _CEILING and any(member.value == value for member in elite):
            # Most often the same case with a change that does not matter.
            return False
        elite.append(_Member(value, case, regime))
        elite.sort(key=lambda member: -member.value)
        del elite[_ELITE:]
        return True


_HUNTED: Final = frozenset(NEURON_OBJECTIVES)
