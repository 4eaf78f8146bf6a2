"""The oracle gives the right results of every case from the field, bit for bit."""

from __future__ import annotations

from math import copysign, isnan

import pytest

from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64
from reference.neuron import neuron
from tests.field.cases import CASES, FieldCase

FORMATS = {"float16": BINARY16, "bfloat16": BFLOAT16, "float32": BINARY32, "float64": BINARY64}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def text(value: float) -> str:
    """A float as text that tells the zeros apart and makes NaN equal to NaN."""
    return "nan" if isnan(value) else value.hex()


@each_case
def test_every_result_is_the_exact_one_rounded_once(case: FieldCase) -> None:
    """Output, both vectors of gradients and the bias gradient, zeros with their signs."""
    rounded = neuron(
        case.inputs, case.weights, case.bias, case.upstream_gradient, format=FORMATS[case.dtype]
    ).rounded()
    assert list(map(text, (case.output, case.bias_gradient))) == list(
        map(text, (rounded.output, rounded.bias_gradient))
    )
    assert list(case.input_gradient) == rounded.input_gradient
    assert list(case.weight_gradient) == rounded.weight_gradient


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.is_activation], ids=lambda case: case.name
)
def test_as_a_product_it_is_the_same_activation(case: FieldCase) -> None:
    """tanh(x) by a bias and tanh(x * 1) by a product are one value."""
    rounded = neuron(
        [case.bias], [1.0], -0.0, case.upstream_gradient, format=FORMATS[case.dtype]
    ).rounded()
    assert text(case.output) == text(rounded.output)
    assert text(case.bias_gradient) == text(rounded.input_gradient[0])


@each_case
def test_every_number_of_a_case_is_one_of_its_dtype(case: FieldCase) -> None:
    """No case needs a rounding before it can be given to a subject."""
    values = (*case.inputs, *case.weights, case.bias, case.upstream_gradient, case.output)
    results = (*case.input_gradient, *case.weight_gradient, case.bias_gradient)
    assert all(map(FORMATS[case.dtype].contains, (*values, *results)))
    assert len(case.inputs) == len(case.weights) == len(case.input_gradient)


def test_the_cases_are_all_here_and_told_apart() -> None:
    """43 cases with names of their own, each with its source and its remark."""
    assert (43, 43) == (len(CASES), len({case.name for case in CASES}))
    assert all(case.seen and case.remark for case in CASES)


def test_a_zero_keeps_its_sign() -> None:
    """-0 in, -0 out: equality alone would not tell."""
    (case,) = (each for each in CASES if each.name == "negative-zero")
    output = neuron([], [], case.bias, 1.0, format=BINARY32).rounded().output
    assert copysign(1, output) == copysign(1, case.output) == -1
