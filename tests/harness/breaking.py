"""Subjects that break one law each, most of them within the grade `textbook`: what the laws must
see and the accuracy check need not."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from harness.laws import LAWS, Law
from harness.subjects import Kind, Subject
from tests.harness import faulty
from tests.harness.faulty import right

Tensor = torch.Tensor
_INTEGER = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def law(name: str) -> Law:
    """The law of that name."""
    return next(each for each in LAWS if each.name == name)


def _towards_zero(y: Tensor) -> Tensor:
    return torch.where(y == 0, y, torch.nextafter(y, torch.zeros_like(y)))


# Neurons.


def above_one(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The float above 1 for every output of 1."""
    y, dx, dw, d = right(x, w, b, g)
    return torch.where(y == 1, torch.nextafter(y, 2 * y), y), dx, dw, d


def negative_slope(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """1 - y*y of an output an ulp too large, where the output is 1."""
    y, _, _, d = right(x, w, b, g)
    d = torch.where(y.abs() == 1, -g * torch.finfo(y.dtype).eps, d)
    return y, d * w, d * x, d


def spare_lanes(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The gradient of an input that is 0 is taken with a weight of 1."""
    y, _, dw, d = right(x, w, b, g)
    return y, d * torch.where((x == 0) & (w == 0), torch.ones_like(w), w), dw, d


def tail_of_eight(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """A sum of more than eight terms leaves out the first."""
    first = 1 if len(x) > 8 else 0
    y = torch.tanh((x[first:] * w[first:]).sum() + b)
    d = g * (1 - y.square())
    return y, d * w, d * x, d


def accumulates(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Gradients added to zeros."""
    y, dx, dw, d = right(x, w, b, g)
    return y, dx, dw, torch.zeros_like(d) + d


def other_order(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """g * (s * w) for one gradient, (g * s) * x for the other."""
    y, _, dw, d = right(x, w, b, g)
    return y, torch.where(d.abs() > 1, g * ((1 - y.square()) * w), d * w), dw, d


def odd_below_zero(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Negative outputs are rounded towards zero."""
    y, dx, dw, d = right(x, w, b, g)
    return torch.where((y < -(2.0**-6)) & (y > -0.999), _towards_zero(y), y), dx, dw, d


def two_slopes(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """(1 - y) (1 + y) on one side, 1 - y*y on the other."""
    y = faulty._output(x, w, b)
    d = g * torch.where(y < 0, (1 - y) * (1 + y), 1 - y.square())
    return y, d * w, d * x, d


def two_signs(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """One formula for a positive upstream gradient, another for a negative one."""
    y = faulty._output(x, w, b)
    d = g * torch.where(g < 0, (1 - y) * (1 + y), 1 - y.square())
    return y, d * w, d * x, d


def two_scales(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """One formula for an upstream gradient of 1, another for the rest."""
    y = faulty._output(x, w, b)
    d = g * torch.where(g.abs() == 1, (1 - y) * (1 + y), 1 - y.square())
    return y, d * w, d * x, d


def last_lane_apart(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """The last lane's gradients are an ulp towards zero, where they are ordinary numbers."""
    y, dx, dw, d = right(x, w, b, g)
    dx, dw = dx.clone(), dw.clone()
    for each in (dx, dw):
        last = each[-1:]
        ordinary = (last.abs() > 2.0**-8) & (last.abs() < 2.0**8)
        each[-1:] = torch.where(ordinary, _towards_zero(last), last)
    return y, dx, dw, d


def wobbles(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
    """Every other output is two ulps too small."""
    y, dx, dw, d = right(x, w, b, g)
    odd = y.detach().view(_INTEGER[y.element_size()]) & 1 == 1
    lower = y * (1 - 2 * torch.finfo(y.dtype).eps)
    return torch.where(odd & (y.abs() < 0.5), lower, y), dx, dw, d


# Activations.


class _Strideless(torch.autograd.Function):
    """tanh that reads a vector's memory as if it were contiguous."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        flat = torch.empty(0, dtype=x.dtype).set_(
            x.untyped_storage(), x.storage_offset(), x.shape, (1,) * x.ndim
        )
        y = torch.tanh(flat)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


def strideless(x: Tensor) -> Any:
    """tanh that reads a vector's memory as if it were contiguous."""
    return _Strideless.apply(x)


def vector_apart(x: Tensor) -> Any:
    """tanh whose path for vectors is rounded towards zero."""
    y = torch.tanh(x)
    return y * (1 - torch.finfo(x.dtype).eps) if x.ndim else y


# Raw gradients.


def gradient(y: Tensor, dy: Tensor) -> Any:
    """dy * (1 - y*y)."""
    return dy * (1 - y * y)


def gradient_strideless(y: Tensor, dy: Tensor) -> Any:
    """Reads y as if it were contiguous."""
    flat = torch.empty(0, dtype=y.dtype).set_(y.untyped_storage(), y.storage_offset(), y.shape)
    return gradient(flat, dy)


def gradient_opposed(y: Tensor, dy: Tensor) -> Any:
    """-eps * dy for 0."""
    return torch.where(y.abs() == 1, -dy * torch.finfo(y.dtype).eps / 8, gradient(y, dy))


def gradient_accumulates(y: Tensor, dy: Tensor) -> Any:
    """Added to zeros."""
    return torch.zeros_like(y) + gradient(y, dy)


def gradient_two_sides(y: Tensor, dy: Tensor) -> Any:
    """Another formula for negative y."""
    return torch.where(y < 0, dy * ((1 - y) * (1 + y)), gradient(y, dy))


def gradient_two_signs(y: Tensor, dy: Tensor) -> Any:
    """Another formula for negative dy."""
    return torch.where(dy < 0, dy * ((1 - y) * (1 + y)), gradient(y, dy))


def gradient_two_scales(y: Tensor, dy: Tensor) -> Any:
    """Another formula for a dy of 1."""
    return torch.where(dy.abs() == 1, dy * ((1 - y) * (1 + y)), gradient(y, dy))


def gradient_last_lane(y: Tensor, dy: Tensor) -> Any:
    """Another formula in the last lane."""
    result = gradient(y, dy).detach().clone()
    result[-1:] = (dy * ((1 - y) * (1 + y)))[-1:]
    return result


class Breaking(NamedTuple):
    """A subject, the law it breaks, and what is said of it."""

    function: Any
    law: str
    message: str
    kind: Kind = Kind.NEURON

    @property
    def subject(self) -> Subject:
        """As a subject."""
        return Subject(self.function.__name__, self.kind, self.function)


_GRADIENT = Kind.TANH_GRADIENT
BREAKING = (
    Breaking(faulty.ignores_strides, "layout", "laid out "),
    Breaking(above_one, "output-bounded", "output is 0x1.0"),
    Breaking(negative_slope, "gradient-sign", "bias_gradient is "),
    Breaking(spare_lanes, "zero-padding", "with 9 terms of zeros added, input_gradient["),
    Breaking(tail_of_eight, "zero-padding", "one falls short of the grade"),
    Breaking(accumulates, "zero-sign", "bias_gradient is 0x0.0p+0; expected -0x0.0p+0"),
    Breaking(other_order, "swap", "with inputs and weights swapped, "),
    Breaking(odd_below_zero, "output-odd", "with weights and bias negated, output is "),
    Breaking(two_slopes, "gradient-even", "with weights and bias negated, "),
    Breaking(two_signs, "gradient-odd", "with upstream_gradient negated, "),
    Breaking(two_scales, "doubling", "with upstream_gradient doubled, "),
    Breaking(last_lane_apart, "permutation", "with the lanes in reverse order, input_gradient["),
    Breaking(last_lane_apart, "lanes", " repeated as lane "),
    Breaking(wobbles, "output-monotone", "output falls from "),
    Breaking(right, "mismatch-raises", "1 lane of weights for 0 of inputs: accepted"),
    Breaking(strideless, "layout", "laid out ", Kind.ACTIVATION),
    Breaking(vector_apart, "lanes", " in lane 0 of 17, ", Kind.ACTIVATION),
    Breaking(gradient_strideless, "layout", "laid out ", _GRADIENT),
    Breaking(gradient_opposed, "gradient-sign", "gradient[", _GRADIENT),
    Breaking(gradient_accumulates, "zero-sign", " is 0x0.0p+0; expected -0x0.0p+0", _GRADIENT),
    Breaking(gradient_two_sides, "gradient-even", "with y negated, gradient[", _GRADIENT),
    Breaking(gradient_two_signs, "gradient-odd", "upstream_gradient negated, gradi", _GRADIENT),
    Breaking(gradient_two_scales, "doubling", "with upstream_gradient doubled, gr", _GRADIENT),
    Breaking(gradient_last_lane, "permutation", "in reverse order, gradient[", _GRADIENT),
    Breaking(gradient_last_lane, "lanes", "at length ", _GRADIENT),
    Breaking(gradient, "mismatch-raises", "1 lane of dy for 0 of y: accepted", _GRADIENT),
)
