"""Wrong numerics: sums of products in too narrow a format, or of too few of the terms."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, preactivation, results, right, slope
from harness.bank.witness import at, terms
from harness.subjects import Kind
from reference.formats import BINARY32

_neuron = partial(fault, Group.NUMERICS, Kind.NEURON)
_WIDE: Final = ("float32", "float64")


@_neuron(
    "pytorch/pytorch#83863, numpy/numpy#22208, numpy/numpy#7930: the sum stands still",
    terms([1.0] * 512, [2.0**-9] * 512, 0.0, "bfloat16")
    | terms([1.0] * 4095, [2.0**-12] * 4095, 0.0, "float16"),
    elsewhere="binary32 and binary64 accumulate in themselves anyway",
)
def accumulates_in_storage(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """One product after the other added in the 16-bit storage format."""
    total = torch.zeros_like(b)
    for product in (x * w).unbind():
        total = total + product
    y = torch.tanh(total + b)
    return results(y, g * slope(y), x, w)


@_neuron(
    "matrix units that add up in bfloat16",
    terms([1.0 + 2.0**-8], [1.0], 0.0, "float16", *_WIDE),
    elsewhere="the last rounding of the sum is to bfloat16 there in any case",
)
def sum_rounded_to_bfloat16(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The sum of the products rounded to bfloat16."""
    y = torch.tanh((x * w).sum().bfloat16().to(x.dtype) + b)
    return results(y, g * slope(y), x, w)


@_neuron(
    "autocast regions around a matrix product",
    terms([1.0 + 2.0**-8], [1.0], 0.0, "float16", *_WIDE),
    elsewhere="bfloat16 operands are what they are",
)
def operands_in_bfloat16(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The operands of the sum rounded to bfloat16."""
    a = (x.bfloat16().to(x.dtype) * w.bfloat16().to(x.dtype)).sum() + b
    y = torch.tanh(a)
    return results(y, g * slope(y), x, w)


@_neuron(
    "half-precision inference of models trained in bfloat16",
    terms([2.0**20], [2.0**-20], 0.0, "bfloat16", *_WIDE),
    elsewhere="float16 operands are what they are",
)
def operands_in_half(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The operands of the sum converted to float16: 65504 is the most that it holds."""
    a = (x.half().to(x.dtype) * w.half().to(x.dtype)).sum() + b
    y = torch.tanh(a)
    return results(y, g * slope(y), x, w)


@_neuron(
    "TF32, the default of convolutions on some devices",
    terms([1.0 + 2.0**-12], [1.0], -1.0, "float32"),
    elsewhere="only binary32 operands are cut to 11 bits",
)
def operands_in_eleven_bits(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """binary32 operands rounded to a significand of 11 bits, as TF32 has."""

    def cut(values: Tensor) -> Tensor:
        if values.dtype is not torch.float32:
            return values
        split = values * 8193
        return torch.where(split.isfinite(), split - (split - values), values)

    y = torch.tanh(preactivation(cut(x), cut(w), b))
    return results(y, g * slope(y), x, w)


@_neuron(
    "kernels that accumulate every type in binary32",
    terms([1.0 + 2.0**-40], [1.0], -1.0, "float64"),
    elsewhere="binary32 and the 16-bit formats may accumulate in binary32",
    accumulation=BINARY32,
)
def binary64_summed_in_binary32(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The products of binary64 added up in binary32, and declared so, which is no excuse."""
    total = (x * w).float().sum() + b.float()
    y = torch.tanh(total.to(x.dtype))
    return results(y, g * slope(y), x, w)


@_neuron(
    "ports that compute in binary32 whatever they are given",
    terms([0.3], [1.0], 0.0, "float64"),
    elsewhere="the narrower formats lose nothing in binary32",
)
def binary64_in_binary32(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Everything in binary32, the results converted back."""
    y, dx, dw, d = right(x.float(), w.float(), b.float(), g.float())
    return y.to(x.dtype), dx.to(x.dtype), dw.to(x.dtype), d.to(x.dtype)


@_neuron(
    "ports of a worked example that round its bias to float32 first",
    at(0.3, "float64"),
    elsewhere="a bias of the narrower formats is a binary32 number",
)
def bias_in_binary32(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The bias rounded to binary32."""
    return right(x, w, b.float().to(b.dtype), g)


@_neuron(
    "denominators and logarithms kept from 0, the habit taken along",
    at(0.0, "bfloat16", *_WIDE),
    elsewhere="1e-8 rounds to 0 in float16",
)
def epsilon_in_the_sum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """tanh(a + 1e-8)."""
    return right(x, w, b + 1e-8, g)


@_neuron("kernels launched with a single block", terms([1.0] * 1024, [2.0**-10] * 1024, 0.0))
def first_block_only(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Only the first 512 products are added up, and only the first 512 gradients written."""
    y, dx, dw, d = right(x[:512], w[:512], b, g)
    unwritten = torch.zeros_like(x[512:])
    return y, torch.cat([dx, unwritten]), torch.cat([dw, unwritten]), d


@_neuron(
    "reductions across the 32 lanes of a warp, without the step that joins the warps",
    terms([1.0] * 33, [0.5] + [0.0] * 31 + [0.5], 0.0),
)
def first_warp_only(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The sum of the first 32 products."""
    y = torch.tanh(preactivation(x[:32], w[:32], b))
    return results(y, g * slope(y), x, w)


@_neuron(
    "loops unrolled by 8 whose remainder is one step short",
    terms([1.0] * 9, [0.0] * 8 + [0.5], 0.0),
)
def last_product_left_out(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The sum of 8 or more products without the last."""
    n = len(x) - (len(x) >= 8)
    y = torch.tanh(preactivation(x[:n], w[:n], b))
    return results(y, g * slope(y), x, w)


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
