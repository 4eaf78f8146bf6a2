"""Activations and neurons to differentiate twice: sound ones that look different, ones with one
fault in the second derivative each, and ones with no second derivative at all. The first
derivatives of all of them are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from harness.subjects import Kind, Subject

Tensor = torch.Tensor


def activation(function: Callable[..., Any], name: str | None = None) -> Subject:
    """The subject that an activation is."""
    return Subject(name or function.__name__, Kind.ACTIVATION, function)


def neuron(function: Callable[..., Any]) -> Subject:
    """The subject that a neuron is."""
    return Subject(function.__name__, Kind.NEURON, function)


# Activations with derivatives by hand.


def by_hand(
    first: Callable[[Tensor], Tensor], second: Callable[[Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    """tanh with a first and a second derivative that are functions of x."""

    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return first(x)

        @staticmethod
        def backward(ctx: Any, *upstream: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return upstream[0] * second(x)

    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return torch.tanh(x)

        @staticmethod
        def backward(ctx: Any, *upstream: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return upstream[0] * Slope.apply(x)

    return Tanh.apply


def _textbook(x: Tensor) -> Tensor:
    return 1 - torch.tanh(x).square()


def _stable(x: Tensor) -> Tensor:
    t = torch.exp(-2 * x.abs())
    return 4 * t / (1 + t).square()


SOUND: dict[str, Subject] = {}
FAULTY: dict[str, Subject] = {}

SOUND["a stable form by hand"] = activation(
    by_hand(_stable, lambda x: -2 * torch.tanh(x) * _stable(x))
)
SOUND["the textbook form by hand"] = activation(
    by_hand(_textbook, lambda x: -2 * torch.tanh(x) * _textbook(x))
)
for name, second in {
    "without the factor 2": lambda x: -torch.tanh(x) * _textbook(x),
    "of the other sign": lambda x: 2 * torch.tanh(x) * _textbook(x),
    "y for s": lambda x: -2 * torch.tanh(x).square(),
    "s for y": lambda x: -2 * _textbook(x).square(),
    "zero": torch.zeros_like,
}.items():
    FAULTY[name] = activation(by_hand(_textbook, second))


class DetachedOutput(torch.autograd.Function):
    """Keeps its output outside the graph, as many a tutorial does: the gradient is a constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.tanh(x)
        ctx.y = y.detach()
        return y

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        return upstream[0] * (1 - ctx.y.square())


class HalfDetached(torch.autograd.Function):
    """y * y of which one y is a constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return upstream[0] * (1 - y * y.detach())


FAULTY["an output kept outside the graph"] = activation(DetachedOutput.apply)
FAULTY["half an output outside the graph"] = activation(HalfDetached.apply)


# Neurons.


def _neuron(x: Tensor, w: Tensor, b: Tensor, g: Tensor, preactivation: Tensor) -> Any:
    y = torch.tanh(preactivation)
    d = g * (1 - y.square())
    return y, d * w, d * x, d


def dot(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The sum of products by dot."""
    return _neuron(x, w, b, g, torch.dot(x, w) + b)


def einsum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The sum of products by einsum, the products of the gradient too."""
    y, _, _, d = _neuron(x, w, b, g, torch.einsum("i,i->", x, w) + b)
    return y, torch.einsum(",i->i", d, w), torch.einsum(",i->i", d, x), d


def in_float64(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Everything in float64, rounded at the end."""
    wide = [each.double() for each in (x, w, b, g)]
    results = _neuron(*wide, (wide[0] * wide[1]).sum() + wide[2])
    return tuple(each.to(x.dtype) for each in results)


