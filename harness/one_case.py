"""One case of one subject: the plan to judge it by, and an assertion, which a failure hands over
as a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.api import DEFAULT_REQUIRED, make_plans, named_subject
from harness.case import Case
from harness.counterexample import of_a_grade
from harness.errors import UsageError
from harness.flush import subnormals_kept
from harness.grade import Grade
from harness.judge import Finding, Judge, Plan, every_law
from harness.laws import LAWS
from harness.second_order import RETAIN_GRAPH
from harness.second_order_verifier import (
    SecondOrderJudge,
    retain_graph_required,
    second_order_required,
)
from harness.subjects import Kind, Subject
from harness.verdict import Counterexample, LawVerdict, Verdict, Verification


def check(
    subject: str | Subject | Callable[..., Any],
    case: str | Case,
    *,
    kind: Kind | str | None = None,
    device: str = "cpu",
    require: Grade | str | None = None,
    activation_ulps: float | None = None,
    strict_laws: bool = False,
) -> None:
    """Raise VerificationError unless `subject` earns what is required at one case, and keeps the
    laws there.

    The arguments are as for `harness.verify`; `case` is a `Case` or its JSON, as a failure prints
    it. Of a case with a direction `require` is the grade of the second order, textbook unless said.
    Raises UsageError for text that is no case, and for a case that does not fit the subject's kind;
    and otherwise as `verify` does.
    """
    __tracebackhide__ = True
    if isinstance(case, str):
        case = parsed(case)
    plan = plan_of_case(
        subject,
        case,
        kind=kind,
        device=device,
        require=require,
        activation_ulps=activation_ulps,
        strict_laws=strict_laws,
    )
    Verification({}, (judge_case(plan, case),)).raise_for_failure()


def parsed(text: str) -> Case:
    """The case in a line of JSON. Raises UsageError for other text."""
    try:
        return Case.from_json(text)
    except ValueError as error:
        raise UsageError(f"case: {error}") from None


def plan_of_case(
    subject: str | Subject | Callable[..., Any],
    case: Case,
    *,
    kind: Kind | str | None,
    device: str,
    activation_ulps: float | None,
    require: Grade | str | None = None,
    strict_laws: bool = False,
) -> Plan:
    """The plan by which one case is judged. The arguments are as for `check`, which says what is
    raised."""
    named = named_subject(subject, kind)
    _require_fit(named[1], case)
    twice = case.direction is not None
    (plan,) = make_plans(
        [named],
        dtypes=[case.dtype],
        devices=[device],
        require=require,
        examples=1,
        seed=0,
        activation_ulps=activation_ulps,
        strict_laws=strict_laws,
        second_order=(require or DEFAULT_REQUIRED) if twice else None,
    )
    return plan


def _require_fit(subject: Subject, case: Case) -> None:
    raw = subject.kind is Kind.TANH_GRADIENT
    if not raw and len(case.weights) != len(case.inputs):
        raise UsageError(
            f"the case has {len(case.inputs)} inputs and {len(case.weights)} weights, which fits a "
            f"tanh-gradient; {subject.name} is of kind {subject.kind}; say --as tanh-gradient"
        )
    if raw and case.direction is not None:
        raise UsageError(
            f"the case has a direction, and {subject.name}, of kind {subject.kind}, has no second "
            "order; leave the direction out, or name a neuron or an activation"
        )
    if raw and case.weights:
        raise UsageError(
            f"the case has weights, which fits a neuron; {subject.name} is of kind {subject.kind}, "
            "and a tanh-gradient takes none; name a neuron or an activation"
        )


def judge_case(plan: Plan, case: Case) -> Verdict:
    """The verdict on one case alone, which is its own counterexample. A case with a direction is
    held to what the plan asks of the second order."""
    judge = Judge(plan)
    twice = case.direction is not None
    required = (second_order_required(plan) or Grade.WRONG) if twice else plan.required
    with subnormals_kept():
        finding = SecondOrderJudge(plan)(case) if twice else judge(case, every_law)
    raised = finding.evaluation.raised
    judgement = finding.judgement
    grade = None if judgement is None else judgement.grade
    shown = None
    if raised is not None:
        shown = Counterexample(case, f"raised {raised}")
    elif grade is not None and not grade.meets(required):
        shown = of_a_grade(finding, required)
    return Verdict(
        subject=plan.subject.name,
        kind=str(plan.subject.kind),
        dtype=plan.dtype,
        device=plan.device,
        required=required,
        expected_wrong=plan.expected_wrong and not twice,
        reason=plan.reason,
        grade=grade,
        examples=1,
        unjudged=int(judgement is not None and judgement.unjudged),
        hazards=int(judgement is not None and judgement.hazard),
        regimes={},
        quantities={},
        laws=_broken(plan, finding, judge.built_in),
        counterexample=shown,
        error=None if raised is None else f"raised {raised}",
        seconds=0.0,
        locator=plan.locator,
        activation_ulps=plan.activation_ulps,
    )


def _broken(plan: Plan, finding: Finding, built_in: bool) -> tuple[LawVerdict, ...]:
    """The laws that the case breaks."""
    required = {law.name for law in LAWS if law.required or (built_in and law.binds_built_ins)}
    if retain_graph_required(plan):
        required.add(RETAIN_GRAPH)
    return tuple(
        LawVerdict(
            name,
            passed=False,
            counterexample=Counterexample(finding.case, text),
            required=plan.strict_laws or name in required,
            checked=1,
        )
        for name, text in finding.breaches.items()
    )
