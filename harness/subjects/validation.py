"""Argument checks of the built-in subjects: an error, never a silent promotion or broadcast.

Only metadata is read (type, shape, dtype, device), so the checks work on traced and batched tensors
and never wait for a device.
"""

from __future__ import annotations

from typing import Final, NoReturn

import torch

FLOATING: Final = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
"""The dtypes a neuron has, the commonest first."""


def check_neuron(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> None:
    """Check two vectors of one length and two scalars, of one floating dtype, on one device.

    Raises TypeError for a non-tensor, a dtype that is none of float16, bfloat16, float32 and
    float64, and mixed dtypes; ValueError for a wrong rank, unequal lengths and mixed devices.
    The message names the argument, what it was, what was expected, and the remedy.
    """
    # One test for the good case: four looks at each argument in turn would cost as much as the
    # neuron itself.
    try:
        dtype = inputs.dtype
        device = inputs.device
        if (
            dtype in FLOATING
            and dtype is weights.dtype is bias.dtype is upstream_gradient.dtype
            and inputs.ndim == 1
            and inputs.shape == weights.shape
            and bias.ndim == 0 == upstream_gradient.ndim
            and device == weights.device == bias.device == upstream_gradient.device
        ):
            return
    except AttributeError:
        pass
    _diagnose_neuron(inputs, weights, bias, upstream_gradient)


def check_gradient(y: torch.Tensor, dy: torch.Tensor) -> None:
    """Check a stored output and its upstream gradient: one shape, floating dtype and device.

    Raises TypeError and ValueError as `check_neuron` does.
    """
    _check_types(y=y, dy=dy)
    if dy.shape != y.shape:
        raise ValueError(
            f"dy has shape {_shape(dy)}; expected {_shape(y)}, the shape of y; expand it to that"
        )


def _diagnose_neuron(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> NoReturn:
    _check_types(inputs=inputs, weights=weights, bias=bias, upstream_gradient=upstream_gradient)
    for name, vector in (("inputs", inputs), ("weights", weights)):
        if vector.ndim != 1:
            raise ValueError(
                f"{name} has shape {_shape(vector)}; expected a vector (1 dimension); "
                "batch with torch.func.vmap"
            )
    if weights.shape != inputs.shape:
        raise ValueError(
            f"weights has length {len(weights)}; expected {len(inputs)}, the length of inputs; "
            "give one weight an input"
        )
    for name, scalar in (("bias", bias), ("upstream_gradient", upstream_gradient)):
        if scalar.ndim != 0:
            raise ValueError(
                f"{name} has shape {_shape(scalar)}; expected a scalar (0 dimensions); "
                "index or reduce it to one element"
            )
    raise AssertionError("the checks disagree about the arguments")


def _check_types(**arguments: torch.Tensor) -> None:
    """Tensors, of one floating dtype, on one device; the first argument sets both."""
    (leader, first), *_ = arguments.items()
    for name, value in arguments.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"{name} is of type {type(value).__name__}; expected a torch.Tensor; "
                "convert it with torch.tensor"
            )
        if value.dtype not in FLOATING:
            raise TypeError(
                f"{name} has dtype {_dtype(value)}; expected float16, bfloat16, float32 or "
                "float64; convert it with .to"
            )
    for name, value in arguments.items():
        if value.dtype is not first.dtype:
            raise TypeError(
                f"{name} has dtype {_dtype(value)}; expected {_dtype(first)}, the dtype of "
                f"{leader}; convert one of them with .to"
            )
        if value.device != first.device:
            raise ValueError(
                f"{name} is on {value.device}; expected {first.device}, the device of {leader}; "
                "move one of them with .to"
            )


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))
