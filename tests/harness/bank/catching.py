"""What catches a subject: the words of `Fault.shows_as`, found case by case and by a search."""

from __future__ import annotations

from hypothesis import Phase

from harness.bank import Fault
from harness.case import Case
from harness.direction import Direction
from harness.grade import Grade
from harness.judge import Due, Finding, Judge, Plan
from harness.laws import LAWS, Rotation
from harness.second_order import SecondOrderEvaluator, judge_hessian_product
from harness.seeded import draw
from harness.shares import shares
from harness.strategies import Regime, cases, regimes_for, tanh_gradient_cases
from harness.subjects import Kind, Subject
from harness.verdict import Verdict

_REQUIRED = [law for law in LAWS if law.required]
_COSTLY = (Regime.LONG, Regime.VERY_LONG)


def plan(subject: Subject, dtype: str, *, examples: int = 1, seed: int = 0) -> Plan:
    """A plan that asks for what is asked of any subject."""
    return Plan(subject, dtype, "cpu", Grade.TEXTBOOK, examples, seed)


def caught_by(finding: Finding) -> set[str]:
    """What a finding shows: "grade", "raised", and the names of broken laws."""
    caught = set(finding.breaches)
    if finding.evaluation.raised is not None:
        caught.add("raised")
    if finding.judgement is not None and finding.judgement.grade is Grade.WRONG:
        caught.add("grade")
    return caught


class Witnessed:
    """What single cases show of one subject in one dtype: the grade, the required laws, and a
    second pass backward."""

    def __init__(self, subject: Subject, dtype: str) -> None:
        self.judge = Judge(plan(subject, dtype))
        self._twice = SecondOrderEvaluator(subject, "cpu")

    def finding(self, case: Case) -> Finding:
        """The finding for one case."""
        return self.judge(case, lambda seen: _REQUIRED)

    def caught_by(self, finding: Finding) -> set[str]:
        """What a finding shows, and what its case shows in another pass backward."""
        return caught_by(finding) | self._caught_going_back_twice(finding.case)

    def _caught_going_back_twice(self, case: Case) -> set[str]:
        """RETAIN_GRAPH if another pass backward over the same graph differs, "second-order" if one
        over the gradient's graph gives what no rounding explains."""
        if self.judge.kind is not Kind.ACTIVATION or case.inputs:
            return set()
        direction = Direction((), (), 1.0)
        evaluation = self._twice(case, direction)
        caught = set(evaluation.breaches)
        if evaluation.values is not None:
            arithmetic = self.judge.arithmetic(case)
            judgement = judge_hessian_product(case, direction, evaluation.values, arithmetic)
            if judgement is not None and judgement.grade is Grade.WRONG:
                caught.add("second-order")
        return caught


def caught_in_search(fault: Fault, dtype: str, seed: int, examples: int = 500) -> bool:
    """Whether a first pass such as a verification makes shows the fault as it should; the search
    ends where it does."""
    judge = Judge(plan(fault.subject, dtype))
    kind = fault.subject.kind
    strategy = tanh_gradient_cases if kind is Kind.TANH_GRADIENT else cases
    found: set[str] = set()

    share_of = shares(regimes_for(kind), examples)
    # Where what is special shows first, and what is costly last.
    for regime in sorted(reversed(share_of), key=_COSTLY.__contains__):
        due: Due = Rotation(LAWS, kind).due

        def look(case: Case, due: Due = due) -> None:
            if not found:
                found.update(caught_by(judge(case, due)) & fault.shows_as)

        draw(strategy(dtype, regime), share_of[regime], seed, (Phase.generate,), look)
        if found:
            return True
    return False


def alarms(verdict: Verdict) -> set[str]:
    """What a verdict fails by."""
    caught = {law.name for law in verdict.broken_laws}
    if verdict.error is not None:
        caught.add("raised")
    if verdict.grade is Grade.WRONG:
        caught.add("grade")
    if verdict.second_order is not None and not verdict.second_order.passed:
        caught.add("second-order")
    return caught
