"""Wrong numerics: branches of tanh that meet at the wrong place or let the wrong values in."""

from __future__ import annotations

from functools import partial
from math import inf, nan
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Tensor, backward, custom, slope
from harness.bank.witness import SUBNORMAL, at, by_dtype
from harness.subjects import Kind

_activation = partial(fault, Group.NUMERICS, Kind.ACTIVATION)
_WIDE: Final = ("float32", "float64")


@_activation(
    "short cuts for small x, tuned on training losses",
    at(0.0625, "float16", *_WIDE),
    elsewhere="x^3/3 is less than a bfloat16 ulp of x up to 0.1",
)
def linear_below_a_tenth(x: Tensor) -> Tensor:
    """x for tanh(x) where |x| < 0.1."""
    return torch.where(x.abs() < 0.1, x, torch.tanh(x))


@_activation(
    "a binary32 threshold left in a kernel that was templated on the type",
    at(2.0**-12, "float64"),
    elsewhere="x^3/3 is less than an ulp of x up to 4e-4 in the narrower formats",
)
def linear_as_in_binary32(x: Tensor) -> Tensor:
    """x for tanh(x) where |x| < 4e-4."""
    return torch.where(x.abs() < 4e-4, x, torch.tanh(x))


@_activation("clamps at 3, where a second-order rational function reaches 1", at(3.03125))
def saturates_at_three(x: Tensor) -> Tensor:
    """1 where |x| >= 3, with the sign of x."""
    return torch.where(x.abs() >= 3, x.sign(), torch.tanh(x))


@_activation(
    "a binary32 clamp left in a kernel that was templated on the type",
    at(10.0, "float64"),
    elsewhere="tanh(9) rounds to within an ulp of 1 in the narrower formats",
)
def clamps_as_in_binary32(x: Tensor) -> Tensor:
    """tanh of x clamped to [-9, 9]."""
    return torch.tanh(x.clamp(-9, 9))


@_activation("expansions for large x cut after one term", at(1.25))
def tail_without_denominator(x: Tensor) -> Tensor:
    """1 - 2t with t = e^-2|x| where |x| > 1: the denominator of 1 - 2t / (1 + t) is missing."""

    def value(x: Tensor) -> Tensor:
        tail = x.sign() * (1 - 2 * torch.exp(-2 * x.abs()))
        return torch.where(x.abs() > 1, tail, torch.tanh(x))

    return custom(x, value, backward)


@_activation("stable derivatives cut after one term", at(1.25))
def derivative_without_denominator(x: Tensor) -> Tensor:
    """g * 4t with t = e^-2|x| where |x| > 1: the denominator of 4t / (1 + t)^2 is missing."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return g * torch.where(x.abs() > 1, 4 * torch.exp(-2 * x.abs()), slope(y))

    return custom(x, torch.tanh, gradient)


@_activation(
    "tenstorrent/tt-metal#35885: the gradient is 0 in saturation, and comes back far too early",
    at(2.5),
)
def no_gradient_beyond_two(x: Tensor) -> Tensor:
    """A gradient of 0 where |x| > 2."""
    return custom(x, torch.tanh, lambda g, x, y: g * torch.where(x.abs() > 2, 0, slope(y)))


@_activation("sonos/tract#84", at(-9.5))
def zero_far_below(x: Tensor) -> Tensor:
    """0, for -1, where x < -9: only the positive side is clamped."""
    return custom(x, lambda x: torch.where(x < -9, 0.0, torch.tanh(x)), backward)


@_activation("Tencent/ncnn#1769", at(45.0))
def zero_far_above(x: Tensor) -> Tensor:
    """0, for 1, where x > 43.95."""
    return custom(x, lambda x: torch.where(x > 43.95, 0.0, torch.tanh(x)), backward)


@_activation("apache/tvm#11696: NaN becomes 1 or -1", at(nan))
def clamp_launders_nan(x: Tensor) -> Tensor:
    """-1 for NaN: a clamp by minimum and maximum numbers, which drop a NaN operand."""
    bound = torch.ones_like(x)
    return custom(x, lambda x: torch.fmin(torch.fmax(torch.tanh(x), -bound), bound), backward)


@_activation("heal-research/operon#171: NaN falls through the comparisons of a branch", at(nan))
def comparison_launders_nan(x: Tensor) -> Tensor:
    """1 for NaN: what is neither below -20 nor below 20 is taken to be saturated."""

    def value(x: Tensor) -> Tensor:
        return torch.where(x < -20, -1.0, torch.where(x < 20, torch.tanh(x), 1.0)).to(x.dtype)

    return custom(x, value, lambda g, x, y: torch.where(x.abs() < 20, g * slope(y), 0 * g))


@_activation("a term of weight 0, added to keep every parameter in the graph", at(inf))
def zero_times_infinity(x: Tensor) -> Tensor:
    """tanh(x) + 0 x: NaN at infinity."""
    return torch.tanh(x) + 0 * x


@_activation(
    "moonbitlang/core#3910, in float64",
    by_dtype(SUBNORMAL, lambda tiny, dtype: at(-tiny, dtype)),
)
def sign_of_subnormals(x: Tensor) -> Tensor:
    """-x for a subnormal x."""
    tiny = torch.finfo(x.dtype).tiny
    return custom(x, lambda x: torch.where(x.abs() < tiny, -x, torch.tanh(x)), backward)


@_activation("ARM-software/ComputeLibrary#1002, in float16", at(3e-5))
def zero_for_small(x: Tensor) -> Tensor:
    """0 where |x| < 6e-5."""
    return custom(x, lambda x: torch.where(x.abs() < 6e-5, 0.0, torch.tanh(x)), backward)


@_activation(
    "rounding at the end of a fit: the last ulp of a fraction beyond 1",
    at(30.0),
    shows_as=["grade", "output-bounded"],
)
def beyond_one(x: Tensor) -> Tensor:
    """The next float beyond 1 where |x| > 20: 1 - y*y is negative there."""
    above = 1 + torch.finfo(x.dtype).eps
    return custom(x, lambda x: torch.where(x.abs() > 20, above * x.sign(), torch.tanh(x)), backward)


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
