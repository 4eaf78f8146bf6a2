"""The smallest case that shows why a subject did not earn what was required of it."""

from __future__ import annotations

from typing import NamedTuple

from harness.failure import element_report
from harness.grade import Grade
from harness.judge import Finding
from harness.judgement import severity, worst
from harness.passes import Passes
from harness.smallest import Look
from harness.tally import Tally
from harness.verdict import Counterexample


class Shortfall(NamedTuple):
    """Why a requirement is missed: the smallest case that shows it, what the subject raised, and a
    finding that did not come up again. All None where nothing is missed."""

    counterexample: Counterexample | None = None
    error: str | None = None
    unsteady: Finding | None = None


def shortfall(passes: Passes, tally: Tally, look: Look, required: Grade) -> Shortfall:
    """For what the first pass found: that the subject raised, or else was graded worse than
    `required`."""
    if tally.raised is not None:
        found = passes.again(tally.raised, look, _raised)
        error = found.finding.evaluation.failure
        assert error is not None
        shown = Counterexample(found.finding.case, error)
    elif tally.grade is not None and not tally.grade.meets(required):

        def below(finding: Finding) -> bool:
            return finding.judgement is not None and not finding.judgement.grade.meets(required)

        found = passes.again(tally.first_below(required), look, below)
        error = None
        shown = of_a_grade(found.finding, required)
    else:
        return Shortfall()
    return Shortfall(shown, error, None if found.steady else found.finding)


def _raised(finding: Finding) -> bool:
    return finding.evaluation.raised is not None


def of_a_grade(finding: Finding, required: Grade) -> Counterexample:
    """A finding that is judged, and graded worse than `required`: its worst element."""
    judgement = finding.judgement
    assert judgement is not None
    name, (index, element) = max(
        ((name, worst(elements)) for name, elements in judgement.quantities.items() if elements),
        key=lambda item: severity(item[1][1]),
    )
    report = element_report(name, index, element, finding.case.format, required)
    return Counterexample(finding.case, f"{report.place} is {report.grade}", report)
