"""Random inputs for rivals, and the plain torch code that a subject is held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch

from harness.bank.pieces import backward, custom
from harness.contract import NEURON_QUANTITIES, TANH_GRADIENT_QUANTITIES
from harness.subjects import Kind
from harness.subjects.autograd import autograd
from harness.subjects.textbook import textbook

Tensor = torch.Tensor
Arguments = tuple[Tensor, ...]

#: The lengths of vectors that a developer tries: one, an odd one, a power of two, and one more
#: than another two.
LENGTHS: Final = (1, 7, 64, 257, 1025)

#: What the results of `call` are called, by kind.
RESULTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.NEURON: NEURON_QUANTITIES,
    Kind.ACTIVATION: ("output", "gradient"),
    Kind.TANH_GRADIENT: TANH_GRADIENT_QUANTITIES,
}

#: The plain torch code for each kind.
PLAIN: Final[Mapping[Kind, Callable[..., Any]]] = {
    Kind.NEURON: textbook,
    Kind.ACTIVATION: torch.tanh,
    Kind.TANH_GRADIENT: lambda y, dy: dy * (1 - y * y),
}

#: Two ways to write each kind in plain torch, by formula and by torch's own derivative. They are
#: equally right, and differ by a rounding or two.
EAGER: Final[Mapping[Kind, tuple[Callable[..., Any], ...]]] = {
    Kind.NEURON: (textbook, autograd),
    Kind.ACTIVATION: (torch.tanh, lambda x: custom(x, torch.tanh, backward)),
    Kind.TANH_GRADIENT: (
        PLAIN[Kind.TANH_GRADIENT],
        lambda y, dy: torch.ops.aten.tanh_backward(dy, y),
    ),
}


def draw(
    kind: Kind,
    n: int,
    dtype: torch.dtype,
    generator: torch.Generator,
    *,
    scale: float = 1.0,
    strided: bool = False,
) -> Arguments:
    """Arguments of `call` with vectors of length n, drawn from the normal distribution.

    The standard deviation of a preactivation is about `scale`, whatever n is: as weights are
    initialised, those of a neuron are divided by the root of n. Upstream gradients have that of 1.
    `strided` vectors are every second element of longer ones, from the second on.
    """
    step = 2 if strided else 1

    def normal(deviation: float, *shape: int) -> Tensor:
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return (values * deviation).to(dtype)

    def vector(values: Tensor) -> Tensor:
        return values[step - 1 :: step]

    match kind:
        case Kind.NEURON:
            weights = normal(scale / math.sqrt(max(n, 1)), n * step)
            inputs = normal(1.0, n * step)
            return vector(inputs), vector(weights), normal(scale), normal(1.0)
        case Kind.ACTIVATION:
            return vector(normal(scale, n * step)), vector(normal(1.0, n * step))
        case Kind.TANH_GRADIENT:
            y = torch.tanh(normal(scale, n * step))
            return vector(y), vector(normal(1.0, n * step))


def coin(generator: torch.Generator) -> bool:
    """True half the time."""
    return bool(torch.randint(2, (), generator=generator))


def at(
    kind: Kind, preactivation: float, dtype: torch.dtype, generator: torch.Generator
) -> Arguments:
    """Arguments of `call` at one preactivation: the bias of a neuron whose two terms add up to 0;
    all three elements of a vector else. The upstream gradients are drawn."""
    a = torch.tensor(preactivation, dtype=dtype)
    shape = () if kind is Kind.NEURON else (3,)
    g = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    match kind:
        case Kind.NEURON:
            return (
                torch.tensor([0.5, 0.25], dtype=dtype),
                torch.tensor([1.0, -2.0], dtype=dtype),
                a,
                g,
            )
        case Kind.ACTIVATION:
            return a.repeat(3), g
        case Kind.TANH_GRADIENT:
            return torch.tanh(a.repeat(3)), g


def call(kind: Kind, function: Callable[..., Any], arguments: Arguments) -> Sequence[Any]:
    """What a function of `kind` gives, as `RESULTS` names it; for an activation, called with
    (x, g), its output and the gradient of x that autograd has for the upstream gradient g.

    Nothing is checked, and whatever the function raises is raised.
    """
    match kind:
        case Kind.NEURON:
            y, dx, dw, d = function(*arguments)
            return y, dx, dw, d
        case Kind.ACTIVATION:
            x, g = arguments
            leaf = x.detach().requires_grad_()
            y = function(leaf)
            (gradient,) = torch.autograd.grad(y, leaf, g)
            return y.detach(), gradient
        case Kind.TANH_GRADIENT:
            return (function(*arguments),)
