"""Verification of the second order: cases with a direction, differentiated twice and judged.

It has a share of the examples and a grade of its own. It fails a verdict where a second derivative
is promised: by an activation whose backward pass is recorded, or because a grade is asked for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.case import Case
from harness.counterexample import Shortfall, shortfall
from harness.grade import Grade
from harness.isolate.remote import IsolatedSecondOrderEvaluator
from harness.isolate.subject import IsolatedFunction
from harness.judge import Finding, Judge, Plan
from harness.passes import Passes
from harness.second_order import (
    RETAIN_GRAPH,
    SECOND_ORDER_QUANTITIES,
    SecondOrderEvaluator,
    judge_hessian_product,
)
from harness.shares import shares
from harness.strategies import Regime, regimes_for
from harness.strategies.directions import cases_with_directions
from harness.subjects import Kind
from harness.tally import Tally
from harness.verdict import Counterexample, LawVerdict, SecondOrderVerdict

#: A case of the second order takes as long as three of the first, and there is less to find.
_ONE_IN: Final = 16
#: The least of each regime. The first is its simplest, which shows little: g = 1, along the bias.
_OF_A_REGIME: Final = 4


class SecondOrder(NamedTuple):
    """What was found of one subject in one dtype on one device: its grade (None for a kind that has
    no second order), the law that a backward pass can be repeated, and a finding that did not come
    up again."""

    verdict: SecondOrderVerdict | None
    law: LawVerdict
    unsteady: Finding | None = None


class SecondOrderJudge:
    """Evaluates and judges cases of one plan along their directions."""

    def __init__(self, plan: Plan) -> None:
        self._arithmetic = Judge(plan).arithmetic
        self._evaluate = _evaluator(plan)
        #: Why the subject has no second order, in one line; None if it has one.
        self.unsupported = self._evaluate.unsupported(plan.dtype)

    def __call__(self, case: Case) -> Finding:
        """The finding for one case, which has a direction."""
        assert case.direction is not None
        evaluation = self._evaluate(case, case.direction)
        if evaluation.values is None:
            return Finding(case, evaluation, None, lost=evaluation.lost)
        judgement = judge_hessian_product(
            case, case.direction, evaluation.values, self._arithmetic(case)
        )
        return Finding(case, evaluation, judgement)


def second_order_shares(plan: Plan) -> dict[Regime, int]:
    """How many cases of each regime are drawn of a subject that can be differentiated twice."""
    # What more than a thousand terms show of a sum they show in the first order.
    regimes = [each for each in regimes_for(plan.subject.kind) if each is not Regime.VERY_LONG]
    few = min(plan.examples, _OF_A_REGIME * len(regimes))
    wanted = max(few, plan.examples // _ONE_IN)
    # What is only reported takes half of that.
    return shares(regimes, wanted if second_order_required(plan) is not None else wanted // 2)


def _evaluator(plan: Plan) -> SecondOrderEvaluator | IsolatedSecondOrderEvaluator:
    subject, device, flush = plan.subject, plan.device, plan.flush_to_zero
    if isinstance(subject.function, IsolatedFunction):
        return IsolatedSecondOrderEvaluator(subject, plan.dtype, device, flush)
    return SecondOrderEvaluator(subject, device, flush_to_zero=flush)


def verify_second_order(plan: Plan, *, shrink: bool) -> SecondOrder:
    """Verify the second order of one subject; with `shrink` the smallest case is looked for that
    misses a requirement.

    No case is drawn for a neuron that cannot be differentiated twice; of an activation that cannot,
    the first backward pass is repeated.
    """
    kind = plan.subject.kind
    if kind is Kind.TANH_GRADIENT:
        return SecondOrder(None, LawVerdict(RETAIN_GRAPH, passed=True, applies=False))
    judge = SecondOrderJudge(plan)
    tally = Tally(SECOND_ORDER_QUANTITIES)
    passes = Passes(plan, cases_with_directions, second_order_shares(plan))
    if kind is Kind.ACTIVATION or judge.unsupported is None:
        passes.first(lambda regime: judge, tally)
    required = second_order_required(plan)
    missed = shortfall(passes, tally, judge, required) if shrink and required else Shortfall()
    law = _law(plan, passes, tally, judge)
    verdict = SecondOrderVerdict(
        required=required,
        asked_for=plan.second_order is not None,
        unsupported=judge.unsupported,
        grade=tally.grade,
        examples=tally.examples,
        unjudged=tally.unjudged,
        hazards=tally.hazards,
        quantities={name: worst.verdict() for name, worst in tally.quantities.items()},
        counterexample=missed.counterexample,
        error=_error(tally),
    )
    return SecondOrder(verdict, law, missed.unsteady)


def second_order_required(plan: Plan) -> Grade | None:
    """The grade that a subject has to earn; None where it is only reported."""
    if plan.second_order is not None:
        return plan.second_order
    if plan.subject.kind is not Kind.ACTIVATION or plan.expected_wrong:
        return None
    # No more than of the first order.
    return Grade.worst([Grade.TEXTBOOK, plan.required])


def _error(tally: Tally) -> str | None:
    return None if tally.raised is None else tally.raised.finding.evaluation.failure


def retain_graph_required(plan: Plan) -> bool:
    """Whether a breach of the law fails the verdict. An activation is used in networks, whose
    graphs are kept; a neuron has no such use."""
    return plan.strict_laws or plan.subject.kind is Kind.ACTIVATION


def _law(plan: Plan, passes: Passes, tally: Tally, judge: SecondOrderJudge) -> LawVerdict:
    spot = tally.breaches.get(RETAIN_GRAPH)
    shown = None
    if spot is not None:
        found = passes.again(spot, judge, lambda finding: RETAIN_GRAPH in finding.breaches)
        shown = Counterexample(found.finding.case, found.finding.breaches[RETAIN_GRAPH])
    return LawVerdict(
        RETAIN_GRAPH,
        passed=spot is None,
        counterexample=shown,
        required=retain_graph_required(plan),
        checked=tally.examples,
    )
