"""Between torch and arrays of other frameworks, by NumPy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch.autograd.function import once_differentiable

Array = NDArray[Any]


def to_array(tensor: torch.Tensor, bfloat16: DTypeLike | None = None) -> Array:
    """The elements of a CPU tensor in an array of its own; a bfloat16 tensor's with the NumPy dtype
    `bfloat16`, which another package provides.

    Raises TypeError for a bfloat16 tensor where there is none.
    """
    held = tensor.detach().cpu().contiguous()
    if held.dtype is not torch.bfloat16:
        array: Array = held.numpy().copy()
        return array
    if bfloat16 is None:
        raise TypeError("NumPy has no bfloat16; expected float16, float32 or float64")
    patterns: Array = held.view(torch.int16).numpy().copy()
    return patterns.view(bfloat16)


def to_tensor(array: Array, like: torch.Tensor) -> torch.Tensor:
    """An array's elements in a tensor on the device of another and of its dtype, which must be
    theirs. Raises TypeError if it is not."""
    held = np.array(array, copy=True, order="C")
    if like.dtype is torch.bfloat16 and held.dtype.name == "bfloat16":
        return torch.from_numpy(held.view(np.int16)).view(torch.bfloat16).to(like.device)
    tensor = torch.from_numpy(held)
    if tensor.dtype is not like.dtype:
        raise TypeError(f"the result is of {held.dtype}; expected {like.dtype}")
    return tensor.to(like.device)


def differentiable(
    forward: Callable[[torch.Tensor], torch.Tensor],
    pullback: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[[torch.Tensor], torch.Tensor]:
    """The activation y = forward(x) whose gradient is pullback(x, y, dy), once differentiable."""

    class Activation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = forward(x)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, dy: torch.Tensor) -> torch.Tensor:
            x, y = ctx.saved_tensors
            return pullback(x, y, dy)

    applied: Callable[[torch.Tensor], torch.Tensor] = Activation.apply
    return applied
