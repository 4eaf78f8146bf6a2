"""Activations with one fault each, in a place of its own; elsewhere they are torch.tanh. Subjects
by path too: `tests/harness/hunt/planted.py:in_one_binade`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch

from harness.landmarks import landmarks
from reference.formats import BINARY64

Tensor = torch.Tensor
#: How far off they are, in ulps.
FAULT = 5
_MAGNITUDE = 2**63 - 1


def _off_by(x: Tensor, ulps: Tensor) -> Tensor:
    """tanh(x), so many floats away from zero."""

    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = torch.tanh(x)
            ctx.save_for_backward(y)
            return (y.view(torch.int64) + ulps).view(torch.float64)

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Tensor:
            (y,) = ctx.saved_tensors
            return gradients[0] * (1 - y * y)

    result: Tensor = Tanh.apply(x)
    return result


def _where(bad: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The activation that is `FAULT` ulps off where `bad` says so of bit patterns."""

    def activation(x: Tensor) -> Tensor:
        return _off_by(x, FAULT * bad(x.detach().view(torch.int64)).to(torch.int64))

    return activation


def _in_range(bits: Tensor, low: int, high: int) -> Tensor:
    return (bits >= low) & (bits < high)


def _window(start: float, size: int) -> Callable[[Tensor], Tensor]:
    low = BINARY64.to_bits(start)
    return lambda bits: _in_range(bits, low, low + size)


_ONE_FROM = landmarks(BINARY64).one_from
_LN2 = BINARY64.to_bits(5 * math.log(2) / 4)

#: 2^20 neighbouring numbers in the middle of a binade, next to a short number.
in_a_window = _where(_window(0.6875, 1 << 20))
#: As many beside a multiple of ln 2, on the other side of zero.
beside_ln2 = _where(lambda bits: (bits < 0) & _in_range(bits & _MAGNITUDE, _LN2 - (1 << 20), _LN2))
#: The sixteen numbers before the one from which tanh rounds to 1.
below_a_threshold = _where(lambda bits: _in_range(bits & _MAGNITUDE, _ONE_FROM - 16, _ONE_FROM))
#: Negative numbers of one binade far from where tanh is curved.
in_one_binade = _where(lambda bits: (bits < 0) & ((bits & _MAGNITUDE) >> 52 == 1023 - 300))


def on_a_hill(x: Tensor) -> Tensor:
    """1 ulp more for each of five windows, one inside the other, the innermost of 2^23 numbers."""
    place = (x.detach().view(torch.int64) - BINARY64.to_bits(0.3141592653589793)).abs()
    levels = [place < 1 << order for order in (46, 40, 34, 28, 22)]
    return _off_by(x, torch.stack(levels).sum(0))


def raises_beyond_710(x: Tensor) -> Tensor:
    """torch.tanh, but for an exception where exp would overflow."""
    if (x.detach().abs() > 710).any():
        raise OverflowError("math range error")
    return torch.tanh(x)


def nan_at_one_number(x: Tensor) -> Tensor:
    """torch.tanh, but for NaN at 0.75."""
    return torch.where(x.detach() == 0.75, torch.full_like(x, math.nan), torch.tanh(x))


def without_gradient(x: Tensor) -> Tensor:
    """torch.tanh of a detached tensor."""
    return torch.tanh(x.detach())


def by_exponentials(x: float) -> float:
    """(e^2x - 1) / (e^2x + 1) of a Python float; raises where that overflows."""
    return math.expm1(2 * x) / (math.exp(2 * x) + 1)


def slow(x: float) -> float:
    """math.tanh after a nap: some fifty calls a second."""
    time.sleep(0.02)
    return math.tanh(x)


def stuck(x: Tensor) -> Tensor:
    """Does not return in any time that a test has."""
    if len(x) > 3:
        time.sleep(60)
    return torch.tanh(x)


def depends_on_neighbours(x: Tensor) -> Tensor:
    """8 ulps off wherever it is shown more than four numbers."""
    return _off_by(x, torch.full(x.shape, 8 if x.dim() and len(x) > 4 else 0, dtype=torch.int64))
