"""Wrong numerics: outputs and gradients squeezed through too few bits, or too small a range."""

from __future__ import annotations

from functools import partial
from math import inf, nan
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, custom, preactivation, results, right, slope
from harness.bank.witness import HUGE, SUBNORMAL, at, by_dtype, stored, terms
from harness.subjects import Kind

_neuron = partial(fault, Group.NUMERICS, Kind.NEURON)
_activation = partial(fault, Group.NUMERICS, Kind.ACTIVATION)
_tanh_gradient = partial(fault, Group.NUMERICS, Kind.TANH_GRADIENT)
_WIDE: Final = ("float32", "float64")


@_activation(
    "activations saved in half precision for the backward pass",
    at(0.5, *_WIDE),
    elsewhere="an output in [-1, 1] fits float16 as well as the 16-bit formats need",
)
def output_saved_in_half(x: Tensor) -> Tensor:
    """g * (1 - y*y) of an output that was saved in float16."""
    return custom(x, torch.tanh, lambda g, x, y: g * slope(y.half().to(y.dtype)))


@_activation("activations saved in 8 bits for the backward pass", at(0.6365))
def output_saved_in_eight_bits(x: Tensor) -> Tensor:
    """g * (1 - y*y) of an output that was saved with a significand of 3 bits."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return g * slope(y.to(torch.float8_e5m2).to(y.dtype))

    return custom(x, torch.tanh, gradient)


@_activation("quantised inference", at(0.01))
def output_in_127ths(x: Tensor) -> Tensor:
    """The output rounded to a multiple of 1/127."""
    return custom(x, lambda x: (torch.tanh(x) * 127).round() / 127, lambda g, x, y: g * slope(y))


@_tanh_gradient(
    "intel/torch-xpu-ops#3023: y*y stored in a narrower format than 1 - y*y needs",
    stored([0.9733], "float16", *_WIDE),
    elsewhere="bfloat16's own rounding of y*y is what the textbook bound allows",
)
def square_rounded_early(y: Tensor, dy: Tensor) -> Tensor:
    """dy * (1 - y*y) with y*y rounded to bfloat16."""
    return dy * (1 - y.square().bfloat16().to(y.dtype))


@_activation(
    "squares rounded up, as by a directed rounding mode left on",
    at(30.0),
    shows_as=["gradient-sign"],
)
def square_rounded_up(x: Tensor) -> Tensor:
    """1 - y*y with y*y an ulp too large: below 0 where y is 1, and within every bound."""
    above = 1 + torch.finfo(x.dtype).eps
    return custom(x, torch.tanh, lambda g, x, y: g * (1 - y.square() * above))


@_activation(
    "scripts that ask for one type and compute in another",
    at(0.3, "float64"),
    elsewhere="the narrower formats lose nothing in binary32",
)
def tanh_in_binary32(x: Tensor) -> Tensor:
    """tanh of binary64 by the binary32 function."""
    return torch.tanh(x.float()).to(x.dtype)


@_activation(
    "square roots and divisions kept from 0, the habit taken along",
    at(0.5, *_WIDE),
    elsewhere="1e-6 is far below an ulp of 1 in the 16-bit formats",
)
def epsilon_in_the_derivative(x: Tensor) -> Tensor:
    """g * (1 - y*y + 1e-6)."""
    return custom(x, torch.tanh, lambda g, x, y: g * (slope(y) + 1e-6))


@_neuron("gradient clipping moved into the layer", at(0.5, g=4.0))
def clips_gradient(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """d clamped to [-1, 1]."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, (g * slope(y)).clamp(-1, 1), x, w)


@_neuron("training loops that survive a NaN", at(nan))
def replaces_nan(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """NaN replaced by 0 in every result."""
    y, dx, dw, d = (each.nan_to_num() for each in right(x, w, b, g))
    return y, dx, dw, d


@_neuron(
    "gradients formed as (g w) (1 - y*y)",
    by_dtype(HUGE, lambda huge, dtype: terms([0.0], [4.0], 1.0, dtype, g=huge)),
)
def upstream_times_weight_first(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """dL/dx = (g w) (1 - y*y), dL/dw = (g x) (1 - y*y): the first product overflows."""
    y = torch.tanh(preactivation(x, w, b))
    s = slope(y)
    return y, g * w * s, g * x * s, g * s


@_tanh_gradient(
    "the factors of 1 - y*y multiplied one by one",
    by_dtype(HUGE, lambda huge, dtype: stored([-1.0], dtype, g=huge)),
)
def factors_one_by_one(y: Tensor, dy: Tensor) -> Tensor:
    """(dy (1 - y)) (1 + y): dy (1 - y) overflows where y is near -1."""
    return dy * (1 - y) * (1 + y)


@_tanh_gradient(
    "loss scaling within a kernel",
    by_dtype(HUGE, lambda huge, dtype: stored([0.5], dtype, g=huge)),
)
def scales_up_and_down(y: Tensor, dy: Tensor) -> Tensor:
    """dy scaled by 1,024 and back: it overflows on the way."""
    return dy * 1024 * slope(y) / 1024


@_tanh_gradient(
    "gradients scaled down before a reduction",
    by_dtype(SUBNORMAL, lambda tiny, dtype: stored([0.7], dtype, g=8 * tiny)),
)
def scales_down_and_up(y: Tensor, dy: Tensor) -> Tensor:
    """dy divided by 1,024 and scaled back: its bits are lost below the normal range."""
    return dy / 1024 * slope(y) * 1024


@_neuron("conversions that saturate", at(0.5, g=inf))
def saturates_at_the_largest(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Infinite gradients replaced by the largest finite number."""
    most = torch.finfo(x.dtype).max
    y, dx, dw, d = right(x, w, b, g)
    return y, dx.clamp(-most, most), dw.clamp(-most, most), d.clamp(-most, most)


@_neuron(
    "gradients sent in half precision",
    at(0.5, "bfloat16", *_WIDE, g=2.0**20),
    elsewhere="float16 gradients are what they are",
)
def gradients_in_half(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """Gradients converted to float16 and back: 65504 is the most that it holds."""
    y, *gradients = right(x, w, b, g)
    dx, dw, d = (each.half().to(x.dtype) for each in gradients)
    return y, dx, dw, d


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
