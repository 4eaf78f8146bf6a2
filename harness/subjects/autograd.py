"""The neuron's forward pass alone, with the gradients left to torch.autograd."""

from __future__ import annotations

from typing import Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject
from harness.subjects.validation import check_neuron


def autograd(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(output, input_gradient, weight_gradient, bias_gradient) of a tanh neuron, by autograd.

    Arguments, results and errors as those of `textbook.textbook`. The vector-Jacobian product of
    `torch.func` runs the same engine as `torch.autograd.grad`, but needs no argument to require
    grad, works in every grad mode, leaves `.grad` alone, and may be batched with
    `torch.func.vmap`.
    """
    check_neuron(inputs, weights, bias, upstream_gradient)
    # Typed as two or three results; the third is only there with has_aux.
    output, pullback = torch.func.vjp(_forward, inputs, weights, bias)[:2]
    return output, *pullback(upstream_gradient)


def _forward(inputs: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.tanh((inputs * weights).sum() + bias)


_REASON: Final = (
    "torch differentiates tanh as g * (1 - y*y) of the stored output, so the gradient cancels as "
    "y nears 1 just as the formula does"
)

SUBJECT: Final = Subject(
    name="autograd",
    kind=Kind.NEURON,
    function=autograd,
    stated={
        dtype: Stated(Grade.TEXTBOOK, _REASON)
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
)
