"""Wrong numerics: tanh by exponentials that overflow, or that cancel near 0."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Tensor, backward, custom
from harness.bank.witness import at
from harness.subjects import Kind

_activation = partial(fault, Group.NUMERICS, Kind.ACTIVATION)

#: A preactivation at which e^2x overflows, and one at which e^x does.
_TWICE: Final = at(5.625, "float16") | at(44.5, "bfloat16", "float32") | at(356.0, "float64")
_ONCE: Final = at(12.5, "float16") | at(89.5, "bfloat16", "float32") | at(712.0, "float64")
#: The same below 0.
_TWICE_BELOW: Final = (
    at(-5.625, "float16") | at(-44.5, "bfloat16", "float32") | at(-356.0, "float64")
)


@_activation("public tutorials; the textbook definition of tanh", _ONCE)
def ratio_of_exponentials(x: Tensor) -> Tensor:
    """(e^x - e^-x) / (e^x + e^-x): inf/inf where e^|x| overflows."""
    return (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())


@_activation("public tutorials: tanh from the hyperbolic functions", _ONCE)
def sinh_over_cosh(x: Tensor) -> Tensor:
    """sinh(x) / cosh(x): inf/inf where they overflow."""
    return custom(x, lambda x: x.sinh() / x.cosh(), backward)


@_activation("webonnx/wonnx#114, apache/tvm#16438, odin-lang/Odin#2088", _TWICE)
def exponential_of_twice(x: Tensor) -> Tensor:
    """(e^2x - 1) / (e^2x + 1): inf/inf where e^2x overflows."""
    e = torch.exp(2 * x)
    return (e - 1) / (e + 1)


@_activation("kernels that were tested on positive inputs", _TWICE_BELOW)
def exponential_of_minus_twice(x: Tensor) -> Tensor:
    """(1 - e^-2x) / (1 + e^-2x): -inf/inf where e^-2x overflows, far below 0."""
    e = torch.exp(-2 * x)
    return (1 - e) / (1 + e)


@_activation("kernels that use expm1 near 0 and forget the other end", _TWICE)
def expm1_of_twice(x: Tensor) -> Tensor:
    """expm1(2x) / (expm1(2x) + 2): right near 0, inf/inf where e^2x overflows."""
    e = torch.expm1(2 * x)
    return e / (e + 2)


@_activation("kernels that save an exponential", at(1e-4))
def one_minus_two(x: Tensor) -> Tensor:
    """1 - 2 / (e^2x + 1): never overflows, and cancels near 0."""
    return custom(x, lambda x: 1 - 2 / (torch.exp(2 * x) + 1), backward)


@_activation("accelerator libraries that have a logistic unit only", at(1e-4))
def twice_logistic(x: Tensor) -> Tensor:
    """2 sigmoid(2x) - 1: cancels near 0."""
    return 2 * torch.sigmoid(2 * x) - 1


@_activation(
    "both branches of a where() differentiated, an overflow in the one not taken", _TWICE_BELOW
)
def where_of_two_branches(x: Tensor) -> Tensor:
    """y is right and its gradient NaN: autograd multiplies the other branch's infinity by 0."""
    above, below = torch.exp(-2 * x), torch.exp(2 * x)
    return torch.where(x > 0, 2 / (1 + above) - 1, 1 - 2 / (1 + below))


@_activation("jax-ml/jax#764", _ONCE)
def derivative_by_cosh(x: Tensor) -> Tensor:
    """g * (cosh^2 - sinh^2) / cosh^2: NaN where they overflow."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        square = x.cosh().square()
        return g * ((square - x.sinh().square()) / square)

    return custom(x, torch.tanh, gradient)


@_activation(
    "N. Schraudolph, A fast, compact approximation of the exponential function (1999)", at(0.25)
)
def exponential_by_bits(x: Tensor) -> Tensor:
    """e^z read off the bits of a scaled integer: a few per cent off, and not 1 at 0."""

    def value(x: Tensor) -> Tensor:
        z = 2 * x.float().clamp(-40, 40)
        e = (z * 12102203.0 + 1064866805.0).to(torch.int32).view(torch.float32)
        return (1 - 2 / (e + 1)).to(x.dtype)

    return custom(x, value, backward)


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
