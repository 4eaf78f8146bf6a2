"""The split of an error: its parts add up, each is what the formula says, the guilty one shows."""

from __future__ import annotations

from math import isfinite
from typing import Any

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.case import DTYPES, Case
from harness.evaluate import Evaluator
from harness.split import Part, Step, largest, split, times, total
from harness.stages import Stages, stages_of, textbook_stages
from harness.strategies import cases
from harness.subjects import Kind, Subject, load
from reference.dyadic import Dyadic, compare, from_float, magnitude, multiply, subtract
from reference.neuron import neuron as exact_neuron

CASE = Case("float32", (3.0,), (2.25,), float.fromhex("0x1.99999ap-3"), 1.0)


def parts_of(case: Case, stages: Stages) -> list[Part] | None:
    """The parts of the error of d."""
    exact = exact_neuron(
        case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format
    )
    return split(
        exact.bias_gradient, exact.preactivation, case.upstream_gradient, stages, case.format
    )


def number(value: Dyadic) -> Any:
    """As mpmath has it."""
    return mpmath.ldexp(value.mantissa, value.exponent)


@pytest.fixture(autouse=True)
def _precision() -> Any:
    with mpmath.workprec(600):
        yield


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(DTYPES).flatmap(cases), st.sampled_from(["textbook", "torch-tanh"]))
def test_parts_add_up_to_the_error(case: Case, name: str) -> None:
    """To the precision that transcendental stages are taken to, whatever was seen."""
    values = Evaluator(load(name), "cpu")(case).values
    assert values is not None
    parts = parts_of(case, stages_of(load(name), case, "cpu", values))
    exact = exact_neuron(
        case.inputs, case.weights, case.bias, case.upstream_gradient, format=case.format
    ).bias_gradient
    if parts is None:
        numbers = (*case.inputs, *case.weights, case.bias, case.upstream_gradient)
        overflown = not all(map(isfinite, textbook_stages(case, "cpu")))
        assert overflown or not all(map(isfinite, numbers))
        return
    lower, upper = exact.enclosure(320)
    computed = from_float(values["bias_gradient"][0])
    least, most = subtract(computed, upper), subtract(computed, lower)
    slack = multiply(magnitude(upper), Dyadic(1, -300))
    found = total(parts)
    assert compare(subtract(least, slack), found) <= 0 <= compare(found, subtract(most, slack)) + 1
    assert compare(magnitude(subtract(found, most)), slack) <= 0


def test_each_part_is_what_the_formula_says() -> None:
    """Of the textbook in float32, against mpmath."""
    stages = textbook_stages(CASE, "cpu")
    parts = parts_of(CASE, stages)
    assert parts is not None
    found = {part.step: number(part.error) for part in parts}
    a, y, slope, d = map(mpmath.mpf, stages)
    exact = 3 * mpmath.mpf("2.25") + mpmath.mpf(CASE.bias)
    rounded = mpmath.mpf(float(torch.tanh(torch.tensor(stages.preactivation)).item()))
    expected = {
        Step.PREACTIVATION: mpmath.sech(a) ** 2 - mpmath.sech(exact) ** 2,
        Step.TANH: rounded**2 - y**2,
        Step.OUTPUT: 1 - rounded**2 - mpmath.sech(a) ** 2,
        Step.CANCELLATION: slope - (1 - y**2),
        Step.ROUNDINGS: d - slope,
    }
    assert list(expected) == list(found)
    for step, value in expected.items():
        assert abs(found[step] - value) <= mpmath.mpf(2) ** -300


