"""Verification: hypothesis draws the cases, the oracle judges them, the worst becomes a verdict.

Each regime is a run of its own with a share of the examples, so that every regime is drawn in every
run. The first pass over the cases never stops: it collects the worst of every quantity, and checks
the laws in rotation. Only where a requirement is broken does a second pass, with the same seed,
stop at the first case that breaks it and let hypothesis shrink it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from hypothesis.strategies import SearchStrategy

from harness.case import Case
from harness.counterexample import Shortfall, shortfall
from harness.inert import inert
from harness.judge import Due, Judge, Plan
from harness.laws import LAWS, Law, Rotation
from harness.laws.of_a_call import REPEATABLE
from harness.passes import OnCase, Passes
from harness.second_order_verifier import verify_second_order
from harness.shares import shares
from harness.smallest import Broken, Look
from harness.strategies import Regime, cases, regimes_for, tanh_gradient_cases
from harness.subjects import Kind
from harness.tally import Tally
from harness.verdict import Counterexample, LawVerdict, Verdict


def verify_one(plan: Plan, on_case: OnCase | None = None) -> Verdict:
    """Verify one subject in one dtype on one device. `on_case` is called after every case of the
    first pass, which are `plan.cases`."""
    started = time.perf_counter()
    judge = Judge(plan)
    tally = Tally(judge.evaluator.quantities)
    kind = plan.subject.kind
    passes = Passes(plan, _strategy(kind), shares(regimes_for(kind), plan.examples))

    def look_at(_regime: Regime) -> Look:
        due: Due = Rotation(LAWS, kind).due
        return lambda case: judge(case, due)

    passes.first(look_at, tally, on_case)
    missed = shortfall(passes, tally, judge, plan.required)
    second = verify_second_order(plan, shrink=missed == Shortfall())
    unsteady = [each for each in (missed.unsteady, second.unsteady) if each is not None]
    breaches = {}
    for law in LAWS:
        if law.name in tally.breaches:
            found = passes.again(tally.breaches[law.name], _look(judge, law), _breaking(law))
            breaches[law.name] = Counterexample(
                found.finding.case, inert(found.finding.breaches[law.name], _LONGEST_MESSAGE)
            )
            # An observed breach that does not come up again is no more than it was.
            if not found.steady and _is_required(law, plan, judge):
                unsteady.append(found.finding)
    if unsteady:
        breaches.setdefault(REPEATABLE.name, Counterexample(unsteady[0].case, _UNSTEADY))
    laws = [
        LawVerdict(
            law.name,
            passed=law.name not in breaches,
            counterexample=breaches.get(law.name),
            applies=law.applies(kind),
            required=_is_required(law, plan, judge),
            checked=tally.checked[law.name],
        )
        for law in LAWS
    ]
    return Verdict(
        subject=inert(plan.subject.name),
        kind=str(kind),
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
        laws=(*laws, second.law),
        counterexample=missed.counterexample,
        error=missed.error,
        seconds=time.perf_counter() - started,
        locator=plan.locator,
        activation_ulps=plan.activation_ulps,
        second_order=second.verdict,
    )


def _is_required(law: Law, plan: Plan, judge: Judge) -> bool:
    return law.required or plan.strict_laws or (law.binds_built_ins and judge.built_in)


def _strategy(kind: Kind) -> Callable[[str, Regime], SearchStrategy[Case]]:
    return tanh_gradient_cases if kind is Kind.TANH_GRADIENT else cases


#: Of a law's message, which may hold a long case.
_LONGEST_MESSAGE = 1 << 20
_UNSTEADY = "what the first pass found here was not found again when the same cases were run again"


def _look(judge: Judge, law: Law) -> Look:
    return lambda case: judge.law(law, case)


def _breaking(law: Law) -> Broken:
    return lambda finding: law.name in finding.breaches