def by_vjp(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """torch.func.vjp of the output."""
    y, pullback = torch.func.vjp(lambda x, w, b: torch.tanh((x * w).sum() + b), x, w, b)[:2]
    return y, *pullback(g)


def by_grad(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """autograd.grad with a graph."""
    y = torch.tanh((x * w).sum() + b)
    return y, *torch.autograd.grad(y, (x, w, b), g, create_graph=True)


def d_by_hand(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """-2 y d adot: the slope times g is one function of a and g."""

    class Gradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, g: Tensor) -> Tensor:
            y = torch.tanh(a)
            d = g * (1 - y.square())
            ctx.save_for_backward(y, d)
            return d

        @staticmethod
        def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:
            y, d = ctx.saved_tensors
            return (-2 * y * upstream[0]) * d, None

    a = (x * w).sum() + b
    d = Gradient.apply(a, g)
    return torch.tanh(a), d * w, d * x, d


for each in (dot, einsum, in_float64, by_vjp, by_grad, d_by_hand):
    SOUND[each.__name__] = neuron(each)


def without_the_gradients_part(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """d times constants: the part d q, d p of H v is missing."""
    y, _, _, d = _neuron(x, w, b, g, (x * w).sum() + b)
    return y, d * w.detach(), d * x.detach(), d


def without_the_curvature(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """d hardly depends on a: the part c is missing, but its graph is there."""
    y, _, _, d = _neuron(x, w, b, g, (x * w).sum() + b)
    d = d.detach() + 0 * d
    return y, d * w, d * x, d


def swapped_directions(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The gradients are right; their derivatives meet the wrong vector."""
    y, dx, dw, d = _neuron(x, w, b, g, (x * w).sum() + b)
    return y, dx.detach() + (dw - dw.detach()), dw.detach() + (dx - dx.detach()), d


for each in (without_the_gradients_part, without_the_curvature, swapped_directions):
    FAULTY[each.__name__.replace("_", " ")] = neuron(each)


# No second derivative.


class OnceOnly(torch.autograd.Function):
    """Says that it may be differentiated once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return upstream[0] * (1 - y.square())


class OutsideTorch(torch.autograd.Function):
    """Both passes in NumPy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.as_tensor(np.tanh(x.detach().double().numpy())).to(x.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        g, y = (each.detach().double().numpy() for each in (upstream[0], y))
        return torch.as_tensor(g * (1 - y * y)).to(upstream[0].dtype)


class TwiceRefused(torch.autograd.Function):
    """Raises at the second derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return upstream[0] * _Refusing.apply(x)


class _Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 1 - torch.tanh(x).square()

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        raise NotImplementedError("no derivative")


def detached(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Results without a graph."""
    return tuple(each.detach() for each in _neuron(x, w, b, g, (x * w).sum() + b))


def partly_detached(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A graph to the weights, none to the bias."""
    y, _, _, d = _neuron(x, w, b, g, (x * w).sum() + b)
    return y, d.detach() * w, d * x, d


def in_numpy(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Computed by NumPy."""
    x_, w_, b_, g_ = (each.detach().double().numpy() for each in (x, w, b, g))
    y = np.tanh((x_ * w_).sum() + b_)
    d = g_ * (1 - y * y)
    return tuple(torch.as_tensor(each).to(x.dtype) for each in (y, d * w_, d * x_, d))


def tanh_gradient(y: Tensor, dy: Tensor) -> Tensor:
    """The raw operation."""
    return dy * (1 - y * y)


WITHOUT = {
    "once_differentiable": (activation(OnceOnly.apply), "no graph back to the upstream gradient"),
    "a backward pass outside torch": (
        activation(OutsideTorch.apply),
        "no graph back to the upstream gradient",
    ),
    "an operation without a derivative": (
        activation(TwiceRefused.apply),
        "differentiated twice, it raises NotImplementedError: no derivative",
    ),
    "detached results": (neuron(detached), "the input gradient that it returns has no graph"),
    "partly detached": (neuron(partly_detached), "the input gradient that it returns has no graph"),
    "numpy": (neuron(in_numpy), "the input gradient that it returns has no graph"),
    "a raw gradient": (
        Subject("raw", Kind.TANH_GRADIENT, tanh_gradient),
        "a raw tanh gradient has no neuron",
    ),
}


# A second backward that differs.


def overwriting(change: Callable[[Any, Tensor], None]) -> Callable[[Tensor], Tensor]:
    """tanh whose backward pass does something to what it saved, after use."""

    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = torch.tanh(x)
            ctx.save_for_backward(y)
            ctx.calls = 0
            return y

        @staticmethod
        def backward(ctx: Any, *upstream: Tensor) -> Tensor:
            (y,) = ctx.saved_tensors
            if ctx.calls < 0:
                raise RuntimeError("the buffers have been freed")
            gradient = upstream[0] * (1 - y.square())
            gradient = gradient * (1 + ctx.calls * torch.finfo(y.dtype).eps)
            with torch.no_grad():
                change(ctx, y)
            return gradient

    return Tanh.apply


def _halve(ctx: Any, y: Tensor) -> None:
    y.data.mul_(0.5)


def _in_place(ctx: Any, y: Tensor) -> None:
    y.mul_(0.5)


def _count(ctx: Any, y: Tensor) -> None:
    ctx.calls += 1


def _free(ctx: Any, y: Tensor) -> None:
    ctx.calls = -1


UNREPEATABLE = {
    "the saved output is halved": (overwriting(_halve), "gives another gradient"),
    "the saved output is changed in place": (overwriting(_in_place), "raised RuntimeError"),
    "a few ulps more each time": (overwriting(_count), "gives another gradient"),
    "buffers freed in spite of retain_graph": (overwriting(_free), "raised RuntimeError"),
}
