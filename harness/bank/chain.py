"""Wrong calculus: how the upstream gradient reaches inputs, weights and bias."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, preactivation, results, right, slope
from harness.bank.witness import at, stored, terms
from harness.subjects import Kind

_neuron = partial(fault, Group.CALCULUS, Kind.NEURON)
_tanh_gradient = partial(fault, Group.CALCULUS, Kind.TANH_GRADIENT)


@_neuron("derivatives tested with an upstream gradient of 1 only", at(0.5, g=2.0))
def drops_upstream(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """d = 1 - y*y: the upstream gradient is not used."""
    return right(x, w, b, torch.ones_like(g))


@_tanh_gradient("derivatives tested with an upstream gradient of 1 only", stored([0.5], g=2.0))
def raw_drops_upstream(y: Tensor, dy: Tensor) -> Tensor:
    """1 - y*y: the upstream gradient is not used."""
    return slope(y)


@_neuron("code that agrees with g*(1 - y*y) only where g is 1", at(0.5, g=2.0))
def misplaced_upstream(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """d = 1 - (y*y)*g."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, 1 - y.square() * g, x, w)


@_tanh_gradient("a pair of parentheses left out", stored([0.5], g=2.0))
def missing_parentheses(y: Tensor, dy: Tensor) -> Tensor:
    """dy * 1 - y*y: dy - y*y."""
    return dy * 1 - y * y


@_neuron("two results returned in the other order", terms([0.5], [1.0], 0.0))
def swaps_gradients(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The input gradient where the weight gradient belongs, and the other way round."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dw, dx, d


@_neuron("backward passes that stop one step early for the bias", at(1.0))
def bias_gradient_is_upstream(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """dL/db = g: the bias gradient without tanh's derivative."""
    y, dx, dw, _ = right(x, w, b, g)
    return y, dx, dw, g.clone()


@_neuron(
    "a bias broadcast over a batch, its gradient summed over the wrong axis",
    terms([1.0, 1.0], [0.25, 0.25], 0.0),
)
def bias_gradient_per_lane(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """dL/db = n d: summed over the lanes, where the bias was added once."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, d.expand(len(x)).sum()


@_neuron("a detach() that cuts the graph above the weights", terms([0.5], [0.5], 0.0))
def weights_cut_off(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """dL/dw = 0."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, torch.zeros_like(dw), d


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
