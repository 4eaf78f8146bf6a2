"""Verification: hypothesis draws the cases, the oracle judges them, the worst becomes a verdict.

Each regime is a run of its own with a share of the examples, so that every regime is drawn in every
run. The first pass over the cases never stops: it collects the worst of every quantity. Only where
a requirement is broken does a second pass, with the same seed, stop at the first case that breaks
it and let hypothesis shrink it.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from hypothesis import Phase
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.contract import (
    Element,
    Judgement,
    judge_neuron,
    judge_tanh_gradient,
    severity,
    worst,
)
from harness.evaluate import CALL_LAWS, Evaluation, Evaluator
from harness.failure import element_report
from harness.grade import Grade
from harness.seeded import draw
from harness.shrink import Shrinking
from harness.strategies import Regime, cases, regimes_for, tanh_gradient_cases
from harness.subjects import Kind, Subject
from harness.verdict import (
    Counterexample,
    LawVerdict,
    QuantityVerdict,
    Verdict,
    worst_grade,
)
from reference.bounds import Arithmetic, default_arithmetic
from reference.neuron import neuron

#: Cases tried to simplify a counterexample after hypothesis has shrunk it.
_SIMPLIFICATIONS = 500

OnCase = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to verify of one subject in one dtype on one device, and how hard to look.

    `locator` is the name by which the command line finds the subject; None if it finds it by none.
    """

    subject: Subject
    dtype: str
    device: str
    required: Grade
    examples: int
    seed: int
    expected_wrong: bool = False
    reason: str = ""
    activation_ulps: float | None = None
    flush_to_zero: bool = False
    locator: str | None = None

    @property
    def cases(self) -> int:
        """How many cases the first pass draws: `examples`, or one for each regime if more."""
        return sum(_shares(regimes_for(self.subject.kind), self.examples).values())


@dataclass(frozen=True, slots=True)
class Finding:
    """One case, evaluated and judged."""

    case: Case
    evaluation: Evaluation
    judgement: Judgement | None


class Judge:
    """Evaluates and judges cases of one plan."""

    def __init__(self, plan: Plan) -> None:
        subject = plan.subject
        self._kind = subject.kind
        self.evaluator = Evaluator(subject, plan.device, flush_to_zero=plan.flush_to_zero)
        self._subject = subject
        self._activation_ulps = plan.activation_ulps
        self._flush_to_zero = plan.flush_to_zero or subject.flush_to_zero

    def arithmetic(self, case: Case) -> Arithmetic:
        """How the subject is taken to compute in the case's dtype.

        An accumulation format narrower than the dtype's own is no excuse: float64 summed in
        binary32 is held to float64.
        """
        ulps = self._activation_ulps
        summed = self._subject.accumulation
        if summed is not None and summed.precision < case.format.precision:
            summed = None
        return default_arithmetic(
            case.format,
            accumulation=summed,
            activation_ulps=self._subject.activation_ulps if ulps is None else ulps,
            flush_to_zero=self._flush_to_zero,
        )

    def __call__(self, case: Case) -> Finding:
        """The finding for one case."""
        evaluation = self.evaluator(case)
        values = evaluation.values
        if values is None:
            return Finding(case, evaluation, None)
        arithmetic = self.arithmetic(case)
        if self._kind is Kind.TANH_GRADIENT:
            judgement = judge_tanh_gradient(
                case.inputs, case.upstream_gradient, values["gradient"], arithmetic
            )
        else:
            exact = neuron(
                case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format
            )
            judgement = judge_neuron(exact, values, arithmetic)
        return Finding(case, evaluation, judgement)


