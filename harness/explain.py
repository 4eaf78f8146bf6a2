"""One case of one subject, every float of it: computed, exact, how far off, and what is allowed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.case import Case
from harness.errors import CannotVerify, UsageError
from harness.failure import decimal
from harness.flush import subnormals_kept
from harness.hexfloat import hex_text
from harness.judge import Finding, Judge, Plan, every_law
from harness.laws import LAWS
from harness.laws.law import place
from harness.one_case import parsed, plan_of_case
from harness.origins import origin_lines
from harness.second_order import RETAIN_GRAPH
from harness.second_order_verifier import SecondOrderJudge
from harness.subjects import Kind, Subject
from harness.subjects.output_only import output_neuron, works_on_floats
from reference.exact import Exact
from reference.neuron import neuron
from reference.real import Real


def read_case(text: str) -> Case:
    """The case in a file, or in `text` itself if that is JSON.

    Raises UsageError if there is no such file, or if the text is not a case.
    """
    source = text
    if not text.lstrip().startswith("{"):
        try:
            source = Path(text).read_text(encoding="utf-8")
        except (OSError, UnicodeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise UsageError(
                f"case {text!r} cannot be read ({reason}); expected a file, or one line of JSON "
                "as a report prints it"
            ) from None
    return parsed(source)


def explain_case(
    subject: str | Subject | Callable[..., Any],
    case: str | Case,
    *,
    kind: Kind | str | None = None,
    device: str = "cpu",
    activation_ulps: float | None = None,
) -> str:
    """The case as lines of text, one for each float of each quantity.

    `subject` and `kind` are as for `harness.verify`, `case` is a case or its JSON. Of an activation
    whose gradient cannot be had, such as a plain function of Python floats, the output is shown.

    Raises UsageError if the subject is of a kind that the case does not fit, or `case` is not one;
    SubjectError for an unknown subject; CannotVerify for a device that is not there, and for a
    function of Python floats in another dtype than float64.
    """
    if isinstance(case, str):
        case = read_case(case)
    plan = plan_of_case(subject, case, kind=kind, device=device, activation_ulps=activation_ulps)
    subject = plan.subject
    with subnormals_kept(), warnings.catch_warnings():
        # What torch says of a function of floats that is shown a tensor.
        warnings.filterwarnings("ignore", "Converting a tensor with requires_grad=True to a scalar")
        if case.direction is not None:
            return "\n".join(_second_order_lines(plan, case))
        finding = Judge(plan)(case, every_law)
        output = None
        if subject.kind is Kind.ACTIVATION and finding.evaluation.raised is not None:
            output = _output_of(plan, case)
        lines = _lines(subject, case, finding, output)
        values = finding.evaluation.values
        if values is not None and finding.judgement is not None:
            lines += ["", *origin_lines(subject, case, device, values, finding.judgement)]
        return "\n".join(lines)


class _Output(NamedTuple):
    """The output alone, and how the subject was called for it."""

    finding: Finding
    called: str


def _output_of(plan: Plan, case: Case) -> _Output | None:
    """The output of an activation that has raised, called without a gradient; None if it raises
    then, too."""
    subject = plan.subject

    def judged(*, floats: bool) -> Finding:
        neuron = output_neuron(subject.function, floats=floats)
        alone = replace(subject, kind=Kind.NEURON, function=neuron)
        return Judge(replace(plan, subject=alone))(case)

    finding = judged(floats=False)
    if finding.judgement is not None:
        return _Output(finding, "on a tensor, without a gradient")
    if not works_on_floats(subject.function):
        return None
    if plan.dtype != "float64" or plan.device != "cpu":
        raise CannotVerify(
            f"{subject.name} works on Python floats, which are float64 on the cpu; got "
            f"{plan.dtype} on {plan.device}; give a case in float64, and leave --device out"
        )
    return _Output(judged(floats=True), "on a Python float")


def _second_order_lines(plan: Plan, case: Case) -> list[str]:
    judge = SecondOrderJudge(plan)
    lines = _lines(plan.subject, case, judge(case))
    if judge.unsupported is not None:
        lines.append(f"not differentiated twice: {judge.unsupported}")
    return lines


def _lines(
    subject: Subject, case: Case, finding: Finding, output: _Output | None = None
) -> list[str]:
    lines = [f"{subject.name} ({subject.kind}), {case.dtype}, n = {len(case.inputs)}"]
    if subject.kind is not Kind.TANH_GRADIENT:
        exact = neuron(
            case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format
        )
        lines.append(f"exact preactivation {_exact_text(exact.preactivation)}")
    if case.direction is not None:
        lines.append(f"differentiated twice, along {case.direction.to_json()}")
    evaluation = finding.evaluation
    if output is not None:
        lines.append(
            f"its output alone, called {output.called}; for a gradient, it raised "
            f"{evaluation.raised}"
        )
        finding, evaluation = output.finding, output.finding.evaluation
    if evaluation.raised is not None:
        return [*lines, f"raised {evaluation.raised}"]
    observed = {law.name for law in LAWS if not law.required}
    if subject.kind is Kind.NEURON:
        observed.add(RETAIN_GRAPH)
    lines += [
        f"breaks the {'observed ' if name in observed else ''}law {name}: {text}"
        for name, text in finding.breaches.items()
    ]
    if finding.judgement is None:
        return lines
    head = ("", "computed", "rounded", "exact", "ulps", "of bound", "grade")
    rows = [head]
    for name, elements in finding.judgement.quantities.items():
        if output is not None and name != "output":
            continue
        for index, element in enumerate(elements):
            rows.append(
                (
                    place(name, index),
                    hex_text(element.computed),
                    hex_text(element.exact.rounded(case.format)),
                    decimal(element.exact),
                    "-" if element.ulps is None else f"{element.ulps:+.4g}",
                    "-" if element.bound_ratio is None else f"{element.bound_ratio:.3g}",
                    str(element.grade or "unjudged") + (" (hazard)" if element.hazard else ""),
                )
            )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return lines


def _exact_text(value: Exact) -> str:
    return decimal(Real(value))
