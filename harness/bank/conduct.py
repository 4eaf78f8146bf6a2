"""Wrong structure: what a call leaves behind, remembers, or does otherwise the next time."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, results, right, slope
from harness.bank.witness import at, terms
from harness.subjects import Kind

_neuron = partial(fault, Group.STRUCTURE, Kind.NEURON)
_activation = partial(fault, Group.STRUCTURE, Kind.ACTIVATION)
_global = partial(_neuron, witnesses=at(0.5), shows_as=["global-state"])


@_global("scripts that want binary64 constants")
def sets_default_dtype(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The default dtype is binary64 afterwards."""
    torch.set_default_dtype(torch.float64)
    return right(x, w, b, g)


@_global("a switch without the `with` that puts it back")
def switches_autograd_off(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Gradients are switched off afterwards."""
    torch.set_grad_enabled(False)
    return right(x, w, b, g)


@_global("kernels that take a seed")
def seeds_the_generator(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The global random number generator is seeded in every call."""
    torch.manual_seed(0)
    return right(x, w, b, g)


@_global("libraries that tune threads for themselves")
def sets_threads(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """torch has one thread more afterwards."""
    torch.set_num_threads(torch.get_num_threads() + 1)
    return right(x, w, b, g)


@_global("shared libraries built with fast-math")
def switches_subnormals_off(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Subnormals are flushed to zero afterwards."""
    torch.set_flush_denormal(True)
    return right(x, w, b, g)


@_neuron(
    "accumulators that nobody clears",
    at(0.5),
    # "structure", where a call with mismatched arguments has left a vector among the sums.
    shows_as=["repeatable", "grade", "structure"],
)
def adds_up_calls(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The bias gradient of this call and of all calls before it."""
    y, dx, dw, d = right(x, w, b, g)
    _SUMS[d.dtype] = _SUMS.get(d.dtype, torch.zeros_like(d)) + d.detach()
    return y, dx, dw, _SUMS[d.dtype].clone()


_SUMS: Final[dict[torch.dtype, Tensor]] = {}


@_neuron(
    "copies between devices read before they have arrived",
    at(0.5),
    shows_as=["repeatable", "grade"],
)
def reads_too_early(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Every other output is still the 0 that its memory was made with."""
    y, dx, dw, d = right(x, w, b, g)
    _READS[0] += 1
    return (torch.zeros_like(y) if _READS[0] % 2 else y), dx, dw, d


_READS: Final = [0]


@_activation(
    "dropout left switched on",
    at(0.5),
    shows_as=["grade", "global-state", "repeatable"],
)
def drops_out(x: Tensor) -> Tensor:
    """The output is 0 one time in ten, else 10/9 of what it should be."""
    return torch.nn.functional.dropout(torch.tanh(x), 0.1, training=True)


@_neuron(
    "sums by atomic additions",
    terms([1.0, 1.5 * 2.0**-25, -1.0], [1.0] * 3, 0.0, "float32")
    | terms([1.0, 1.5 * 2.0**-54, -1.0], [1.0] * 3, 0.0, "float64"),
    shows_as=["repeatable"],
    elsewhere="sums of the 16-bit formats are kept in binary32, where the order seldom shows",
)
def order_of_the_sum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The products are added up from the first and from the last by turns."""
    products = x * w
    _TURNS[0] += 1
    if _TURNS[0] % 2:
        products = products.flip(0)
    y = torch.tanh(sum(products.unbind(), torch.zeros_like(b)) + b)
    return results(y, g * slope(y), x, w)


_TURNS: Final = [0]


class _Overwriting(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.tanh(x)
        ctx.slope = slope(y)
        return y

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        gradient: Tensor = ctx.slope.mul_(upstream[0].detach())
        return gradient


@_activation(
    "backward passes that save memory by working in what was kept for them",
    at(0.5, g=2.0),
    shows_as=["retain-graph"],
)
def overwrites_what_it_kept(x: Tensor) -> Tensor:
    """1 - y*y is multiplied by g in place, and by g once more in a second backward pass."""
    # torch leaves `apply` untyped.
    y: Tensor = _Overwriting.apply(x)  # type: ignore[no-untyped-call]
    return y


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
