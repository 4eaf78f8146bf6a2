"""Hessian-vector products judged: sound ones pass, near their bounds, and faults are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import inf, isfinite, nan
from random import Random
from typing import Any

import pytest
import torch

from harness.case import DTYPES, Case, format_of
from harness.direction import Direction
from harness.flush import flushing
from harness.grade import Grade
from harness.judgement import Element, Judgement
from harness.second_order import (
    RETAIN_GRAPH,
    SECOND_ORDER_QUANTITIES,
    SecondOrderEvaluator,
    judge_hessian_product,
)
from harness.strategies import Regime, regimes_for
from harness.strategies.directions import direction_for
from harness.strategies.neurons import neuron_case
from harness.subjects import Kind, Subject, load
from reference.bounds import default_arithmetic
from reference.formats import Format
from reference.neuron import neuron as exact_neuron
from reference.second_order import hessian_product
from reference.second_order_bounds import hessian_product_bounds
from tests.harness.second_order_subjects import (
    FAULTY,
    SOUND,
    UNREPEATABLE,
    WITHOUT,
    activation,
    neuron,
)

BUILT_IN = ("textbook", "autograd", "torch-tanh")
SHORT = tuple(regime for regime in regimes_for("neuron") if "long" not in regime)


@cache
def drawn(dtype: str, regime: Regime, count: int) -> list[tuple[Case, Direction]]:
    """Cases with directions, from evenly distributed integers."""
    below = Random(f"second order {dtype} {regime}").randrange
    found = []
    for _ in range(count):
        case = neuron_case(below, dtype, regime)
        found.append((case, direction_for(below, case)))
    return found


def judged(
    subject: Subject, cases: list[tuple[Case, Direction]], **how: Any
) -> Iterator[Judgement]:
    """The judgement of each case that has one; the subject breaks nothing on the way."""
    evaluator = SecondOrderEvaluator(subject, "cpu")
    for case, direction in cases:
        evaluation = evaluator(case, direction)
        assert (None, {}) == (evaluation.raised, evaluation.breaches), (case, direction)
        assert evaluation.values is not None
        arithmetic = default_arithmetic(case.format, **how)
        judgement = judge_hessian_product(case, direction, evaluation.values, arithmetic)
        if judgement is not None:
            yield judgement


def elements(judgement: Judgement) -> Iterator[Element]:
    """All elements of a judgement."""
    for found in judgement.quantities.values():
        yield from found


def worst_ratio(judgements: list[Judgement]) -> float:
    """The largest part of the textbook bound that the error of a finite result uses."""
    return max(
        element.bound_ratio or 0.0
        for judgement in judgements
        for element in elements(judgement)
        if isfinite(element.computed)
    )


# Sound subjects.


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("dtype", DTYPES)
def test_torchs_double_backward_stays_within_the_textbook_bound(dtype: str, name: str) -> None:
    """In every regime; at worst it uses a tenth of the bound or more."""
    cases = [case for regime in SHORT for case in drawn(dtype, regime, 10)]
    judgements = list(judged(load(name), [*cases, *drawn(dtype, Regime.LONG, 1)]))
    assert len(judgements) > 90
    assert {judgement.grade.meets(Grade.TEXTBOOK) for judgement in judgements} == {True}
    assert 0.1 < worst_ratio(judgements) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("dtype", DTYPES)
def test_torchs_double_backward_stays_within_it_in_thousands_of_cases(
    dtype: str, name: str
) -> None:
    """The same with 8,000 cases, long ones among them."""
    for regime in regimes_for("neuron"):
        count = {Regime.LONG: 60, Regime.VERY_LONG: 8}.get(regime, 660)
        for judgement in judged(load(name), drawn(dtype, regime, count)):
            assert judgement.grade.meets(Grade.TEXTBOOK), judgement


@pytest.mark.parametrize("subject", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("dtype", DTYPES)
def test_other_sound_forms_raise_no_alarm(dtype: str, subject: Subject) -> None:
    """Other sums, other orders, float64 inside, derivatives by hand."""
    for regime in SHORT:
        for judgement in judged(subject, drawn(dtype, regime, 5)):
            assert judgement.grade.meets(Grade.TEXTBOOK), judgement


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_stable_form_is_stable_and_the_textbooks_is_not(dtype: str) -> None:
    """Where 1 - y*y cancels the textbook's second derivative has lost its bits too. No order of
    four factors is free of overflow, so that what is not finite is left out."""
    cases = [
        case
        for regime in (Regime.CURVED, Regime.SATURATING, Regime.TAIL, Regime.LINEAR)
        for case in drawn(dtype, regime, 10)
    ]
    grades = {
        name: Grade.worst(
            element.grade
            for judgement in judged(SOUND[name], cases)
            for element in elements(judgement)
            if element.grade is not None and isfinite(element.computed)
        )
        for name in ("a stable form by hand", "the textbook form by hand")
    }
    assert grades["a stable form by hand"].meets(Grade.STABLE)
    assert Grade.TEXTBOOK == grades["the textbook form by hand"]


@pytest.mark.parametrize("regime", SHORT)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_rounded_exact_product_is_correct(dtype: str, regime: Regime) -> None:
    """In every element of every finite case."""
    for case, direction in drawn(dtype, regime, 10):
        values = (*case.inputs, *case.weights, case.bias, case.upstream_gradient)
        if not all(map(isfinite, values)):
            continue
        exact = hessian_product(
            exact_neuron(
                case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format
            ),
            direction.inputs,
            direction.weights,
            direction.bias,
        ).rounded()
        computed = dict(
            zip(SECOND_ORDER_QUANTITIES, (exact.inputs, exact.weights, [exact.bias]), strict=True)
        )
        judgement = judge_hessian_product(
            case, direction, computed, default_arithmetic(case.format)
        )
        assert judgement is not None
        assert {Grade.CORRECT} >= {element.grade for element in elements(judgement)}


# Faults.


@pytest.mark.parametrize("subject", FAULTY.values(), ids=FAULTY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fault_is_wrong_in_most_cases(dtype: str, subject: Subject) -> None:
    """By far: of the plain cases with a term, more than half are graded wrong."""
    cases = [
        (case, direction)
        for case, direction in drawn(dtype, Regime.CURVED, 40)
        if case.inputs and 1e-3 < abs(case.upstream_gradient) < 100
    ]
    grades = [judgement.grade for judgement in judged(subject, cases)]
    assert len(grades) > 10
    assert grades.count(Grade.WRONG) > len(grades) / 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_forms_that_cancel_when_they_are_differentiated_are_wrong(dtype: str) -> None:
    """(1-y)(1+y) is sound; by autograd its derivative is -(1+y) + (1-y), and y is lost in it."""

    def factored(x: Any, w: Any, b: Any, g: Any) -> Any:
        y = torch.tanh((x * w).sum() + b)
        d = g * ((1 - y) * (1 + y))
        return y, d * w, d * x, d

    small = 2.0 ** -(format_of(dtype).precision + 3)
    at = Case(dtype, (), (), small, 1.0), Direction((), (), 1.25)
    grades = [judgement.grade for judgement in judged(neuron(factored), [at])]
    assert [Grade.WRONG] == grades


# The evaluator.

CASE = Case("float64", (0.5, 0.25), (0.5, -0.75), 0.25, 1.5)
DIRECTION = Direction((1.0, 2.0), (0.5, 0.25), 0.75)


@pytest.mark.parametrize(("subject", "reason"), WITHOUT.values(), ids=WITHOUT)
def test_what_is_unsupported_has_no_values_and_breaks_nothing(
    subject: Subject, reason: str
) -> None:
    """It says why, for every dtype."""
    evaluator = SecondOrderEvaluator(subject, "cpu")
    for dtype in DTYPES:
        assert reason in (evaluator.unsupported(dtype) or "")
    evaluation = evaluator(CASE, DIRECTION)
    assert (None, {}, None) == (evaluation.values, evaluation.breaches, evaluation.raised)


def test_what_raises_in_one_case_is_recorded() -> None:
    """With its message; not for what it was tried out on."""

    def particular(x: torch.Tensor) -> torch.Tensor:
        if x.item() < -1:
            raise ArithmeticError("not below\n-1")
        return torch.tanh(x)

    evaluator = SecondOrderEvaluator(activation(particular), "cpu")
    assert evaluator.unsupported("float64") is None
    assert "ArithmeticError: not below -1" == evaluator(replace(CASE, bias=-9.0), DIRECTION).raised
    assert evaluator(CASE, DIRECTION).raised is None


@pytest.mark.parametrize(("function", "message"), UNREPEATABLE.values(), ids=UNREPEATABLE)
def test_a_backward_that_does_not_repeat_breaks_the_law(function: Any, message: str) -> None:
    """Whatever its values are worth."""
    breaches = SecondOrderEvaluator(activation(function), "cpu")(CASE, DIRECTION).breaches
    assert [RETAIN_GRAPH] == list(breaches)
    assert message in breaches[RETAIN_GRAPH]


def test_the_first_pass_is_repeated_where_there_is_no_second() -> None:
    """A raw gradient has neither."""

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.y = torch.tanh(x).detach()
            return torch.tanh(x)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *upstream: torch.Tensor) -> torch.Tensor:
            gradient = upstream[0] * (1 - ctx.y.square())
            ctx.y = ctx.y / 2
            return gradient

    evaluation = SecondOrderEvaluator(activation(Once.apply), "cpu")(CASE, DIRECTION)
    assert evaluation.values is None
    assert [RETAIN_GRAPH] == list(evaluation.breaches)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_process_that_flushes_is_judged_as_one(dtype: str) -> None:
    """The subject runs in the mode it was found in; the mode is off before and after."""
    evaluator = SecondOrderEvaluator(load("textbook"), "cpu", flush_to_zero=True)
    grades = {"flushing": set(), "gradual": set()}
    for case, direction in drawn(dtype, Regime.TINY, 60):
        evaluation = evaluator(case, direction)
        assert not flushing()
        assert (None, {}) == (evaluation.raised, evaluation.breaches)
        for name, flush in (("flushing", True), ("gradual", False)):
            judgement = judge_hessian_product(
                case,
                direction,
                evaluation.values or {},
                default_arithmetic(case.format, flush_to_zero=flush),
            )
            if judgement is not None:
                grades[name].add(judgement.grade)
    assert Grade.WRONG not in grades["flushing"]
    assert Grade.WRONG in grades["gradual"]


@pytest.mark.cuda
@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_double_backward_on_a_device_stays_within_the_bound(dtype: str, name: str) -> None:
    """As on the CPU."""
    evaluator = SecondOrderEvaluator(load(name), "cuda")
    for case, direction in (each for regime in SHORT for each in drawn(dtype, regime, 10)):
        evaluation = evaluator(case, direction)
        assert (None, {}) == (evaluation.raised, evaluation.breaches)
        arithmetic = default_arithmetic(case.format)
        judgement = judge_hessian_product(case, direction, evaluation.values or {}, arithmetic)
        assert judgement is None or judgement.grade.meets(Grade.TEXTBOOK)


# The judge.


def computed(*values: list[float]) -> dict[str, list[float]]:
    """Results under their names."""
    return dict(zip(SECOND_ORDER_QUANTITIES, values, strict=True))


@pytest.mark.parametrize("value", [inf, -inf, nan], ids=str)
def test_what_is_not_finite_is_not_judged(value: float) -> None:
    """Neither a case nor a direction."""
    results = computed([0.0] * 2, [0.0] * 2, [0.0])
    arithmetic = default_arithmetic(CASE.format)
    for case in (
        replace(CASE, inputs=(value, 1.0)),
        replace(CASE, weights=(value, 1.0)),
        replace(CASE, bias=value),
        replace(CASE, upstream_gradient=value),
    ):
        assert judge_hessian_product(case, DIRECTION, results, arithmetic) is None
    for direction in (
        replace(DIRECTION, inputs=(value, 1.0)),
        replace(DIRECTION, weights=(value, 1.0)),
        replace(DIRECTION, bias=value),
    ):
        assert judge_hessian_product(CASE, direction, results, arithmetic) is None


def test_an_element_carries_its_bounds() -> None:
    """c has three roundings, not the four of a multiple of it."""
    point = exact_neuron(
        CASE.inputs, CASE.weights, CASE.bias, CASE.upstream_gradient, format=CASE.format
    )
    exact = hessian_product(point, DIRECTION.inputs, DIRECTION.weights, DIRECTION.bias)
    arithmetic = default_arithmetic(CASE.format)
    bounds = hessian_product_bounds(exact, arithmetic)
    assert bounds is not None
    judgement = judge_hessian_product(
        CASE, DIRECTION, computed([0.0] * 2, [0.0] * 2, [0.0]), arithmetic
    )
    assert judgement is not None
    (c,) = judgement.quantities["bias_hessian_product"]
    assert (bounds.textbook.bias, bounds.stable.bias) == (c.bound.textbook, c.bound.stable)
    second = judgement.quantities["weight_hessian_product"][1].bound
    expected = bounds.textbook.element(point.inputs[1], exact.tangent_inputs[1], exact.weights[1])
    assert expected == second.textbook


def test_without_a_bound_an_element_is_unjudged() -> None:
    """An accumulator of 2 bits: 2n u_acc is 1."""
    toy = Format("toy", precision=2, emax=15, width=8)
    judgement = judge_hessian_product(
        CASE,
        DIRECTION,
        computed([9.0] * 2, [9.0] * 2, [9.0]),
        default_arithmetic(CASE.format, accumulation=toy),
    )
    assert judgement is not None
    assert {None} == {element.grade for element in elements(judgement)}


def test_another_number_of_elements_is_refused() -> None:
    """By the quantity's name."""
    with pytest.raises(ValueError, match="weight_hessian_product has 1 elements; expected 2"):
        judge_hessian_product(
            CASE, DIRECTION, computed([0.0] * 2, [0.0], [0.0]), default_arithmetic(CASE.format)
        )


