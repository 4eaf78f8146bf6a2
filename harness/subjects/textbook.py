"""The neuron as a textbook writes it: tanh of a sum of products, and g * (1 - y^2)."""

from __future__ import annotations

from typing import Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject
from harness.subjects.validation import check_neuron


def textbook(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(output, input_gradient, weight_gradient, bias_gradient) of a tanh neuron, by formula.

    `inputs` and `weights` are vectors of one length (0 is legal), `bias` and `upstream_gradient`
    0-dim; all share a floating dtype and a device, which the results keep. Output and bias
    gradient are 0-dim, the other two have the shape of `inputs`. Batch with `torch.func.vmap`.

    Raises TypeError and ValueError as `validation.check_neuron` does.
    """
    check_neuron(inputs, weights, bias, upstream_gradient)
    output = torch.tanh((inputs * weights).sum() + bias)
    bias_gradient = upstream_gradient * (1 - output.square())
    return output, bias_gradient * weights, bias_gradient * inputs, bias_gradient


_REASON: Final = (
    "1 - y*y is taken of an output already rounded, so it cancels as y nears 1 and is 0 from "
    "where y rounds to 1; the formula accounts for all of the error"
)

SUBJECT: Final = Subject(
    name="textbook",
    kind=Kind.NEURON,
    function=textbook,
    stated={
        dtype: Stated(Grade.TEXTBOOK, _REASON)
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
)