def faulty(name: str) -> tuple[Subject, Case]:
    """A neuron with one fault in float32, and a case where it shows."""

    def neuron(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> Any:
        a = (x * w).sum() + b
        if name == "preactivation":
            a = a * (1 + 2.0**-12)
        y = torch.tanh(a)
        if name == "tanh":
            y = y * (1 - 2.0**-12)
        slope = 1 - y * y
        if name == "cancellation":
            slope = 1 - (y * y).bfloat16().float()
        if name == "slope":
            slope = slope * 1.01 + 0.01
        d = g * slope
        if name == "roundings":
            d = d.bfloat16().float()
        dx = d * w
        if name == "product":
            dx = dx.bfloat16().float()
        return y, dx, d * x, d

    return Subject(name, Kind.NEURON, neuron), Case(
        "float32", (0.75,), (0.703125,), 0.296875, 1.296875
    )


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("preactivation", Step.PREACTIVATION),
        ("tanh", Step.TANH),
        ("cancellation", Step.SLOPE),
        ("slope", Step.SLOPE),
        ("roundings", Step.ROUNDINGS),
        ("product", Step.PRODUCT),
    ],
)
def test_the_guilty_step_is_named(name: str, step: Step) -> None:
    """A fault planted in one step is the largest part; what rounds y*y worse than the format does
    is a formula of its own."""
    subject, case = faulty(name)
    values = Evaluator(subject, "cpu")(case).values
    assert values is not None
    parts = parts_of(case, stages_of(subject, case, "cpu", values))
    assert parts is not None
    (d,), (dx,) = values["bias_gradient"], values["input_gradient"]
    assert step is largest(times(parts, case.weights[0], d, dx)).step


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_near_saturation_the_rounding_of_the_output_is_to_blame(dtype: str) -> None:
    """For the textbook, and not for the stable form, whose slope is its own."""
    a = {"float16": 3.5, "bfloat16": 2.5, "float32": 6.95, "float64": 12.3}[dtype]
    format = Case(dtype, (), (), 0.0, 1.0).format
    case = Case(dtype, (), (), format.round(from_float(a)), 1.0)
    parts = parts_of(case, textbook_stages(case, "cpu"))
    assert parts is not None
    assert Step.OUTPUT is largest(parts).step

    def stable(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> Any:
        a = (x * w).sum() + b
        t = torch.exp(-2 * a.abs())
        d = g * (4 * t / (1 + t) ** 2)
        return torch.tanh(a), d * w, d * x, d

    subject = Subject("stable", Kind.NEURON, stable)
    values = Evaluator(subject, "cpu")(case).values
    assert values is not None
    parts = parts_of(case, stages_of(subject, case, "cpu", values))
    assert parts is not None
    assert [Step.PREACTIVATION, Step.SLOPE, Step.ROUNDINGS] == [part.step for part in parts]


def test_unseen_stages_merge_their_neighbours() -> None:
    """Fewer parts with the same sum."""
    stages = textbook_stages(CASE, "cpu")
    whole = parts_of(CASE, stages)
    assert whole is not None
    for hidden, steps in (
        ({"preactivation": None}, [Step.UP_TO_OUTPUT, Step.CANCELLATION, Step.ROUNDINGS]),
        ({"slope": None}, [*(part.step for part in whole[:3]), Step.AFTER_OUTPUT]),
        ({"preactivation": None, "slope": None}, [Step.UP_TO_OUTPUT, Step.AFTER_OUTPUT]),
    ):
        parts = parts_of(CASE, stages._replace(**hidden))
        assert parts is not None
        assert steps == [part.step for part in parts]
        assert abs(number(total(parts)) - number(total(whole))) < mpmath.mpf(2) ** -300
    own = parts_of(CASE, Stages(None, stages.output, None, 0.5))
    assert own is not None
    assert [Step.GRADIENT] == [part.step for part in own]


@pytest.mark.parametrize("place", range(4))
def test_there_is_nothing_to_split_where_a_stage_is_not_finite(place: int) -> None:
    """An infinity has no error to add up."""
    stages = list(textbook_stages(CASE, "cpu"))
    stages[place] = float("inf")
    assert parts_of(CASE, Stages(*stages)) is None


def test_the_textbooks_slope_is_never_taken_for_another() -> None:
    """Not even where the rounding of y*y happens to undo that of y."""
    format = CASE.format
    for place in range(200):
        a = format.round(from_float(4 + place / 100))
        case = Case("float32", (), (), a, 1.0)
        parts = parts_of(case, textbook_stages(case, "cpu"))
        assert parts is not None
        assert Step.CANCELLATION in [part.step for part in parts]
