"""A failure in words: the smallest case, what was computed, what is right, how to see it again."""

from __future__ import annotations

import shlex

from mpmath import libmp

from harness.case import Case
from harness.grade import Grade
from harness.hexfloat import hex_text
from harness.judgement import SCALARS, Element
from harness.verdict import Counterexample, ElementReport, Verdict
from reference.dyadic import Dyadic, ratio
from reference.formats import Format
from reference.real import Real

_DIGITS = 20


def element_report(
    quantity: str, index: int, element: Element, format: Format, required: Grade = Grade.TEXTBOOK
) -> ElementReport:
    """An element as text: computed and rounded in hex, the exact value to 20 significant digits."""
    return ElementReport(
        quantity=quantity,
        index=None if quantity in SCALARS else index,
        grade=str(element.grade or "unjudged"),
        computed=hex_text(element.computed),
        exact=decimal(element.exact),
        rounded=hex_text(element.exact.rounded(format)),
        ulps=element.ulps,
        required=required,
        bound_ulps=_bound_ulps(element, format, required),
    )


def _bound_ulps(element: Element, format: Format, required: Grade) -> float | None:
    """How many ulps an element may be off to earn `required`; None where there is no bound."""
    if element.ulps is None:
        return None
    if required in (Grade.CORRECT, Grade.FAITHFUL):
        return 0.5 if required is Grade.CORRECT else 1.0
    bound = element.bound.stable if required is Grade.STABLE else element.bound.textbook
    return None if bound is None else ratio(bound, Dyadic(1, element.exact.ulp_exponent(format)))


def decimal(value: Real, digits: int = _DIGITS) -> str:
    """An exact value in decimal, correct to `digits` significant digits."""
    if value.special is not None:
        return f"{value.special:g}"
    lower, upper = value.first_enclosure
    if not (lower.mantissa and upper.mantissa):
        return "not 0, but below 1e-6300 in magnitude"
    number = libmp.from_man_exp(lower.mantissa, lower.exponent)
    text: str = libmp.to_str(number, digits)
    return text


def replay(verdict: Verdict, case: Case) -> str:
    """What shows a case of a verdict again: a command, or a line of Python if the command line has
    no name for the subject."""
    if verdict.locator is None:
        text = case.to_json()
        options: dict[str, object] = {
            "kind": verdict.kind,
            "device": None if verdict.device == "cpu" else verdict.device,
            "activation_ulps": verdict.activation_ulps,
        }
        given = "".join(f", {key}={value!r}" for key, value in options.items() if value is not None)
        return (
            "in Python, with what was verified as `subject`: from harness.explain import "
            f"explain_case; print(explain_case(subject, {text!r}{given}))"
        )
    return explain_command(
        verdict.locator, case, verdict.kind, verdict.device, verdict.activation_ulps
    )


def explain_command(
    locator: str, case: Case, kind: str, device: str, activation_ulps: float | None = None
) -> str:
    """The command that shows a case, as a shell takes it. `locator` is the subject's name there."""
    words = ["neuron-harness", "explain", locator, case.to_json(), "--as", kind]
    words += ["--device", device] if device != "cpu" else []
    if activation_ulps is not None:
        words += ["--activation-ulps", repr(activation_ulps)]
    return " ".join(map(_word, words))


def _word(text: str) -> str:
    """A word of a command as a shell takes it, and a terminal leaves it alone."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(
        repr(each)[1:-1] if not each.isprintable() else f"\\{each}" if each in "'\\" else each
        for each in text
    )
    return f"$'{escaped}'"


def describe(verdict: Verdict) -> str:
    """Why a verdict failed, in a few lines; of a verdict that passed, one line that says so."""
    head = f"{verdict.subject} {verdict.dtype} {verdict.device}"
    if verdict.passed:
        return f"{head}: graded {verdict.grade}, as required"
    lines = [f"{head}: {verdict.failure}"]
    if verdict.counterexample is not None:
        lines += _counterexample_lines(verdict, verdict.counterexample)
    second = verdict.second_order
    if second is not None and second.failure is not None and second.counterexample is not None:
        lines += _counterexample_lines(verdict, second.counterexample)
    for law in verdict.broken_laws:
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
            f"    error    {error} ({element.required} bound {bound})",
        ]
    return lines + _case_lines(verdict, counterexample)


def _case_lines(verdict: Verdict, counterexample: Counterexample) -> list[str]:
    return [
        f"    case     {counterexample.case.to_json()}",
        f"    again    {replay(verdict, counterexample.case)}",
    ]
