"""Single cases, judged by themselves as `explain` judges them."""

from __future__ import annotations

from typing import Any

from harness.case import Case
from harness.failure import element_report
from harness.inert import inert
from harness.judge import Finding, Judge, Plan
from harness.judgement import severity, worst
from harness.second_order_verifier import SecondOrderJudge


class Cases:
    """Judges cases of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._judge = Judge(plan)
        self._second: SecondOrderJudge | None = None

    def __call__(self, quantity: str, case: Case) -> dict[str, Any]:
        """The worst float of a quantity ("": of all) in a case, or what the subject raised instead
        (see `harness.report.record.WorstInput`)."""
        finding = self._find(case)
        if finding.judgement is None:
            raised = finding.evaluation.raised or "what its laws forbid: it has no result to judge"
            return {"message": inert(f"raised {raised}")}
        quantities = finding.judgement.quantities
        names = [quantity] if quantity else list(quantities)
        found = {name: worst(quantities[name]) for name in names if quantities.get(name)}
        if not found:
            return {"message": f"there is no {quantity or 'result'}: the case is empty"}
        name, (index, element) = max(found.items(), key=lambda item: severity(item[1][1]))
        report = element_report(name, index, element, case.format, self._plan.required)
        return {
            "quantity": name,
            "index": report.index,
            "computed": report.computed,
            "rounded": report.rounded,
            "exact": report.exact,
            "ulps": report.ulps,
            "bound_ulps": report.bound_ulps,
            "grade": report.grade,
        }

    def _find(self, case: Case) -> Finding:
        if case.direction is None:
            return self._judge(case)
        if self._second is None:
            self._second = SecondOrderJudge(self._plan)
        return self._second(case)
