"""One case of one subject as an assertion: what a failure hands over as a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.api import make_plans, named_subject
from harness.case import Case
from harness.counterexample import of_a_grade
from harness.errors import UsageError
from harness.flush import subnormals_kept
from harness.grade import Grade
from harness.judge import Finding, Judge, Plan, every_law
from harness.laws import LAWS
from harness.second_order_verifier import SecondOrderJudge
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
    it. A case with a direction is one of the second order. Raises UsageError for text that is no
    case, and otherwise as `verify` does.
    """
    if isinstance(case, str):
        try:
            case = Case.from_json(case)
        except ValueError as error:
            raise UsageError(f"case: {error}") from None
    (plan,) = make_plans(
        [named_subject(subject, kind)],
        dtypes=[case.dtype],
        devices=[device],
        require=require,
        examples=1,
        seed=0,
        activation_ulps=activation_ulps,
        strict_laws=strict_laws,
    )
    Verification({}, (judge_case(plan, case),)).raise_for_failure()


def judge_case(plan: Plan, case: Case) -> Verdict:
    """The verdict on one case alone, which is its own counterexample."""
    judge = Judge(plan)
    with subnormals_kept():
        twice = case.direction is not None
        finding = SecondOrderJudge(plan)(case) if twice else judge(case, every_law)
    raised = finding.evaluation.raised
    judgement = finding.judgement
    grade = None if judgement is None else judgement.grade
    shown = None
    if raised is not None:
        shown = Counterexample(case, f"raised {raised}")
    elif grade is not None and not grade.meets(plan.required):
        shown = of_a_grade(finding, plan.required)
    return Verdict(
        subject=plan.subject.name,
        kind=str(plan.subject.kind),
        dtype=plan.dtype,
        device=plan.device,
        required=plan.required,
        expected_wrong=plan.expected_wrong,
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
    observed = {law.name: not (law.required or (built_in and law.binds_built_ins)) for law in LAWS}
    return tuple(
        LawVerdict(
            name,
            passed=False,
            counterexample=Counterexample(finding.case, text),
            required=plan.strict_laws or not observed.get(name, False),
            checked=1,
        )
        for name, text in finding.breaches.items()
    )
