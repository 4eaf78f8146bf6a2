"""The stages of a neuron: those of the textbook, and what is seen of a subject's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.case import DTYPES, Case
from harness.evaluate import Evaluator
from harness.stages import (
    Stages,
    gradient_stages_of,
    stages_of,
    textbook_gradient_stages,
    textbook_stages,
)
from harness.subjects import Kind, Subject, load
from tests.harness import faulty

CASE = Case("float32", (1.5, -0.25), (0.75, 2.0), 0.125, 3.0)
OUTPUTS = Case("float32", (0.25, -0.875), (), 0.0, 1.5)


def seen(subject: Subject, case: Case = CASE) -> Stages:
    """What is seen of a subject at a case."""
    values = Evaluator(subject, "cpu")(case).values
    assert values is not None
    if subject.kind is Kind.TANH_GRADIENT:
        return gradient_stages_of(subject, case, 1, "cpu", values)
    return stages_of(subject, case, "cpu", values)


def neuron(function: Any) -> Subject:
    """The subject that a neuron is."""
    return Subject(function.__name__, Kind.NEURON, function)


@pytest.mark.parametrize("dtype", DTYPES)
def test_those_of_the_textbook(dtype: str) -> None:
    """Each is rounded to the dtype, and the built-in's own are the same."""
    case = Case(dtype, CASE.inputs, CASE.weights, CASE.bias, CASE.upstream_gradient)
    stages = textbook_stages(case, "cpu")
    assert 1.5 * 0.75 - 0.25 * 2.0 + 0.125 == stages.preactivation
    assert None not in stages
    assert all(case.format.contains(value) for value in stages)
    assert stages == seen(load("textbook"), case)


def test_those_of_a_raw_gradient() -> None:
    """Of the lane that is asked for; 1 - y*y is exact here."""
    stages = textbook_gradient_stages(OUTPUTS, 1, "cpu")
    slope = 1 - 0.875 * 0.875
    assert Stages(None, -0.875, slope, 1.5 * slope) == stages

    def in_steps(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
        return dy * (1 - y * y)

    assert stages == seen(Subject("steps", Kind.TANH_GRADIENT, in_steps), OUTPUTS)
    fused = seen(load("aten-tanh-gradient"), OUTPUTS)
    assert stages._replace(slope=None) == fused


def test_what_an_activation_is_passed_is_its_preactivation() -> None:
    """However it computes its output; a fused backward pass hides the slope."""
    assert textbook_stages(CASE, "cpu")._replace(slope=None) == seen(load("torch-tanh"))
    exponential = seen(load("exponential"))
    assert 0.75 == exponential.preactivation


def test_a_wider_format_inside_is_seen_as_it_is() -> None:
    """The preactivation and the slope of a neuron that computes in binary64."""

    def wide(*arguments: torch.Tensor) -> Any:
        x, w, b, g = (each.double() for each in arguments)
        y = torch.tanh((x * w).sum() + b)
        d = g * (1 - y * y)
        return tuple(each.to(arguments[0].dtype) for each in (y, d * w, d * x, d))

    case = Case("float16", (0.333251953125,), (3.0,), 2.0**-11, 1.0)
    stages = seen(neuron(wide), case)
    assert 3 * 0.333251953125 + 2.0**-11 == stages.preactivation
    assert not case.format.contains(stages.preactivation)
    assert stages.slope is not None
    assert not case.format.contains(stages.slope)


def test_what_is_done_outside_torch_is_not_seen() -> None:
    """Nor is another tanh on the way taken for the one that gives the output."""

    def outside(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> Any:
        torch.tanh(b)
        return tuple(
            torch.from_numpy(each.numpy().copy())
            for each in (each.detach() for each in faulty.textbook(x, w, b, g))
        )

    def decoy(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, g: torch.Tensor) -> Any:
        torch.tanh(b)
        return outside_values

    values = Evaluator(load("textbook"), "cpu")(CASE).values
    assert values is not None
    outside_values = tuple(
        torch.tensor(value if name.endswith(("t_gradient",)) and len(value) > 1 else value[0])
        for name, value in values.items()
    )
    stages = stages_of(neuron(decoy), CASE, "cpu", values)
    assert (None, None) == (stages.preactivation, stages.slope)


def test_a_subject_that_cannot_be_watched_shows_nothing() -> None:
    """One that raises when it is called again."""

    def raises(*arguments: torch.Tensor) -> Any:
        raise ValueError("not twice")

    values = {"output": [0.5], "bias_gradient": [0.75]}
    assert Stages(None, 0.5, None, 0.75) == stages_of(neuron(raises), CASE, "cpu", values)
