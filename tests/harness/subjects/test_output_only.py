"""Activations without a gradient, as neurons whose output alone means something."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from harness.subjects.output_only import output_neuron, works_on_floats

ARGUMENTS = [torch.tensor(value, dtype=torch.float64) for value in ([0.5, 2.0], [1.0, -0.25])]
ARGUMENTS += [torch.tensor(value, dtype=torch.float64) for value in (0.125, 3.0)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(math.tanh, True, id="math.tanh: yes"),
        pytest.param(lambda x: x / (1 + abs(x)), True, id="arithmetic: yes"),
        pytest.param(torch.tanh, False, id="torch.tanh: no"),
        pytest.param(lambda x: 1, False, id="an int: no"),
        pytest.param(lambda x: [][0], False, id="an exception: no"),
    ],
)
def test_what_works_on_floats(function: Callable[[Any], Any], expected: bool) -> None:
    """A float for a float."""
    assert expected is works_on_floats(function)


@pytest.mark.parametrize(
    ("function", "floats"),
    [(math.tanh, True), (lambda x: torch.tanh(x.detach()), False)],
    ids=["floats", "tensors"],
)
def test_the_output_is_that_of_the_preactivation(function: Any, floats: bool) -> None:
    """0.5 * 1 - 2 * 0.25 + 0.125 = 0.125, and zeros of the right shapes."""
    output, *gradients = output_neuron(function, floats=floats)(*ARGUMENTS)
    a = torch.tensor([0.125], dtype=torch.float64)
    assert (math.tanh(0.125) if floats else torch.tanh(a).item()) == output.item()
    assert [(2,), (2,), ()] == [tuple(gradient.shape) for gradient in gradients]
    assert not any(gradient.any() for gradient in gradients)


@pytest.mark.parametrize(
    ("function", "floats", "message"),
    [
        (lambda x: "0.1", True, "returned a str; expected a float"),
        (math.tanh, False, "returned a float; expected a torch.Tensor"),
        (lambda x: x.float(), False, r"returned torch.float32 of shape \(1,\); expected torch.fl"),
        (lambda x: x.sum(), False, r"of shape \(\); expected torch.float64 of shape \(1,\)"),
    ],
)
def test_another_answer_is_an_error(function: Any, floats: bool, message: str) -> None:
    """Said in one line."""
    with pytest.raises((TypeError, ValueError), match=message):
        output_neuron(function, floats=floats)(*ARGUMENTS)