def verify_one(plan: Plan, on_case: OnCase | None = None) -> Verdict:
    """Verify one subject in one dtype on one device. `on_case` is called after every case."""
    started = time.perf_counter()
    judge = Judge(plan)
    tally = _Tally(judge.evaluator.quantities)
    shares = _shares(regimes_for(plan.subject.kind), plan.examples)

    for regime, share in shares.items():

        def collect(case: Case, regime: Regime = regime) -> None:
            tally.add(regime, judge(case))
            if on_case is not None:
                on_case()

        draw(_strategy(plan, regime), share, _seed(plan, regime), (Phase.generate,), collect)

    search = _Search(plan, judge, shares)
    counterexample, error = None, None
    if tally.raised is not None:
        found = search.smallest(tally.raised, _raised)
        error = f"raised {found.evaluation.raised}"
        counterexample = Counterexample(found.case, error)
    elif tally.grade is not None and not tally.grade.meets(plan.required):
        spot = tally.first_below(plan.required)
        found = search.smallest(spot, lambda f: _below(f, plan.required))
        counterexample = _counterexample(found, plan.required)
    breaches = {
        name: _law_counterexample(name, search.smallest(spot, _breaking(name)))
        for name, spot in tally.breaches.items()
    }
    if search.unsteady is not None:
        breaches.setdefault("repeatable", Counterexample(search.unsteady.case, _UNSTEADY))
    laws = tuple(LawVerdict(name, name not in breaches, breaches.get(name)) for name in CALL_LAWS)
    return Verdict(
        subject=plan.subject.name,
        kind=str(plan.subject.kind),
        dtype=plan.dtype,
        device=plan.device,
        required=plan.required,
        expected_wrong=plan.expected_wrong,
        reason=plan.reason,
        grade=tally.grade,
        examples=tally.examples,
        unjudged=tally.unjudged,
        hazards=tally.hazards,
        regimes={str(regime): count for regime, count in tally.regimes.items()},
        quantities={name: worst.verdict() for name, worst in tally.quantities.items()},
        laws=laws,
        counterexample=counterexample,
        error=error,
        seconds=time.perf_counter() - started,
        locator=plan.locator,
        activation_ulps=plan.activation_ulps,
    )


class _Spot(NamedTuple):
    """Where the first pass met something: a finding, and the regime of its case."""

    regime: Regime
    finding: Finding


@dataclass(slots=True)
class _Worst:
    """The worst of one quantity so far."""

    grade: Grade | None = None
    ulps: float = 0.0
    bound_ratio: float = 0.0
    nonfinite_mismatch: int = 0
    severity: tuple[int, float, float] = (-1, 0.0, 0.0)
    case: Case | None = None

    def add(self, case: Case, elements: Sequence[Element]) -> None:
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
        return QuantityVerdict(
            self.grade, self.ulps, self.bound_ratio, self.nonfinite_mismatch, self.case
        )


