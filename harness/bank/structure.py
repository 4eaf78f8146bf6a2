"""Wrong structure: results of another number, shape, dtype or device; empty vectors."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, results, right, slope
from harness.bank.witness import at, terms
from harness.case import Layout
from harness.subjects import Kind

_neuron = partial(fault, Group.STRUCTURE, Kind.NEURON)
_tanh_gradient = partial(fault, Group.STRUCTURE, Kind.TANH_GRADIENT)
_form = partial(_neuron, shows_as=["structure"])


@_form("matrix products whose row of one element is handed on", at(0.5))
def one_element_output(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """An output of shape (1,), not ()."""
    y, dx, dw, d = right(x, w, b, g)
    return y.reshape(1), dx, dw, d


@_form("layers that keep the axis of the batch", terms([0.5], [0.5], 0.0))
def row_gradient(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """An input gradient of shape (1, n)."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx.reshape(1, -1), dw, d


@_form("a squeeze() that takes more than it was meant to", terms([0.5], [0.5], 0.0))
def squeezed_gradients(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Gradients of shape () where n is 1."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx.squeeze(), dw.squeeze(), d


@_form("a broadcast that is not summed back", terms([0.5, 0.25], [0.5, 0.25], 0.0))
def broadcast_bias_gradient(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """A bias gradient of shape (n,)."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, d.expand(len(x)).clone()


@_form(
    "kernels that accumulate in binary32 and forget the last conversion",
    at(0.5, "float16", "bfloat16", "float64"),
    elsewhere="binary32 is what it should be",
)
def binary32_gradient(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """A bias gradient in binary32, whatever the inputs are."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, d.float()


@_form(
    "results that pass through Python or numpy on the way",
    at(0.5, "float16", "bfloat16", "float32"),
    elsewhere="binary64 is what it should be",
)
def binary64_output(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """An output made from a Python float, in binary64."""
    y, dx, dw, d = right(x, w, b, g)
    return torch.tensor(y.item(), dtype=torch.float64), dx, dw, d


@_form("factory calls that name a device of their own", at(0.5))
def other_device(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """A bias gradient on another device, the one without memory."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, torch.empty_like(d, device="meta")


@_form("functions of three gradients that lost one", at(0.5))
def no_bias_gradient(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Three results: the bias gradient is missing."""
    return right(x, w, b, g)[:3]


@_form("item() left in", at(0.5))
def float_for_a_tensor(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A Python float for the output."""
    y, dx, dw, d = right(x, w, b, g)
    return y.item(), dx, dw, d


@_form("kernels that round their output up to whole vectors", terms([0.5] * 3, [0.5] * 3, 0.0))
def padded_gradients(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Gradients of the next multiple of 4 elements, the rest 0."""
    y, dx, dw, d = right(x, w, b, g)
    padding = (0, -len(x) % 4)
    return y, torch.nn.functional.pad(dx, padding), torch.nn.functional.pad(dw, padding), d


@_neuron("means, and other divisions by n", at(0.5))
def empty_gives_nan(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """n times the mean of the products, which is NaN for none."""
    y = torch.tanh((x * w).mean() * len(x) + b)
    return results(y, g * slope(y), x, w)


@_neuron("sums scaled by their largest term", at(0.5), shows_as=["raised"])
def empty_raises(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """A check of the largest product, which is an error where there is none."""
    if (x * w).abs().max() == 0:
        return right(torch.zeros_like(x), w, b, g)
    return right(x, w, b, g)


@_neuron("an early return for nothing to do", at(0.5))
def empty_gives_zero(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Zeros where there are no terms, though the bias is still there."""
    y, dx, dw, d = right(x, w, b, g)
    return (y, dx, dw, d) if len(x) else (0 * y, dx, dw, 0 * d)


@_neuron(
    "calls of numpy() on a parameter",
    terms([0.5], [0.5], 0.0, layout=Layout.REQUIRES_GRAD),
    shows_as=["raised"],
)
def numpy_of_a_leaf(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """An error for tensors that require grad, which numpy() refuses, and for bfloat16."""
    a = torch.as_tensor((x.numpy() * w.numpy()).sum(dtype="float64")).to(x.dtype) + b
    y = torch.tanh(a)
    return results(y, g * slope(y), x, w)


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
