"""`fused` and `accurate` through torch.compile, called harness.subjects.compiled:fused (:accurate).

They are not among the built-in names: the first call in each dtype compiles for seconds to minutes,
which a verification of every built-in should not wait for. Where torch finds no C++ compiler this
module cannot be imported, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler

from harness.subjects.accurate import SUBJECT as ACCURATE
from harness.subjects.accurate import of_tensors
from harness.subjects.fused import SUBJECT as FUSED
from harness.subjects.subject import Kind, Subject
from harness.subjects.validation import check_neuron

Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
Neuron = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], Tensors]

try:
    get_cpp_compiler()
except InvalidCxxCompiler as error:
    raise ImportError(
        "torch.compile found no C++ compiler; install g++ or clang, or name one in CXX"
    ) from error


def _formula(
    inputs: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    upstream_gradient: torch.Tensor,
) -> Tensors:
    """The textbook neuron, for the compiler to fuse."""
    output = torch.tanh((inputs * weights).sum() + bias)
    d = upstream_gradient * (1 - output * output)
    return output, d * weights, d * inputs, d


def _compiled(function: Neuron) -> Neuron:
    # One piece of code for every length, instead of one for each.
    code = torch.compile(function, dynamic=True)

    def neuron(
        inputs: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor,
        upstream_gradient: torch.Tensor,
    ) -> Tensors:
        """Arguments, results and errors as those of `fused.fused`, without `out`."""
        check_neuron(inputs, weights, bias, upstream_gradient)
        with torch.no_grad():
            return code(inputs, weights, bias, upstream_gradient)

    return neuron


fused: Final = Subject("compiled-fused", Kind.NEURON, _compiled(_formula), FUSED.stated)
accurate: Final = Subject("compiled-accurate", Kind.NEURON, _compiled(of_tensors), ACCURATE.stated)
