"""The neuron differentiated by torch."""

from __future__ import annotations

import pytest
import torch

from harness.subjects.autograd import autograd


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_gradients_are_those_of_torch_autograd(dtype: torch.dtype) -> None:
    """The same bits as a graph built by hand and torch.autograd.grad."""
    generator = torch.Generator().manual_seed(0)
    for length in (0, 1, 5, 64):
        x, w = (torch.randn(length, generator=generator).to(dtype) for _ in range(2))
        b, g = (torch.randn((), generator=generator).to(dtype) for _ in range(2))
        leaves = [each.clone().requires_grad_() for each in (x, w, b)]
        y = torch.tanh((leaves[0] * leaves[1]).sum() + leaves[2])
        expected = [y, *torch.autograd.grad(y, leaves, g)]
        results = autograd(x, w, b, g)
        assert [each.tolist() for each in expected] == [each.tolist() for each in results]


def test_nothing_is_accumulated() -> None:
    """A second call gives the same gradients, where backward() would add to `.grad`."""
    x = torch.tensor([2.0, 0.0], requires_grad=True)
    w, b, g = torch.tensor([-3.0, 1.0]), torch.tensor(6.0), torch.tensor(1.0)
    first, second = (autograd(x, w, b, g)[1].tolist() for _ in range(2))
    assert first == second
    assert x.grad is None
