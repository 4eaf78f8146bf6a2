"""tanh from the logistic function."""

from __future__ import annotations

import math

import pytest
import torch

from harness.subjects.sigmoid import sigmoid_tanh


def test_values_and_gradient() -> None:
    """tanh at 0, log 2 and -log 3, and 1 - y^2 times the upstream gradient there."""
    x = torch.tensor([0.0, math.log(2), -math.log(3)], dtype=torch.float64, requires_grad=True)
    y = sigmoid_tanh(x)
    torch.testing.assert_close(
        y.detach(), torch.tensor([0.0, 0.6, -0.8], dtype=torch.float64), rtol=1e-15, atol=0
    )
    (gradient,) = torch.autograd.grad(y, x, torch.tensor([2.0, 3.0, -1.0], dtype=torch.float64))
    torch.testing.assert_close(
        gradient, torch.tensor([2.0, 1.92, -0.36], dtype=torch.float64), rtol=4e-15, atol=0
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_cancellation_near_zero(dtype: torch.dtype) -> None:
    """At x = u/4 the sigmoid rounds to 1/2 and nothing of x is left."""
    x = torch.tensor(torch.finfo(dtype).eps / 8, dtype=dtype)
    assert sigmoid_tanh(x).item() == 0.0
    assert x.item() == torch.tanh(x).item()


def test_saturation_is_finite() -> None:
    """Unlike the quotient of exponentials, it saturates at 1 and stays there."""
    x = torch.tensor([50.0, -50.0, 3e38, -3e38, math.inf, -math.inf])
    assert sigmoid_tanh(x).tolist() == [1.0, -1.0] * 3
