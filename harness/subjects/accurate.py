"""The neuron to the last bit or next to it: wider sums, and the slope without cancellation."""

from __future__ import annotations

from typing import Any, Final

import torch

from harness.grade import Grade
from harness.subjects.precise import curve
from harness.subjects.precise.dot import preactivation
from harness.subjects.precise.multiples import narrow_multiples, value, wide_multiples
from harness.subjects.precise.numbers import FLOATS, TENSORS, Number, Numbers
from harness.subjects.subject import Kind, Stated, Subject
from harness.subjects.transforms import transformed
from harness.subjects.validation import check_neuron

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def accurate(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> Tensors:
    """(output, input_gradient, weight_gradient, bias_gradient) of a tanh neuron, all faithful: one
    of the two floats around the exact value, and nearly always the nearer.

    Arguments and errors as those of `textbook.textbook`; so are the results, without a graph. A
    result is NaN or infinite only where the exact value is, or is beyond the dtype. Batch with
    `torch.func.vmap`. On CUDA it waits for the device: the sum decides how it is to be worked out.
    """
    check_neuron(inputs, weights, bias, upstream_gradient)
    arguments = inputs, weights, bias, upstream_gradient
    if transformed():
        results: Tensors = _Accurate.apply(*arguments)  # type: ignore[no-untyped-call]
        return results
    with torch.no_grad():
        if inputs.is_meta:
            return of_tensors(*arguments)
        return _neuron(FLOATS, *arguments)


class _Accurate(torch.autograd.Function):
    """Batches of neurons, for `torch.func.vmap` to find."""

    @staticmethod
    def forward(
        inputs: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        upstream_gradient: torch.Tensor,
    ) -> Tensors:
        """As `of_tensors`."""
        return of_tensors(inputs, weights, bias, upstream_gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, ...], output: Tensors) -> None:
        """The results are the gradients; there is no graph beyond them."""
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *arguments: torch.Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        """All neurons of a batch at once, its dimension in front."""
        batches = [
            each.expand(info.batch_size, *each.shape) if place is None else each.movedim(place, 0)
            for each, place in zip(arguments, in_dims, strict=True)
        ]
        results: Tensors = _Accurate.apply(*batches)  # type: ignore[no-untyped-call]
        return results, (0, 0, 0, 0)


def of_tensors(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> Tensors:
    """The batched form: shapes (..., n) and (...), unchecked."""
    return _neuron(TENSORS, inputs, weights, bias, upstream_gradient)


def _neuron(
    numbers: Numbers[Number],
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> Tensors:
    a = preactivation(numbers, inputs, weights, bias)
    g = numbers.of(upstream_gradient)
    if inputs.dtype is torch.float64:
        y, slope = curve.wide(numbers, a, g)
        d = value(numbers, slope)
        input_gradient = wide_multiples(numbers, slope, weights)
        weight_gradient = wide_multiples(numbers, slope, inputs)
    else:
        y, d = curve.narrow(numbers, a[0], g)
        input_gradient = narrow_multiples(numbers, d, weights)
        weight_gradient = narrow_multiples(numbers, d, inputs)
    return numbers.tensor(y, bias), input_gradient, weight_gradient, numbers.tensor(d, bias)


_NARROW: Final = (
    "products are exact and summed in binary64, tanh and 4t/(1+t)^2, t = exp(-2|a|), are taken "
    "there and rounded once; a sum that cancels beyond that is worked out exactly"
)
_WIDE: Final = (
    "the sum, tanh, the slope and its multiples are double-double, and rounded once; a sum that "
    "cancels beyond that is worked out exactly"
)

SUBJECT: Final = Subject(
    name="accurate",
    kind=Kind.NEURON,
    function=accurate,
    stated={
        "float16": Stated(Grade.FAITHFUL, _NARROW),
        "bfloat16": Stated(Grade.FAITHFUL, _NARROW),
        "float32": Stated(Grade.FAITHFUL, _NARROW),
        "float64": Stated(Grade.FAITHFUL, _WIDE),
    },
)
