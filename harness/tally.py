"""What the first pass over the cases of a plan finds, added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.case import Case
from harness.evaluate import CALL_LAWS
from harness.grade import Grade
from harness.judge import Finding
from harness.judgement import Element, severity, worst
from harness.laws.of_a_call import STRUCTURE
from harness.strategies import Regime
from harness.verdict import QuantityVerdict, worst_grade


class Spot(NamedTuple):
    """Where the first pass met something: a finding, and the regime of its case."""

    regime: Regime
    finding: Finding


@dataclass(slots=True)
class Worst:
    """The worst of one quantity so far."""

    grade: Grade | None = None
    ulps: float = 0.0
    bound_ratio: float = 0.0
    nonfinite_mismatch: int = 0
    severity: tuple[int, float, float] = (-1, 0.0, 0.0)
    case: Case | None = None

    def add(self, case: Case, elements: Sequence[Element]) -> None:
        """Take the elements of one case into account."""
        if not elements:
            return
        mismatch = False
        for element in elements:
            ulps, ratio = element.ulps, element.bound_ratio
            if ulps is None:
                mismatch = mismatch or element.grade is Grade.WRONG
            elif not element.hazard and not -self.ulps <= ulps <= self.ulps:
                self.ulps = abs(ulps)
            if ratio is not None and ratio > self.bound_ratio:
                self.bound_ratio = ratio
        self.nonfinite_mismatch += mismatch
        _, element = worst(elements)
        if self.case is None or severity(element) > self.severity:
            self.severity, self.case = severity(element), case
            self.grade = element.grade

    def verdict(self) -> QuantityVerdict:
        """As a record."""
        return QuantityVerdict(
            self.grade, self.ulps, self.bound_ratio, self.nonfinite_mismatch, self.case
        )


@dataclass(slots=True)
class Tally:
    """What the first pass found. `checked` counts the cases in which each law was checked."""

    names: Sequence[str]
    examples: int = 0
    unjudged: int = 0
    hazards: int = 0
    regimes: dict[Regime, int] = field(default_factory=dict)
    quantities: dict[str, Worst] = field(default_factory=dict)
    worst: dict[Regime, tuple[Grade, Finding]] = field(default_factory=dict)
    raised: Spot | None = None
    breaches: dict[str, Spot] = field(default_factory=dict)
    checked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.quantities = {name: Worst() for name in self.names}

    @property
    def grade(self) -> Grade | None:
        """The worst grade of any quantity; None if nothing was judged."""
        return worst_grade([worst.grade for worst in self.quantities.values()])

    def first_below(self, required: Grade) -> Spot:
        """The worst finding of the first regime in which a grade is missed, as one is."""
        return next(
            Spot(regime, finding)
            for regime, (grade, finding) in self.worst.items()
            if not grade.meets(required)
        )

    def add(self, regime: Regime, finding: Finding) -> None:
        """Take one finding into account."""
        self.examples += 1
        self.regimes[regime] = self.regimes.get(regime, 0) + 1
        if finding.evaluation.raised is not None and self.raised is None:
            self.raised = Spot(regime, finding)
        for name in finding.breaches:
            self.breaches.setdefault(name, Spot(regime, finding))
        if finding.evaluation.values is not None:
            self.checked.update(CALL_LAWS)
        elif finding.evaluation.raised is None:
            self.checked[STRUCTURE.name] += 1
        self.checked.update(finding.checked)
        judgement = finding.judgement
        if judgement is None:
            return
        self.unjudged += judgement.unjudged
        self.hazards += judgement.hazard
        grade = judgement.grade
        if regime not in self.worst or not grade.meets(self.worst[regime][0]):
            self.worst[regime] = grade, finding
        for name, elements in judgement.quantities.items():
            self.quantities[name].add(finding.case, elements)
