"""The grades that the built-in subjects state, held against the judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings

from harness.case import DTYPES, Case
from harness.contract import NEURON_QUANTITIES, judge_neuron, judge_tanh_gradient
from harness.grade import Grade
from harness.judgement import Judgement
from harness.strategies import cases, tanh_gradient_cases
from harness.subjects import Kind, Subject, builtin_subjects, neuron_of
from harness.tensors import arguments, floats, tanh_gradient_arguments
from reference.bounds import default_arithmetic
from reference.neuron import neuron

CLAIMS = [(subject, dtype) for subject in builtin_subjects() for dtype in DTYPES]
IDS = [f"{subject.name} is {subject.stated[dtype].grade} in {dtype}" for subject, dtype in CLAIMS]


def judge(subject: Subject, case: Case) -> Judgement:
    """What `subject` is worth on `case`, on the CPU."""
    arithmetic = default_arithmetic(case.format)
    if subject.kind is Kind.TANH_GRADIENT:
        computed = floats(subject.function(*tanh_gradient_arguments(case)))
        return judge_tanh_gradient(case.inputs, case.upstream_gradient, computed, arithmetic)
    results = neuron_of(subject)(*arguments(case))
    exact = neuron(case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format)
    named: dict[str, Sequence[float]] = dict(
        zip(NEURON_QUANTITIES, map(floats, results), strict=True)
    )
    return judge_neuron(exact, named, arithmetic)


def for_each_case(subject: Subject, dtype: str, examples: int, run: Callable[[Case], None]) -> None:
    """Call `run` on the same `examples` cases every time."""
    strategy = cases if subject.kind is not Kind.TANH_GRADIENT else tanh_gradient_cases

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy(dtype))
    def draw(case: Case) -> None:
        run(case)

    draw()


def check(subject: Subject, dtype: str, examples: int) -> None:
    """The worst grade over the cases is no worse than stated, and `wrong` where that is stated."""
    stated = subject.stated[dtype].grade
    found: list[Grade] = []

    def run(case: Case) -> None:
        grade = judge(subject, case).grade
        assert grade.meets(stated), f"{grade} on {case.to_json()}"
        found.append(grade)

    for_each_case(subject, dtype, examples, run)
    if stated in (Grade.WRONG, Grade.TEXTBOOK) and subject.kind is not Kind.TANH_GRADIENT:
        assert stated is Grade.worst(found)


@pytest.mark.parametrize(("subject", "dtype"), CLAIMS, ids=IDS)
def test_stated_grade(subject: Subject, dtype: str) -> None:
    """No case is graded worse than stated; no neuron or activation claims worse than it earns."""
    # What keeps accurate-tanh from a better grade, a sum that overflows before it, is rarer.
    check(subject, dtype, examples=100 if subject.name == "accurate-tanh" else 40)


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "dtype"), CLAIMS, ids=IDS)
def test_stated_grade_in_many_cases(subject: Subject, dtype: str) -> None:
    """The same, over enough cases to reach the rare ones."""
    check(subject, dtype, examples=2_000)
