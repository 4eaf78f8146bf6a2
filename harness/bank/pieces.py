"""What the subjects of the bank are put together from, so that each shows its own idea only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor
Results = tuple[Tensor, Tensor, Tensor, Tensor]


def preactivation(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """a = sum(x * w) + b."""
    return (x * w).sum() + b


def slope(y: Tensor) -> Tensor:
    """1 - y*y."""
    return 1 - y.square()


def results(y: Tensor, d: Tensor, x: Tensor, w: Tensor) -> Results:
    """The four results of a neuron from its output and d = dL/da."""
    return y, d * w, d * x, d


def right(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The textbook's neuron: what a fault of structure starts from."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, g * slope(y), x, w)


Value = Callable[[Tensor], Tensor]
Gradient = Callable[[Tensor, Tensor, Tensor], Tensor]


class _Custom(torch.autograd.Function):
    """A value and a gradient that need not belong together."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, value: Value, gradient: Gradient) -> Tensor:
        y = value(x)
        ctx.save_for_backward(x, y)
        ctx.gradient = gradient
        return y

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        x, y = ctx.saved_tensors
        return ctx.gradient(upstream[0], x, y), None, None


def custom(x: Tensor, value: Value, gradient: Gradient) -> Tensor:
    """value(x), whose backward pass is gradient(g, x, y), both elementwise."""
    # torch leaves `apply` untyped.
    y: Tensor = _Custom.apply(x, value, gradient)  # type: ignore[no-untyped-call]
    return y


def backward(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The right gradient of `custom`: g * (1 - y*y)."""
    return g * slope(y)
