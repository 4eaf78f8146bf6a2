"""What each built-in subject makes of the cases from the field: which it passes, which it fails."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from harness.case import Case, format_of
from harness.contract import NEURON_QUANTITIES, judge_neuron, judge_tanh_gradient
from harness.grade import Grade
from harness.judgement import Judgement
from harness.subjects import Kind, Subject, builtin_subjects, load, neuron_of
from harness.tensors import arguments, bit_patterns, floats, torch_dtype
from reference.bounds import default_arithmetic
from reference.neuron import neuron
from tests.field.cases import CASES, FieldCase

BY_NAME = {case.name: case for case in CASES}
NEURONS = [each for each in builtin_subjects() if each.kind is not Kind.TANH_GRADIENT]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_neuron = pytest.mark.parametrize("subject", NEURONS, ids=lambda subject: subject.name)

#: Cases that a subject is known to get wrong. Every other case it must pass.
KNOWN_WRONG = {
    "textbook": (),
    "autograd": (),
    "torch-tanh": (),
    "accurate": (),
    "accurate-tanh": (),
    "fused": (),
    # e^x - e^-x cancels for small x, and is inf - 0 over inf + 0 where e^|x| overflows.
    "exponential": (
        "gradient-from-halfprecision-square",
        "finite-gradient-far-tail-float32",
        "exp-overflow-both-float32",
        "tiny-float16",
        "tiny-float32",
        "tinier-float32",
        "just-above-power-of-two",
        "special-inf",
        "special--inf",
    ),
    # 2 sigmoid(2x) is rounded next to 1 before 1 is taken away.
    "sigmoid": ("tiny-float16", "tiny-float32", "tinier-float32", "just-above-power-of-two"),
}
#: Cases where y has rounded to 1 and the right gradient is far from 0: 1 - y*y is explained by the
#: textbook formula, and by no better grade.
LOST_GRADIENT = [
    case.name
    for case in CASES
    if abs(case.output) == 1 and case.bias_gradient > 2 * 2.0 ** format_of(case.dtype).emin
]


def results(subject: Subject, case: FieldCase) -> dict[str, list[float]]:
    """The four results of a subject."""
    given = Case(case.dtype, case.inputs, case.weights, case.bias, case.upstream_gradient)
    tensors = neuron_of(subject)(*arguments(given))
    return dict(zip(NEURON_QUANTITIES, map(floats, tensors), strict=True))


@cache
def judged(name: str, case: FieldCase) -> Judgement:
    """The judgement of a subject's results."""
    format = format_of(case.dtype)
    exact = neuron(case.inputs, case.weights, case.bias, case.upstream_gradient, format=format)
    return judge_neuron(exact, results(load(name), case), default_arithmetic(format))


def test_every_neuron_has_its_list() -> None:
    """A new built-in subject is not forgotten here, and no listed case is misspelt."""
    assert {subject.name for subject in NEURONS} == set(KNOWN_WRONG)
    assert {name for names in KNOWN_WRONG.values() for name in names} <= set(BY_NAME)


@each_case
@each_neuron
def test_a_subject_fails_the_cases_it_is_known_to_fail_and_no_other(
    subject: Subject, case: FieldCase
) -> None:
    """Known failures are wrong; everything else is textbook or better, and judged."""
    judgement = judged(subject.name, case)
    assert (case.name in KNOWN_WRONG[subject.name]) == (judgement.grade is Grade.WRONG)
    assert not judgement.unjudged


@pytest.mark.parametrize("name", LOST_GRADIENT)
@pytest.mark.parametrize("subject", ["textbook", "autograd", "torch-tanh"])
def test_a_gradient_lost_to_saturation_is_textbook(subject: str, name: str) -> None:
    """0 for a representable gradient is what the formula does, and not what a stable form does."""
    judgement = judged(subject, BY_NAME[name])
    (gradient,) = judgement.quantities["bias_gradient"]
    assert gradient.computed == 0.0
    assert gradient.grade is Grade.TEXTBOOK


def test_there_are_lost_gradients_in_every_dtype() -> None:
    """The list above is not empty by accident."""
    assert {"float16", "bfloat16", "float32", "float64"} == {
        BY_NAME[name].dtype for name in LOST_GRADIENT
    }


#: Subjects that do not sum 16-bit products in their own format.
_SUM_WIDER = ("accurate", "fused")


