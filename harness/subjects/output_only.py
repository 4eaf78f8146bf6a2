"""An activation whose gradient cannot be had, as a neuron whose output alone means something.

Such are a function of tensors that autograd cannot trace, and a plain function of Python floats,
as `math.tanh` is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from harness.subjects.validation import check_neuron

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def works_on_floats(function: Callable[..., Any]) -> bool:
    """Whether a function takes a Python float to a Python float. Calls it once, on 0.25."""
    try:
        return isinstance(function(0.25), float)
    except (Exception, SystemExit):
        return False


def output_neuron(
    activation: Callable[[Any], Any], *, floats: bool
) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], Tensors]:
    """The neuron whose nonlinearity is `activation`, with zeros for the three gradients.

    `activation` is passed the preactivation, without a gradient: as a Python float if `floats`,
    else as a tensor of shape (1,). The result raises TypeError or ValueError if it answers with
    another thing, shape or dtype.
    """

    def neuron(
        inputs: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        upstream_gradient: torch.Tensor,
    ) -> Tensors:
        check_neuron(inputs, weights, bias, upstream_gradient)
        with torch.no_grad():
            preactivation = (inputs * weights).sum() + bias
            if floats:
                output = _of_float(activation, preactivation)
            else:
                output = _of_tensor(activation, preactivation)
            zeros = torch.zeros_like
            return output, zeros(inputs), zeros(weights), zeros(bias)

    return neuron


def _of_float(activation: Callable[[float], Any], preactivation: torch.Tensor) -> torch.Tensor:
    found = activation(preactivation.item())
    if not isinstance(found, float | int):
        raise TypeError(f"returned a {type(found).__name__}; expected a float")
    return torch.tensor(float(found), dtype=preactivation.dtype)


def _of_tensor(
    activation: Callable[[torch.Tensor], Any], preactivation: torch.Tensor
) -> torch.Tensor:
    found = activation(preactivation.reshape(1))
    if not isinstance(found, torch.Tensor):
        raise TypeError(f"returned a {type(found).__name__}; expected a torch.Tensor")
    if found.shape != (1,) or found.dtype is not preactivation.dtype:
        raise ValueError(
            f"returned {found.dtype} of shape {tuple(found.shape)}; expected "
            f"{preactivation.dtype} of shape (1,)"
        )
    return found.detach().reshape(()).clone()
