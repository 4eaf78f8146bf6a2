"""A find judged again, by itself: one call on one case, through the mpmath oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from harness.case import Case
from harness.contract import NEURON_QUANTITIES, judge_neuron
from harness.grade import Grade
from harness.hunt.evaluate import Evaluator, Form
from harness.hunt.plan import Plan
from harness.hunt.scores import Objective
from harness.judge import Judge
from harness.judgement import Element
from harness.patterns import encode
from harness.subjects import Kind
from reference.dyadic import Dyadic, from_float, magnitude, multiply, ratio
from reference.neuron import neuron

#: What can be large about a result. The last has no size, and any is as bad as another.
ULPS: Final = "ulps"
BOUND_RATIO: Final = "bound ratio"
SCALED_ERROR: Final = "scaled error"
MISMATCH: Final = "mismatch"
RAISED: Final = "raised"

_BELOW_FAITHFUL: Final = frozenset({Grade.STABLE, Grade.TEXTBOOK, Grade.WRONG})
_GRADIENTS: Final = ("gradient", "bias_gradient")


class Figure(NamedTuple):
    """A figure of one result: how large, which element of its quantity, and that element."""

    value: float
    place: int
    element: Element


@dataclass(frozen=True, slots=True)
class Judged:
    """One case, judged: its figures, or what the subject raised. `breaches` are laws of the call
    that were broken."""

    case: Case
    figures: Mapping[Objective, Figure]
    grade: Grade | None
    raised: str | None
    breaches: Mapping[str, str]

    def value(self, objective: Objective) -> float:
        """A figure's value; 0 where there is none."""
        if objective.figure == RAISED:
            return 1.0 if self.raised is not None else 0.0
        figure = self.figures.get(objective)
        return 0.0 if figure is None else figure.value


class CaseJudge:
    """Judges cases of a plan: calls the subject twice on each, as `harness.verify` does.

    `evaluator` is that of a subject which `harness.verify` cannot call, because it has no gradient:
    the output alone is judged then.
    """

    def __init__(self, plan: Plan, evaluator: Evaluator | None = None) -> None:
        self._format = plan.format
        self._width = plan.format.width
        self._judge = Judge(plan.verification)
        self._output_only = (
            evaluator if evaluator is not None and evaluator.form is not Form.SWEPT else None
        )

    def __call__(self, case: Case) -> Judged:
        """Judge one case."""
        if self._output_only is not None:
            return self._of_output(case, self._output_only)
        finding = self._judge(case)
        evaluation = finding.evaluation
        if finding.judgement is None:
            return Judged(case, {}, None, evaluation.raised, evaluation.breaches)
        figures = _figures(case, finding.judgement.quantities)
        return Judged(case, figures, _grade(figures), None, evaluation.breaches)

    def _of_output(self, case: Case, evaluator: Evaluator) -> Judged:
        """The output of an activation without a gradient; the gradients are taken as right."""
        (x,) = case.inputs
        bits = encode([x], self._format).astype(f"u{self._width // 8}")
        evaluated = evaluator(bits)
        if evaluated.failures:
            return Judged(case, {}, None, evaluated.failures[0].message, {})
        exact = neuron(
            case.inputs, case.weights, case.bias, case.upstream_gradient, format=self._format
        )
        right = exact.rounded()
        values: dict[str, Sequence[float]] = {
            "output": [float(evaluated.results[0][0])],
            "input_gradient": right.input_gradient,
            "weight_gradient": right.weight_gradient,
            "bias_gradient": [right.bias_gradient],
        }
        judgement = judge_neuron(exact, values, self._judge.arithmetic(case))
        figures = _figures(case, {"output": judgement.quantities["output"]})
        return Judged(case, figures, _grade(figures), None, {})


def point_case(plan: Plan, x: float) -> Case:
    """The case of one number: weight 1, bias 0, upstream gradient 1, or a stored output."""
    if plan.kind is Kind.TANH_GRADIENT:
        return Case(plan.dtype, (x,), (), 0.0, 1.0)
    return Case(plan.dtype, (x,), (1.0,), 0.0, 1.0)


def objective_of_case(plan: Plan, objective: Objective) -> Objective:
    """The objective of whole neurons that stands for one of single numbers."""
    if objective.quantity == "gradient" and plan.kind is not Kind.TANH_GRADIENT:
        return objective._replace(quantity="bias_gradient")
    return objective


def _grade(figures: Mapping[Objective, Figure]) -> Grade | None:
    """The worst grade of the elements that are worst in something."""
    grades = [figure.element.grade for figure in figures.values()]
    known = [grade for grade in grades if grade is not None]
    return Grade.worst(known) if known else None


def _figures(case: Case, quantities: Mapping[str, Sequence[Element]]) -> dict[Objective, Figure]:
    found: dict[Objective, Figure] = {}
    for name, elements in quantities.items():
        for index, element in enumerate(elements):
            for figure, value in _of_element(case, name, element):
                objective = Objective(name, figure)
                before = found.get(objective)
                if before is None or value > before.value:
                    found[objective] = Figure(value, index, element)
    return found


def _of_element(case: Case, name: str, element: Element) -> list[tuple[str, float]]:
    ulps = element.ulps
    if ulps is None:
        return [(MISMATCH, 1.0)] if element.grade is Grade.WRONG else []
    if element.hazard:
        # What overflows on the way is no measure of an implementation.
        return []
    found = [(ULPS, abs(ulps))]
    # An error below an ulp is no worse for a bound that is smaller still, as where all underflows.
    if element.bound_ratio is not None and element.grade in _BELOW_FAITHFUL:
        found.append((BOUND_RATIO, element.bound_ratio))
    g = case.upstream_gradient
    if name in _GRADIENTS and g and abs(g) < float("inf"):
        found.append((SCALED_ERROR, _scaled(case, element, abs(ulps))))
    return found


def _scaled(case: Case, element: Element, ulps: float) -> float:
    """|error| / (u |g|)."""
    size = from_float(ulps)
    error = Dyadic(size.mantissa, size.exponent + element.exact.ulp_exponent(case.format))
    unit = multiply(case.format.unit_roundoff, magnitude(from_float(case.upstream_gradient)))
    return ratio(error, unit)


NEURON_OBJECTIVES: Final = (
    *(Objective(name, ULPS) for name in NEURON_QUANTITIES),
    *(Objective(name, BOUND_RATIO) for name in NEURON_QUANTITIES),
    Objective("bias_gradient", SCALED_ERROR),
)
