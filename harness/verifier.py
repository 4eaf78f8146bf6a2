"""Verification: hypothesis draws the cases, the oracle judges them, the worst becomes a verdict.

Each regime is a run of its own with a share of the examples, so that every regime is drawn in every
run. The first pass over the cases never stops: it collects the worst of every quantity, and checks
the laws in rotation. Only where a requirement is broken does a second pass, with the same seed,
stop at the first case that breaks it and let hypothesis shrink it.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

from hypothesis import Phase
from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.failure import element_report
from harness.grade import Grade
from harness.judge import Due, Finding, Judge, Plan
from harness.judgement import severity, worst
from harness.laws import LAWS, Law, Rotation
from harness.laws.of_a_call import REPEATABLE
from harness.seeded import draw
from harness.shares import shares
from harness.smallest import Broken, Look, Smallest, smallest
from harness.strategies import Regime, cases, regimes_for, tanh_gradient_cases
from harness.subjects import Kind
from harness.tally import Spot, Tally
from harness.verdict import Counterexample, LawVerdict, Verdict

OnCase = Callable[[], None]


def verify_one(plan: Plan, on_case: OnCase | None = None) -> Verdict:
    """Verify one subject in one dtype on one device. `on_case` is called after every case."""
    started = time.perf_counter()
    judge = Judge(plan)
    tally = Tally(judge.evaluator.quantities)
    share_of = shares(regimes_for(plan.subject.kind), plan.examples)

    for regime, share in share_of.items():
        due: Due = Rotation(LAWS, plan.subject.kind).due

        def collect(case: Case, regime: Regime = regime, due: Due = due) -> None:
            tally.add(regime, judge(case, due))
            if on_case is not None:
                on_case()

        draw(_strategy(plan, regime), share, _seed(plan, regime), (Phase.generate,), collect)

    def again(spot: Spot, look: Look, broken: Broken) -> Smallest:
        return smallest(
            spot.finding,
            _strategy(plan, spot.regime),
            share_of[spot.regime],
            _seed(plan, spot.regime),
            look,
            broken,
        )

    unsteady: list[Finding] = []
    counterexample, error = None, None
    if tally.raised is not None:
        found = again(tally.raised, judge, _raised)
        unsteady += [] if found.steady else [found.finding]
        error = f"raised {found.finding.evaluation.raised}"
        counterexample = Counterexample(found.finding.case, error)
    elif tally.grade is not None and not tally.grade.meets(plan.required):
        spot = tally.first_below(plan.required)
        found = again(spot, judge, lambda f: _below(f, plan.required))
        unsteady += [] if found.steady else [found.finding]
        counterexample = _counterexample(found.finding, plan.required)
    breaches = {}
    for law in LAWS:
        if law.name in tally.breaches:
            found = again(tally.breaches[law.name], _look(judge, law), _breaking(law))
            breaches[law.name] = Counterexample(
                found.finding.case, found.finding.breaches[law.name]
            )
            # An observed breach that does not come up again is no more than it was.
            if not found.steady and _is_required(law, plan, judge):
                unsteady.append(found.finding)
    if unsteady:
        breaches.setdefault(REPEATABLE.name, Counterexample(unsteady[0].case, _UNSTEADY))
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
        laws=tuple(
            LawVerdict(
                law.name,
                passed=law.name not in breaches,
                counterexample=breaches.get(law.name),
                applies=law.applies(plan.subject.kind),
                required=_is_required(law, plan, judge),
                checked=tally.checked[law.name],
            )
            for law in LAWS
        ),
        counterexample=counterexample,
        error=error,
        seconds=time.perf_counter() - started,
        locator=plan.locator,
        activation_ulps=plan.activation_ulps,
    )


def _is_required(law: Law, plan: Plan, judge: Judge) -> bool:
    return law.required or plan.strict_laws or (law.binds_built_ins and judge.built_in)


def _strategy(plan: Plan, regime: Regime) -> SearchStrategy[Case]:
    if plan.subject.kind is Kind.TANH_GRADIENT:
        return tanh_gradient_cases(plan.dtype, regime)
    return cases(plan.dtype, regime)


def _seed(plan: Plan, regime: Regime) -> int:
    """A seed of its own for each regime and dtype, the same for every subject."""
    return zlib.crc32(f"{plan.seed}/{plan.dtype}/{regime}".encode())


_UNSTEADY = "what the first pass found here was not found again when the same cases were run again"


def _raised(finding: Finding) -> bool:
    return finding.evaluation.raised is not None


def _below(finding: Finding, required: Grade) -> bool:
    return finding.judgement is not None and not finding.judgement.grade.meets(required)


def _look(judge: Judge, law: Law) -> Look:
    return lambda case: judge.law(law, case)


def _breaking(law: Law) -> Broken:
    return lambda finding: law.name in finding.breaches


def _counterexample(finding: Finding, required: Grade) -> Counterexample:
    judgement = finding.judgement
    assert judgement is not None
    name, (index, element) = max(
        ((name, worst(elements)) for name, elements in judgement.quantities.items() if elements),
        key=lambda item: severity(item[1][1]),
    )
    report = element_report(name, index, element, finding.case.format, required)
    return Counterexample(finding.case, f"{report.place} is {report.grade}", report)
