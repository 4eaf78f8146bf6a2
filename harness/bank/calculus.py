"""Wrong calculus: derivatives of something else, or at another point, or of the wrong sign."""

from __future__ import annotations

from functools import partial
from typing import Final

import torch

from harness.bank.fault import Fault, Group, fault, faults_in
from harness.bank.pieces import Results, Tensor, custom, preactivation, results, slope
from harness.bank.witness import at, stored, terms
from harness.subjects import Kind

_neuron = partial(fault, Group.CALCULUS, Kind.NEURON)
_activation = partial(fault, Group.CALCULUS, Kind.ACTIVATION)
_tanh_gradient = partial(fault, Group.CALCULUS, Kind.TANH_GRADIENT)


@_neuron("a question about TensorFlow's TanhGrad, which reads dy/dx as a fraction", at(1.0))
def division(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """d = g / (1 - y*y): divided by the derivative."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, g / slope(y), x, w)


@_tanh_gradient(
    "a question about TensorFlow's TanhGrad, which reads dy/dx as a fraction", stored([0.5])
)
def raw_division(y: Tensor, dy: Tensor) -> Tensor:
    """dy / (1 - y*y): divided by the derivative."""
    return dy / slope(y)


@_activation("hand-written backward passes", at(0.5))
def wrong_sign(x: Tensor) -> Tensor:
    """g * (y*y - 1): the difference the other way round."""
    return custom(x, torch.tanh, lambda g, x, y: g * (y.square() - 1))


@_activation("hand-written backward passes", at(0.5))
def output_not_squared(x: Tensor) -> Tensor:
    """g * (1 - y): y where y*y belongs."""
    return custom(x, torch.tanh, lambda g, x, y: g * (1 - y))


@_tanh_gradient("hand-written backward passes", stored([0.5]))
def raw_output_not_squared(y: Tensor, dy: Tensor) -> Tensor:
    """dy * (1 - y): y where y*y belongs."""
    return dy * (1 - y)


@_tanh_gradient("a slip in factoring 1 - y*y", stored([0.5]))
def squared_difference(y: Tensor, dy: Tensor) -> Tensor:
    """dy * (1 - y)^2, for (1 - y) (1 + y)."""
    return dy * (1 - y).square()


@_neuron("from-scratch tutorials that hand the activated value to a derivative of x", at(1.0))
def derivative_at_output(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """d = g * tanh'(y): the derivative taken at the output, not at the preactivation."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, g * slope(torch.tanh(y)), x, w)


@_tanh_gradient("from-scratch tutorials that apply tanh a second time", stored([0.75]))
def raw_derivative_at_output(y: Tensor, dy: Tensor) -> Tensor:
    """dy * (1 - tanh(y)^2), though y is tanh's output already."""
    return dy * slope(torch.tanh(y))


@_neuron("from-scratch tutorials that hand the preactivation to a derivative of y", at(0.5))
def square_of_preactivation(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """d = g * (1 - a*a): the preactivation where the output belongs."""
    a = preactivation(x, w, b)
    return results(torch.tanh(a), g * slope(a), x, w)


@_activation("derivatives given as 1/cosh, from a table of hyperbolic functions", at(1.0))
def sech_not_squared(x: Tensor) -> Tensor:
    """g * sech(x), for sech^2."""
    return custom(x, torch.tanh, lambda g, x, y: g / torch.cosh(x))


@_activation("an activation exchanged, its derivative forgotten", at(0.5))
def logistic_derivative(x: Tensor) -> Tensor:
    """g * y * (1 - y): the derivative of the logistic function."""
    return custom(x, torch.tanh, lambda g, x, y: g * y * (1 - y))


@_activation("tanh rewritten by the logistic function, by hand in both passes", at(0.5))
def half_logistic_derivative(x: Tensor) -> Tensor:
    """g * 2 s (1 - s) with s = sigmoid(2x): the inner derivative, 2, is missing."""

    def gradient(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        s = torch.sigmoid(2 * x)
        return g * 2 * s * (1 - s)

    return custom(x, torch.tanh, gradient)


@_activation("straight-through estimators, and hardtanh's mask on a tanh", at(0.5))
def straight_through(x: Tensor) -> Tensor:
    """g where |x| < 1, else 0: the derivative of hardtanh."""
    return custom(x, torch.tanh, lambda g, x, y: g * (x.abs() < 1))


@_neuron("backward passes that recompute the preactivation", terms([0.5], [1.0], 1.0))
def derivative_without_bias(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The derivative recomputed at sum(x*w), the bias forgotten."""
    y = torch.tanh(preactivation(x, w, b))
    return results(y, g * slope(torch.tanh((x * w).sum())), x, w)


@_neuron("layers whose bias is added only in one of two code paths", at(0.5))
def output_without_bias(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """y = tanh(sum(x*w)): the bias is not added."""
    y = torch.tanh((x * w).sum())
    return results(y, g * slope(y), x, w)


@_neuron(
    "a reduction exchanged for another", terms([1.0, 1.0], [0.5, 0.25], 0.0), shows_as=["grade"]
)
def mean_for_sum(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Results:
    """The mean of the products, for their sum; NaN where there are none."""
    y = torch.tanh((x * w).mean() + b)
    return results(y, g * slope(y), x, w)


@_activation(
    "backward passes written without a thought of being differentiated",
    at(0.5),
    shows_as=["second-order"],
)
def constant_derivative(x: Tensor) -> Tensor:
    """1 - y*y of a detached y: right once, but its own derivative, -2y (1 - y*y), is lost."""
    return custom(x, torch.tanh, lambda g, x, y: g * slope(y.detach()))


FAULTS: Final[tuple[Fault, ...]] = faults_in(globals())
