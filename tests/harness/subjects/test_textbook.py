"""The textbook neuron."""

from __future__ import annotations

import pytest
import torch

from harness.subjects.textbook import textbook

SATURATION = {
    # The least preactivation whose tanh rounds to 1, and the format's float before it.
    torch.float16: (4.5078125, 4.50390625),
    torch.bfloat16: (3.46875, 3.453125),
}


def saturated(a: float, dtype: torch.dtype, g: float = 1.0) -> tuple[float, float]:
    """(output, bias gradient) of the neuron without inputs at preactivation `a`."""
    empty = torch.empty(0, dtype=dtype)
    output, _, _, gradient = textbook(
        empty, empty, torch.tensor(a, dtype=dtype), torch.tensor(g, dtype=dtype)
    )
    return output.item(), gradient.item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_formulas(dtype: torch.dtype) -> None:
    """Output and gradients are those of the formulas, operation by operation."""
    inputs = torch.tensor([1.5, -0.25, 3.0], dtype=dtype)
    weights = torch.tensor([0.5, 2.0, -0.125], dtype=dtype)
    bias, g = torch.tensor(0.25, dtype=dtype), torch.tensor(-3.0, dtype=dtype)
    y = torch.tanh(torch.tensor(0.75 - 0.5 - 0.375 + 0.25, dtype=dtype))
    d = g * (1 - y * y)
    expected = [y, d * weights, d * inputs, d]
    results = textbook(inputs, weights, bias, g)
    assert [each.tolist() for each in expected] == [each.tolist() for each in results]


@pytest.mark.parametrize(
    ("dtype", "rounds_to_one", "before"),
    [(dtype, *points) for dtype, points in SATURATION.items()],
    ids=["float16", "bfloat16"],
)
def test_the_gradient_vanishes_where_the_output_rounds_to_one(
    dtype: torch.dtype, rounds_to_one: float, before: float
) -> None:
    """The gradient is exactly 0 from where tanh rounds to 1, and not one float earlier."""
    assert saturated(rounds_to_one, dtype) == (1.0, 0.0)
    output, gradient = saturated(before, dtype)
    assert output < 1.0
    assert gradient > 0.0


def test_the_upstream_gradient_multiplies_once() -> None:
    """At a = 0 the bias gradient is g itself; dropping or squaring g would show here."""
    assert saturated(0.0, torch.float64, g=-4.0) == (0.0, -4.0)


def test_dividing_would_be_another_function() -> None:
    """g / (1 - y^2) grows where the gradient shrinks."""
    _, gradient = saturated(2.0, torch.float64)
    assert gradient == pytest.approx(0.0706508248531645, rel=1e-14)


def test_results_can_be_differentiated() -> None:
    """The formulas are torch operations: d(bias gradient)/da = -2 g y (1 - y^2)."""
    empty = torch.empty(0, dtype=torch.float64)
    bias = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y, _, _, d = textbook(empty, empty, bias, torch.tensor(3.0, dtype=torch.float64))
    (second,) = torch.autograd.grad(d, bias)
    assert second.item() == pytest.approx(-2 * y.item() * d.item(), rel=1e-14)
