"""Neurons with a fault that few cases show. Subjects by path too."""

from __future__ import annotations

import time
from typing import Any

import torch

Tensor = torch.Tensor


def _textbook(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    y = torch.tanh((x * w).sum() + b)
    d = g * (1 - y * y)
    return y, d * w, d * x, d


def loses_the_seventeenth(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The textbook's neuron without the terms beyond the sixteenth."""
    y, _, _, d = _textbook(x[:16], w[:16], b, g)
    return y, d * w, d * x, d


def off_where_saturated(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """d is 0 where |a| > 3 and n > 2."""
    a = (x * w).sum() + b
    y, dx, dw, d = _textbook(x, w, b, g)
    if len(x) > 2 and 3 < a.abs() < 9:
        return y, dx * 0, dw * 0, d * 0
    return y, dx, dw, d


def not_in_vmap(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The textbook's neuron, which looks at a value and so cannot be batched."""
    if x.sum().item() > 1e300:
        b = b * 1
    return _textbook(x, w, b, g)


def slow(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The textbook's neuron after a nap, not to be batched."""
    x.sum().item()
    time.sleep(0.01)
    return _textbook(x, w, b, g)


def raises_for_long(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The textbook's neuron of at most four inputs."""
    if len(x) > 4:
        raise ValueError("too long")
    return _textbook(x, w, b, g)


def sound(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The textbook's neuron."""
    return _textbook(x, w, b, g)
