"""Where the errors of a case's gradients come from, as lines of text: the stages that were seen,
the parts of the errors, and what to do about the largest."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from harness.advice import advice
from harness.case import Case
from harness.hexfloat import hex_text
from harness.judgement import Judgement, worst
from harness.laws import Values
from harness.laws.law import place
from harness.split import Part, Step, split, times, total
from harness.stages import (
    Stages,
    gradient_stages_of,
    stages_of,
    textbook_gradient_stages,
    textbook_stages,
)
from harness.subjects import Kind, Subject
from reference.dyadic import Dyadic, from_float, multiply, ratio
from reference.formats import Format
from reference.neuron import ExactNeuron, neuron
from reference.real import Real

#: Parts that stand for several steps, because a stage between them was not seen.
_MERGED = frozenset({Step.UP_TO_OUTPUT, Step.AFTER_OUTPUT, Step.GRADIENT})
_TOGETHER = "together"
_STAGES = ("preactivation", "output", "slope", "bias gradient")


class _Gradient(NamedTuple):
    """A gradient of a case: its name, what it is d times (None: d itself), its exact value, and
    what was computed."""

    name: str
    multiplier: float | None
    exact: Real
    computed: float

    def of_the_textbook(self, bias_gradient: float, format: Format) -> _Gradient:
        """The same, as the product of another d, rounded once."""
        if self.multiplier is None:
            return self._replace(computed=bias_gradient)
        product = multiply(from_float(bias_gradient), from_float(self.multiplier))
        return self._replace(computed=format.round(product))


class _Point(NamedTuple):
    """What is exact at a case: d, and the neuron, None for a raw tanh gradient."""

    bias_gradient: Real
    neuron: ExactNeuron | None
    upstream_gradient: float
    format: Format

    def parts(self, stages: Stages) -> list[Part] | None:
        """The parts of the error of d."""
        a = None if self.neuron is None else self.neuron.preactivation
        return split(self.bias_gradient, a, self.upstream_gradient, stages, self.format)


def origin_lines(
    subject: Subject, case: Case, device: str, values: Values, judgement: Judgement
) -> list[str]:
    """The stages of a subject at a case for which it returned `values`, the split of the errors of
    d and of the worst element of either vector, and advice.

    Beside the split of a subject that cannot be looked into stands that of the textbook formula.
    """
    g, format = case.upstream_gradient, case.format
    if subject.kind is Kind.TANH_GRADIENT:
        if not case.inputs:
            return []
        lane, element = worst(judgement.quantities["gradient"])
        point = _Point(element.exact, None, g, format)
        stages = gradient_stages_of(subject, case, lane, device, values)
        textbook = textbook_gradient_stages(case, lane, device)
        gradients = [_Gradient(place("gradient", lane), None, element.exact, element.computed)]
    else:
        exact = neuron(case.inputs, case.weights, case.bias, g, format=format)
        point = _Point(exact.bias_gradient, exact, g, format)
        stages = stages_of(subject, case, device, values)
        textbook = textbook_stages(case, device)
        gradients = _gradients(case, judgement)
    lines = _stage_lines(stages, point)
    parts = point.parts(stages)
    if parts is None:
        return [*lines, _not_finite(stages)]
    lines += ["", "errors in ulps of the exact gradient, by the step that brings them"]
    lines += _split_lines(parts, gradients, stages, point)
    if _MERGED & {part.step for part in parts}:
        other = point.parts(textbook)
        if other is not None:
            lines += ["", "the same of the textbook formula at this case, in this format"]
            again = [each.of_the_textbook(textbook.bias_gradient, format) for each in gradients]
            lines += _split_lines(other, again, textbook, point)
    return lines


def _gradients(case: Case, judgement: Judgement) -> list[_Gradient]:
    """d, and the worst element of either vector, where its factor is finite."""
    (d,) = judgement.quantities["bias_gradient"]
    found = [_Gradient("bias_gradient", None, d.exact, d.computed)]
    for name, factors in (("input_gradient", case.weights), ("weight_gradient", case.inputs)):
        if judgement.quantities[name]:
            index, element = worst(judgement.quantities[name])
            if isfinite(factors[index]):
                found.append(
                    _Gradient(place(name, index), factors[index], element.exact, element.computed)
                )
    return found


def _stage_lines(stages: Stages, point: _Point) -> list[str]:
    """Each stage as it was computed."""
    found = list(zip(_STAGES, stages, strict=True))
    if point.neuron is None:
        found = [("stored output", stages.output), *found[2:3], ("gradient", stages.bias_gradient)]
    width = max(len(name) for name, _ in found)
    return [
        f"{name:<{width}}  {'not seen' if value is None else hex_text(value)}"
        for name, value in found
    ]


def _not_finite(stages: Stages) -> str:
    for name, value in zip(_STAGES, stages, strict=True):
        if value is not None and not isfinite(value):
            return f"The {name} is {value}: there is no error to split; look before it."
    return "The exact gradient is not finite: there is no error to split."


def _split_lines(
    parts: list[Part], gradients: Sequence[_Gradient], stages: Stages, point: _Point
) -> list[str]:
    """A row for each step, a column for each gradient, the sums, and advice on the worst."""
    columns = [
        _Column.of(each, parts, stages, point.format)
        for each in gradients
        if isfinite(each.computed)
    ]
    if not columns:
        return []
    largest = max(columns, key=lambda column: abs(column.ulps(total(column.parts))))
    advised = advice(largest.parts, stages, point.neuron, point.format, largest.ulp_exponent)
    return [*_table(columns), advised]


class _Column(NamedTuple):
    """The parts of the error of one gradient, and the exponent of its ulp."""

    name: str
    parts: list[Part]
    ulp_exponent: int

    @classmethod
    def of(cls, gradient: _Gradient, parts: list[Part], stages: Stages, format: Format) -> _Column:
        """From the parts of the error of d."""
        if gradient.multiplier is not None:
            parts = times(parts, gradient.multiplier, stages.bias_gradient, gradient.computed)
        return cls(gradient.name, parts, gradient.exact.ulp_exponent(format))

    def ulps(self, error: Dyadic) -> float:
        """An error in ulps."""
        return ratio(error, Dyadic(1, self.ulp_exponent))

    def cells(self) -> dict[str, str]:
        """Each part, and all of them together, in ulps."""
        found = {str(part.step): part.error for part in self.parts}
        found[_TOGETHER] = total(self.parts)
        return {name: f"{self.ulps(error):+.4g}" for name, error in found.items()}


def _table(columns: Sequence[_Column]) -> list[str]:
    cells = [column.cells() for column in columns]
    steps = [*dict.fromkeys(step for column in cells for step in column if step != _TOGETHER)]
    rows = [("", *(column.name for column in columns))]
    rows += [(step, *(column.get(step, "") for column in cells)) for step in (*steps, _TOGETHER)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]