@pytest.mark.parametrize("name", _SUM_WIDER)
def test_overflowing_products_are_no_hazard_to_a_wider_sum(name: str) -> None:
    """Multiplied and summed in a wider format they give what is right."""
    judgement = judged(name, BY_NAME["half-products-overflow"])
    assert (Grade.CORRECT, False) == (judgement.grade, judgement.hazard)


@pytest.mark.parametrize(
    "subject",
    [each for each in NEURONS if each.name not in _SUM_WIDER],
    ids=lambda subject: subject.name,
)
def test_overflowing_products_are_a_hazard_to_others(subject: Subject) -> None:
    """Multiplied and summed in float16 they give NaN, which is excused and counted."""
    judgement = judged(subject.name, BY_NAME["half-products-overflow"])
    assert (Grade.TEXTBOOK, True) == (judgement.grade, judgement.hazard)
    assert [case.name for case in CASES if judged(subject.name, case).hazard] == [
        "half-products-overflow"
    ]


@pytest.mark.parametrize(
    ("subject", "name", "output"),
    [
        ("sigmoid", "tinier-float32", 0.0),
        ("exponential", "tiny-float16", 0.0),
        ("exponential", "special-inf", float("nan")),
        ("exponential", "exp-overflow-both-float32", float("nan")),
    ],
    ids=str,
)
def test_the_reported_faults_are_those_seen(subject: str, name: str, output: float) -> None:
    """The wrong output is the one of the report, not another."""
    (found,) = judged(subject, BY_NAME[name]).quantities["output"]
    assert found.grade is Grade.WRONG
    assert str(output) == str(found.computed)


def test_the_logistic_form_is_fifteen_thousand_ulps_off() -> None:
    """tiny-float32 is reported with about 15,000 ulps."""
    (found,) = judged("sigmoid", BY_NAME["tiny-float32"]).quantities["output"]
    assert found.ulps is not None
    assert 10_000 < abs(found.ulps) < 20_000


LENGTHS = range(1, 71)


@pytest.mark.parametrize("name", ["exponential", "sigmoid", "torch-tanh"])
@pytest.mark.parametrize("case", ["lane-independence", "special-nan"])
def test_the_same_value_gives_the_same_result_in_every_lane(name: str, case: str) -> None:
    """1 to 70 copies of one value: output and derivative have one bit pattern each."""
    x = BY_NAME[case].bias
    patterns: set[tuple[int, int]] = set()
    for length in LENGTHS:
        lanes = torch.full((length,), x, requires_grad=True)
        output = load(name).function(lanes)
        (gradient,) = torch.autograd.grad(output.sum(), lanes)
        patterns |= set(zip(bit_patterns(output), bit_patterns(gradient), strict=True))
    assert len(patterns) == 1


@pytest.mark.parametrize("name", ["textbook", "autograd", "torch-tanh"])
def test_equal_terms_have_equal_gradients_in_every_lane(name: str) -> None:
    """1 to 70 equal inputs and weights: within one neuron each gradient has one bit pattern."""
    for length in LENGTHS:
        case = Case("float32", (3.0,) * length, (1.0 / 64,) * length, 0.25, -1.5)
        _, inputs, weights, _ = neuron_of(load(name))(*arguments(case))
        assert [1, 1] == [len(set(bit_patterns(each))) for each in (inputs, weights)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_raw_gradient_is_lane_independent_and_judged_by_its_own_oracle(dtype: str) -> None:
    """1 to 70 copies of each stored output of the field: one result, textbook or better."""
    subject, format = load("aten-tanh-gradient"), format_of(dtype)
    outputs = [case.output for case in CASES if case.dtype == dtype]
    found = []
    for y in outputs:
        patterns: set[int] = set()
        for length in LENGTHS if y == BY_NAME["lane-independence"].output else (1, 3, 33, 70):
            stored = torch.full((length,), y, dtype=torch_dtype(dtype))
            gradient = subject.function(stored, torch.full_like(stored, -1.5))
            patterns |= set(bit_patterns(gradient))
        assert len(patterns) == 1
        found.append(floats(gradient)[0])
    judgement = judge_tanh_gradient(outputs, -1.5, found, default_arithmetic(format))
    assert judgement.grade.meets(Grade.TEXTBOOK)
    assert judgement.grade.meets(subject.stated[dtype].grade)
