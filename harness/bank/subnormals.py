"""Wrong numerics: subnormals replaced by zero, undeclared."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, backward, custom, right
from harness.bank.witness import SUBNORMAL, at, by_dtype, terms
from harness.subjects import Kind

_neuron = partial(fault, Group.NUMERICS, Kind.NEURON)
_activation = partial(fault, Group.NUMERICS, Kind.ACTIVATION)


def _flushed(values: Tensor) -> Tensor:
    return torch.where(values.abs() < torch.finfo(values.dtype).tiny, 0 * values, values)


@_activation(
    "vector units that flush by default",
    by_dtype(SUBNORMAL, lambda tiny, dtype: at(tiny, dtype)),
)
def flushes_outputs(x: Tensor) -> Tensor:
    """A subnormal output replaced by 0."""
    return custom(x, lambda x: _flushed(torch.tanh(x)), backward)


@_neuron(
    "vector units that read subnormals as 0",
    by_dtype(SUBNORMAL, lambda tiny, dtype: terms([tiny], [8.0], 0.0, dtype)),
)
def flushes_operands(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Subnormal inputs and weights read as 0."""
    return right(_flushed(x), _flushed(w), b, g)


@_neuron(
    "vector units that flush by default",
    by_dtype(SUBNORMAL, lambda tiny, dtype: terms([tiny], [1.0], 0.0, dtype)),
)
def flushes_gradients(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Subnormal gradients replaced by 0."""
    y, *gradients = right(x, w, b, g)
    dx, dw, d = map(_flushed, gradients)
    return y, dx, dw, d


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
