"""A failure as a pytest test that can be pasted: it fails until the subject is mended."""

from __future__ import annotations

import re

from harness.case import Case
from harness.inert import inert
from harness.verdict import Verdict


def pasted_test(verdict: Verdict) -> str | None:
    """The source of a test for the smallest case of a verdict; None where it has none."""
    case = smallest_case(verdict)
    if case is None:
        return None
    words = re.sub(r"\W+", "_", f"{verdict.subject} in {verdict.dtype}").strip("_")
    arguments = [
        "subject" if verdict.locator is None else repr(verdict.locator),
        repr(case.to_json()),
        f"kind={verdict.kind!r}",
        f"require={_required(verdict, case)!r}",
    ]
    if verdict.device != "cpu":
        arguments.append(f"device={verdict.device!r}")
    if verdict.activation_ulps is not None:
        arguments.append(f"activation_ulps={verdict.activation_ulps!r}")
    lines = [
        "import harness",
        *(["# and what was verified, as `subject`"] if verdict.locator is None else []),
        "",
        "",
        f"def test_{words}() -> None:",
        f"    # {inert(verdict.failure or 'passed', 80)}",
        "    harness.check(",
        *(f"        {argument}," for argument in arguments),
        "    )",
    ]
    return "\n".join(lines) + "\n"


def smallest_case(verdict: Verdict) -> Case | None:
    """The case that a verdict shows for its failure; None where it shows none."""
    second = verdict.second_order
    shown = [
        verdict.counterexample,
        *(law.counterexample for law in verdict.broken_laws),
        None if second is None else second.counterexample,
    ]
    return next((each.case for each in shown if each is not None), None)


def _required(verdict: Verdict, case: Case) -> str:
    second = verdict.second_order
    if case.direction is None or second is None or second.required is None:
        return str(verdict.required)
    return str(second.required)
