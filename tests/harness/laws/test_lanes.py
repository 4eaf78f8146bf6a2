"""The same value in every lane: in a neuron, a raw gradient, and an activation on a vector."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from harness.case import Case
from harness.subjects import Kind
from tests.harness import faulty
from tests.harness.laws.looking import breach

CASE = Case("float32", (1.5, 0.25), (0.5, -1.0), 0.25, 2.0)


def nudged(lanes: slice) -> Any:
    """The textbook's neuron with some lanes of its gradients an ulp larger."""

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        dx[lanes] = torch.nextafter(dx[lanes], 2 * dx[lanes])
        return y, dx, dw, d

    return neuron


@pytest.mark.parametrize(
    ("lanes", "text"),
    [
        pytest.param(slice(0, 0), None, id="none"),
        pytest.param(slice(16, None), "with lane 1 repeated as lane 17, input_", id="the tail"),
        pytest.param(slice(0, None, 8), "with lane 0 repeated as lane", id="every eighth"),
    ],
)
def test_in_a_neuron(lanes: slice, text: str | None) -> None:
    """A lane that differs by an ulp from that which it repeats."""
    said = breach("lanes", nudged(lanes), CASE)
    assert (said is None) if text is None else said is not None and said.startswith(text)


def test_at_another_length() -> None:
    """All lanes differ, at lengths of 16 and more."""

    def neuron(x: Any, w: Any, b: Any, g: Any) -> Any:
        y, dx, dw, d = faulty.right(x, w, b, g)
        return y, torch.nextafter(dx, 2 * dx) if len(x) >= 16 else dx, dw, d

    assert "at length 19, input_gradient[0] is " in str(breach("lanes", neuron, CASE))


def test_only_finite_lanes() -> None:
    """0 * inf would change the sum."""
    for x, w in ((math.inf, 1.0), (1.0, math.nan)):
        case = Case("float32", (x,), (w,), 0.0, 1.0)
        assert breach("lanes", nudged(slice(0, None, 8)), case) is None


def scalar(x: Any) -> Any:
    """tanh of one number."""
    return torch.tanh(x.reshape(()))


def summed(x: Any) -> Any:
    """tanh of a sum: of one number, that number's."""
    return torch.tanh(x.sum())


@pytest.mark.parametrize("activation", [scalar, summed, torch.tanh])
@pytest.mark.parametrize("name", ["lanes", "layout"])
def test_an_activation_that_takes_no_vector(name: str, activation: Any) -> None:
    """It raises, or gives another shape: a neuron asks for one number, and gets it."""
    assert breach(name, activation, CASE, Kind.ACTIVATION) is None
