"""Wrong structure: memory written, shared, or read in another layout; lanes mixed up."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, right, slope
from harness.bank.witness import at, stored, terms
from harness.case import Layout
from harness.subjects import Kind

_neuron = partial(fault, Group.STRUCTURE, Kind.NEURON)
_tanh_gradient = partial(fault, Group.STRUCTURE, Kind.TANH_GRADIENT)


@_neuron(
    "arguments used as scratch memory",
    terms([0.5], [0.5], 0.0),
    shows_as=["inputs-untouched", "raised"],
)
def writes_weights(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The weights are multiplied by x in place."""
    results = right(x, w, b, g)
    with torch.no_grad():
        w.mul_(x)
    return results


@_tanh_gradient(
    "in-place variants called by mistake", stored([0.5]), shows_as=["inputs-untouched", "raised"]
)
def squares_output_in_place(y: Tensor, dy: Tensor) -> Tensor:
    """y is squared in place."""
    with torch.no_grad():
        return dy * (1 - y.square_())


@_tanh_gradient(
    "gradients written over the upstream gradient to save memory",
    stored([0.5]),
    shows_as=["inputs-untouched", "results-own-memory", "raised"],
)
def returns_upstream_in_place(y: Tensor, dy: Tensor) -> Tensor:
    """dy is multiplied by 1 - y*y in place, and returned."""
    with torch.no_grad():
        dy *= slope(y)
    return dy.detach()


@_neuron("short cuts where a factor is 1", at(0.0), shows_as=["results-own-memory"])
def returns_upstream(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The bias gradient is g itself, not a copy, where y is 0."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, g if y == 0 else d


@_neuron("results written into memory allocated once", at(0.5), shows_as=["results-own-memory"])
def reuses_a_buffer(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Every output lies in the same memory, so the last one is overwritten."""
    y, dx, dw, d = right(x, w, b, g)
    buffer = _BUFFERS.setdefault(y.dtype, torch.empty_like(y, requires_grad=False))
    return buffer.copy_(y.detach()), dx, dw, d


_BUFFERS: Final[dict[torch.dtype, Tensor]] = {}


@_neuron(
    "tutorials that call backward() and never zero the gradients",
    terms([0.5], [0.5], 0.0),
    shows_as=["results-own-memory", "repeatable"],
)
def collects_in_grad(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The .grad of the caller's own tensors, to which a second call adds."""
    for leaf in (x, w, b):
        leaf.requires_grad_()
    with torch.enable_grad():
        y = torch.tanh((x * w).sum() + b)
    torch.autograd.backward(y, g.detach())
    assert x.grad is not None and w.grad is not None and b.grad is not None
    return y.detach(), x.grad, w.grad, b.grad


def _contiguous(values: Tensor) -> Tensor:
    """What a kernel reads that is told where `values` begin, and how many there are, but no stride.
    Beyond the end of the storage it reads the beginning again."""
    memory = torch.empty(0, dtype=values.dtype, device=values.device).set_(values.untyped_storage())
    places = torch.arange(len(values), device=values.device) + values.storage_offset()
    return memory[places % max(len(memory), 1)]


@_neuron(
    "kernels that take pointers and lengths",
    terms([0.5, 0.25], [0.5, 0.25], 0.0, layout=Layout.STRIDED),
    shows_as=["grade", "layout"],
)
def ignores_strides(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The vectors are read as if their elements lay side by side."""
    return right(_contiguous(x), _contiguous(w), b, g)


@_tanh_gradient(
    "kernels that take the beginning of a storage for that of a tensor",
    stored([0.5, 0.25], layout=Layout.OFFSET),
    shows_as=["grade", "layout"],
)
def ignores_offsets(y: Tensor, dy: Tensor) -> Tensor:
    """y is read from the beginning of its storage."""
    memory = torch.empty(0, dtype=y.dtype, device=y.device).set_(y.untyped_storage())
    return dy * slope(memory[: len(y)])


@_tanh_gradient(
    "upstream gradients that sum() expands from one element",
    stored([0.5, 0.5, 0.5], layout=Layout.EXPANDED),
    shows_as=["grade", "layout"],
)
def expanded_upstream_misread(y: Tensor, dy: Tensor) -> Tensor:
    """dy is read as if its elements lay side by side, though it repeats one."""
    return _contiguous(dy) * slope(y)


@_tanh_gradient(
    "reshape() that copies, and a result written to the copy",
    stored([0.5, 0.25], layout=Layout.COLUMN),
    shows_as=["grade", "layout"],
)
def result_lost_in_a_copy(y: Tensor, dy: Tensor) -> Tensor:
    """dy itself where y is not contiguous: the product went into a copy."""
    result = dy.detach().clone()
    return result if not y.is_contiguous() else result * slope(y.detach())


@_tanh_gradient(
    "tensorflow/tensorflow#2234: vector code and its remainder differ",
    stored([0.5] * 5),
    shows_as=["grade", "lanes"],
)
def remainder_differs(y: Tensor, dy: Tensor) -> Tensor:
    """The elements after the last whole group of 4 get 1 - y for 1 - y*y."""
    whole = len(y) - len(y) % 4
    return dy * torch.cat([slope(y[:whole]), 1 - y[whole:]])


@_tanh_gradient(
    "loops that end one step early",
    stored([0.5] * 9),
    shows_as=["grade", "lanes"],
)
def last_lane_not_written(y: Tensor, dy: Tensor) -> Tensor:
    """0 in the last lane of more than 8."""
    gradient = dy * slope(y)
    return torch.cat([gradient[:-1], 0 * gradient[-1:]]) if len(y) > 8 else gradient


@_tanh_gradient(
    "special cases decided for a whole vector",
    stored([0.5, float("nan")]),
    shows_as=["grade", "lanes"],
)
def nan_spreads(y: Tensor, dy: Tensor) -> Tensor:
    """NaN in every lane where it is in one, by a check of the sum."""
    return dy * slope(y) + 0 * y.sum()


@_neuron("indices that run ahead of the data", terms([0.5, 0.25], [0.25, 0.5], 0.0))
def gradient_of_the_next_lane(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Every weight gradient one lane too far."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw.roll(1), d


@_neuron(
    "gathers with an index in a signed byte",
    terms([0.5] * 129, [0.0] * 128 + [0.5], 0.0),
)
def index_wraps_around(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The input gradients from lane 128 on are those of lanes counted from the end."""
    y, _, dw, d = right(x, w, b, g)
    return y, d * w[torch.arange(len(w)).to(torch.int8).long()], dw, d


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