@dataclass(slots=True)
class _Tally:
    """What the first pass found."""

    names: Sequence[str]
    examples: int = 0
    unjudged: int = 0
    hazards: int = 0
    regimes: dict[Regime, int] = field(default_factory=dict)
    quantities: dict[str, _Worst] = field(default_factory=dict)
    worst: dict[Regime, tuple[Grade, Finding]] = field(default_factory=dict)
    raised: _Spot | None = None
    breaches: dict[str, _Spot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.quantities = {name: _Worst() for name in self.names}

    @property
    def grade(self) -> Grade | None:
        return worst_grade([worst.grade for worst in self.quantities.values()])

    def first_below(self, required: Grade) -> _Spot:
        return next(
            _Spot(regime, finding)
            for regime, (grade, finding) in self.worst.items()
            if not grade.meets(required)
        )

    def add(self, regime: Regime, finding: Finding) -> None:
        self.examples += 1
        self.regimes[regime] = self.regimes.get(regime, 0) + 1
        if finding.evaluation.raised is not None and self.raised is None:
            self.raised = _Spot(regime, finding)
        for name in finding.evaluation.breaches:
            self.breaches.setdefault(name, _Spot(regime, finding))
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


#: What part of a full share a regime gets whose cases cost as much as many others.
_PARTS = {Regime.LONG: Fraction(1, 2), Regime.VERY_LONG: Fraction(1, 16)}


def _shares(regimes: Sequence[Regime], examples: int) -> dict[Regime, int]:
    """The examples of each regime: equal shares, less where a case is costly, and at least one; the
    first regimes with a full share take what is left over."""
    parts = {regime: _PARTS.get(regime, Fraction(1)) for regime in regimes}
    full = examples / sum(parts.values())
    shares = {regime: max(1, int(full * part)) for regime, part in parts.items()}
    rest = max(0, examples - sum(shares.values()))
    for regime in [regime for regime in regimes if regime not in _PARTS][:rest]:
        shares[regime] += 1
    return shares


def _strategy(plan: Plan, regime: Regime) -> SearchStrategy[Case]:
    if plan.subject.kind is Kind.TANH_GRADIENT:
        return tanh_gradient_cases(plan.dtype, regime)
    return cases(plan.dtype, regime)


def _seed(plan: Plan, regime: Regime) -> int:
    """A seed of its own for each regime and dtype, the same for every subject."""
    return zlib.crc32(f"{plan.seed}/{plan.dtype}/{regime}".encode())


class _Broken(Exception):
    """Tells hypothesis that a case breaks the requirement."""


_UNSTEADY = "what the first pass found here was not found again when the same cases were run again"


class _Search:
    """The second pass: looks for the smallest case that breaks a requirement."""

    def __init__(self, plan: Plan, judge: Judge, shares: dict[Regime, int]) -> None:
        self._plan = plan
        self._judge = judge
        self._shares = shares
        #: A finding of the first pass that did not come up again, if there was one.
        self.unsteady: Finding | None = None

    def smallest(self, spot: _Spot, broken: Callable[[Finding], bool]) -> Finding:
        """The smallest finding that is `broken` from the regime of `spot`, which is one itself."""
        last: list[Finding] = []

        def run(case: Case) -> None:
            finding = self._judge(case)
            if broken(finding):
                last.append(finding)
                raise _Broken

        # Hypothesis ends with the smallest case. A subject that breaks the requirement only now and
        # then is Flaky to it, and the last case that did is as good as there is.
        with suppress(_Broken, Flaky):
            draw(
                _strategy(self._plan, spot.regime),
                self._shares[spot.regime],
                _seed(self._plan, spot.regime),
                (Phase.generate, Phase.shrink),
                run,
            )
        if not last:
            self.unsteady = self.unsteady or spot.finding
            return spot.finding
        return self._simplest(last[-1], broken)

    def _simplest(self, finding: Finding, broken: Callable[[Finding], bool]) -> Finding:
        """What is left when terms are dropped and numbers rounded one by one: hypothesis works on
        the bytes a case was drawn from, and cannot cut out what stands in the middle."""
        kept = finding

        def keeps(case: Case) -> bool:
            nonlocal kept
            candidate = self._judge(case)
            if not broken(candidate):
                return False
            kept = candidate
            return True

        Shrinking(finding.case).run(keeps, _SIMPLIFICATIONS)
        return kept


def _raised(finding: Finding) -> bool:
    return finding.evaluation.raised is not None


def _below(finding: Finding, required: Grade) -> bool:
    return finding.judgement is not None and not finding.judgement.grade.meets(required)


def _breaking(law: str) -> Callable[[Finding], bool]:
    return lambda finding: law in finding.evaluation.breaches


def _counterexample(finding: Finding, required: Grade) -> Counterexample:
    judgement = finding.judgement
    assert judgement is not None
    name, (index, element) = max(
        ((name, worst(elements)) for name, elements in judgement.quantities.items() if elements),
        key=lambda item: severity(item[1][1]),
    )
    report = element_report(name, index, element, finding.case.format, required)
    return Counterexample(finding.case, f"{report.place} is {report.grade}", report)


def _law_counterexample(name: str, finding: Finding) -> Counterexample:
    return Counterexample(finding.case, finding.evaluation.breaches[name])