HAZARDS = {
    "a product of c overflows": (
        Case("float16", (), (), 9.0, 60000.0),
        Direction((), (), 3.0),
        [inf, -inf, nan],
    ),
    "adot overflows": (
        Case("float16", (300.0, 300.0), (2.0**-8, 2.0**-8), 0.0, 2.0**-14),
        Direction((0.0, 0.0), (300.0, -300.0), 0.0),
        [inf, -inf, nan],
    ),
    "the preactivation overflows": (
        Case("float16", (256.0, 256.0), (256.0, -256.0), 0.5, 1.0),
        Direction((0.0, 0.0), (0.0, 0.0), 1.0),
        [nan],
    ),
}


@pytest.mark.parametrize(("case", "direction", "values"), HAZARDS.values(), ids=HAZARDS)
def test_what_only_an_overflow_explains_is_a_hazard(
    case: Case, direction: Direction, values: list[float]
) -> None:
    """Textbook and counted; the same result without the overflow is wrong."""
    n = len(case.inputs)
    calm = replace(
        case, inputs=(0.5,) * n, weights=(0.5, -0.5)[:n], bias=0.5, upstream_gradient=1.0
    )
    for value in values:
        results = computed([0.0] * n, [0.0] * n, [value])
        found = [
            judge_hessian_product(each, along, results, default_arithmetic(case.format))
            for each, along in ((case, direction), (calm, Direction((0.0,) * n, (0.0,) * n, 1.0)))
        ]
        hazard, plain = (
            judgement.quantities["bias_hessian_product"][0] for judgement in found if judgement
        )
        assert (Grade.TEXTBOOK, True) == (hazard.grade, hazard.hazard)
        assert (Grade.WRONG, False) == (plain.grade, plain.hazard)


def test_the_kinds_that_have_a_second_order() -> None:
    """A raw gradient is refused before it is called."""

    def never(*_: Any) -> Any:
        raise AssertionError("called")

    evaluator = SecondOrderEvaluator(Subject("raw", Kind.TANH_GRADIENT, never), "cpu")
    assert (None, {}, None) == (
        (evaluation := evaluator(CASE, DIRECTION)).values,
        evaluation.breaches,
        evaluation.raised,
    )
