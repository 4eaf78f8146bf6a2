"""The textbook neuron at the lowest cost: the arguments read twice, each result written once."""

from __future__ import annotations

from typing import Final

import torch

from harness.grade import Grade
from harness.subjects.subject import Kind, Stated, Subject
from harness.subjects.transforms import transformed
from harness.subjects.validation import check_neuron

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def fused(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> Tensors:
    """(output, input_gradient, weight_gradient, bias_gradient) of a tanh neuron, by formula.

    Arguments and errors as those of `textbook.textbook`; so are the results, without a graph. The
    sum is a dot product, tanh's derivative torch's own; nothing of length n is allocated but the
    two vectors of the result. `out` is where these go instead: (input_gradient, weight_gradient),
    each of the shape, dtype and device of `inputs`, neither sharing memory with an argument. Batch
    with `torch.func.vmap`, without `out`.

    Raises TypeError and ValueError as `validation.check_neuron` does, ValueError for another `out`.
    """
    check_neuron(inputs, weights, bias, upstream_gradient)
    input_gradient, weight_gradient = (None, None) if out is None else _checked(out, inputs)
    with torch.no_grad():
        if inputs.dtype in _SLOW_DOT and len(inputs) > _LONG and not transformed():
            # The products go where the gradient will.
            input_gradient = torch.mul(inputs, weights, out=input_gradient)
            total = input_gradient.sum()
        else:
            total = torch.dot(inputs, weights)
        output = torch.tanh(total + bias)
        d = torch.ops.aten.tanh_backward(upstream_gradient, output)
        return (
            output,
            torch.mul(weights, d, out=input_gradient),
            torch.mul(inputs, d, out=weight_gradient),
            d,
        )


def _checked(
    out: tuple[torch.Tensor, torch.Tensor], inputs: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    for each in out:
        found, expected = _described(each), _described(inputs)
        if found != expected:
            raise ValueError(
                f"out holds a tensor of {found}; expected {expected}, as inputs; make it with "
                "torch.empty_like(inputs)"
            )
    return out


def _described(tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return f"{dtype} of shape {tuple(tensor.shape)} on {tensor.device}"


#: On a CPU torch's dot product of 16-bit vectors takes a path from 8192 elements on that is ten to
#: a hundred times as slow as a product and a sum.
_SLOW_DOT: Final = (torch.float16, torch.bfloat16)
_LONG: Final = 4096

_REASON: Final = (
    "torch's own derivative of tanh, g * (1 - y*y) of the stored output, cancels as y nears 1 and "
    "is 0 from where y rounds to 1; the formula accounts for all of the error"
)

SUBJECT: Final = Subject(
    name="fused",
    kind=Kind.NEURON,
    function=fused,
    stated={
        dtype: Stated(Grade.TEXTBOOK, _REASON)
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
)
