"""A failure in words: the smallest case, what was computed, what is right, how to see it again."""

from __future__ import annotations

import shlex

from mpmath import libmp

from harness.contract import Element
from harness.grade import Grade
from harness.hexfloat import hex_text
from harness.verdict import Counterexample, ElementReport, Verdict
from reference.dyadic import Dyadic, ratio
from reference.formats import Format
from reference.real import Real

_DIGITS = 20


def element_report(quantity: str, index: int, element: Element, format: Format) -> ElementReport:
    """An element as text: computed and rounded in hex, the exact value to 20 significant digits."""
    ulp = Dyadic(1, element.exact.ulp_exponent(format)) if element.ulps is not None else None
    bound = element.bound.textbook
    return ElementReport(
        quantity=quantity,
        index=None if quantity in ("output", "bias_gradient") else index,
        grade=element.grade or Grade.CORRECT,
        computed=hex_text(element.computed),
        exact=decimal(element.exact),
        rounded=hex_text(element.exact.rounded(format)),
        ulps=element.ulps,
        bound_ulps=ratio(bound, ulp) if bound is not None and ulp is not None else None,
    )


def decimal(value: Real, digits: int = _DIGITS) -> str:
    """An exact value in decimal, correct to `digits` significant digits."""
    if value.special is not None:
        return f"{value.special:g}"
    lower, upper = value.first_enclosure
    if not (lower.mantissa and upper.mantissa):
        return "0 to the eye: below 1e-6900 in magnitude"
    number = libmp.from_man_exp(lower.mantissa, lower.exponent)
    text: str = libmp.to_str(number, digits)
    return text


def replay_command(subject: str, kind: str, case_json: str) -> str:
    """The command that shows a case again."""
    return f"neuron-harness explain {shlex.quote(subject)} --as {kind} {shlex.quote(case_json)}"


def describe(verdict: Verdict) -> str:
    """Why a verdict failed, in a few lines; of a verdict that passed, one line that says so."""
    head = f"{verdict.subject} {verdict.dtype} {verdict.device}"
    if verdict.passed:
        return f"{head}: graded {verdict.grade}, as required"
    lines = [f"{head}: {verdict.failure}"]
    if verdict.counterexample is not None:
        lines += _counterexample_lines(verdict, verdict.counterexample)
    for law in verdict.laws:
        if law.counterexample is not None:
            lines.append(f"  law {law.name}: {law.counterexample.message}")
            lines += _case_lines(verdict, law.counterexample)
    return "\n".join(lines)


def _counterexample_lines(verdict: Verdict, counterexample: Counterexample) -> list[str]:
    element = counterexample.element
    lines = []
    if element is not None:
        error = "not a number of ulps" if element.ulps is None else f"{element.ulps:+.6g} ulps"
        bound = "none" if element.bound_ulps is None else f"{element.bound_ulps:.6g} ulps"
        lines = [
            f"  {element.place}: {element.grade}",
            f"    computed {element.computed}",
            f"    exact    {element.exact}",
            f"    rounded  {element.rounded}",
            f"    error    {error} (textbook bound {bound})",
        ]
    return lines + _case_lines(verdict, counterexample)


def _case_lines(verdict: Verdict, counterexample: Counterexample) -> list[str]:
    text = counterexample.case.to_json()
    return [
        f"    case     {text}",
        f"    again    {replay_command(verdict.subject, verdict.kind, text)}",
    ]
