"""The oracle of second derivatives: the Hessian of L = g * tanh(x.w + b) times a vector, exactly.

With a = x.w + b, y = tanh(a), s = sech^2(a) the gradient is (d w, d x, d), d = g s. Its derivative
along the direction v = (p, q, r), p for the inputs, q for the weights, r for the bias, is

    adot = p.w + q.x + r                      the derivative of a along v
    c    = -2 g y s adot                      the derivative of d along v
    Hv   = (c w + d q, c x + d p, c)          since d(d w) = dd w + d dw

L has second derivatives everywhere, so H is symmetric: this is also what differentiating the
gradient's product with v gives, as a double backward does.

Every element is s (alpha y + beta) with rational alpha and beta. For a != 0 it is no rational
number, unless alpha = beta = 0: with T = e^(2a), transcendental by the theorem of Lindemann and
Weierstrass, s (alpha y + beta) = 4 T ((alpha + beta) T + beta - alpha) / (T + 1)^3, and were it
equal to a rational r, the polynomial r (T + 1)^3 - 4 T (...) would vanish identically: its constant
term r = 0, and with it alpha + beta = beta - alpha = 0. So Ziv's loop ends, as for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reference.dyadic import (
    ONE,
    ZERO,
    Dyadic,
    add,
    compare,
    magnitude,
    multiply,
    negate,
    subtract,
    truncate_down,
    truncate_up,
)
from reference.elementary import Enclosure, tanh_sech2
from reference.exact import Exact, product
from reference.formats import Format
from reference.neuron import ExactNeuron, neuron
from reference.real import Curve, Real

_MINUS_TWO = Dyadic(-2, 0)


@dataclass(frozen=True)
class RoundedHessianProduct:
    """The three parts of H v as Python floats, each the exact value rounded once to nearest even.

    `inputs` and `weights` have length n."""

    inputs: list[float]
    weights: list[float]
    bias: float


@dataclass(frozen=True)
class ExactHessianProduct:
    """H v at a neuron whose arguments are finite, for a finite direction v.

    `tangent` is the neuron of 2n terms (p, q).(w, x) + r whose preactivation is adot.
    """

    neuron: ExactNeuron
    tangent: ExactNeuron

    @property
    def tangent_inputs(self) -> tuple[Exact, ...]:
        """p, the part of the direction that belongs to the inputs."""
        return self.tangent.inputs[: len(self.neuron.inputs)]

    @property
    def tangent_weights(self) -> tuple[Exact, ...]:
        """q, the part of the direction that belongs to the weights."""
        return self.tangent.inputs[len(self.neuron.inputs) :]

    @cached_property
    def inputs(self) -> tuple[Real, ...]:
        """c w_i + d q_i."""
        return tuple(map(self._element, self.neuron.weights, self.tangent_weights))

    @cached_property
    def weights(self) -> tuple[Real, ...]:
        """c x_i + d p_i."""
        return tuple(map(self._element, self.neuron.inputs, self.tangent_inputs))

    @cached_property
    def bias(self) -> Real:
        """c = -2 g y s adot."""
        return self._element(ONE, 0.0)

    def rounded(self, format: Format | None = None) -> RoundedHessianProduct:
        """Every element rounded once to nearest even, in `format` (default: the neuron's own)."""
        target = format or self.neuron.format
        return RoundedHessianProduct(
            inputs=[value.rounded(target) for value in self.inputs],
            weights=[value.rounded(target) for value in self.weights],
            bias=self.bias.rounded(target),
        )

    @cached_property
    def _scale(self) -> Exact:
        """-2 g adot, so that c = _scale * y s."""
        return product(
            _MINUS_TWO, product(self.neuron.upstream_gradient, self.tangent.preactivation)
        )

    def _element(self, multiplier: Exact, tangent: Exact) -> Real:
        """c * multiplier + d * tangent."""
        return _combination(
            product(self._scale, multiplier),
            product(self.neuron.upstream_gradient, tangent),
            self.neuron.preactivation,
        )


def hessian_product(
    neuron: ExactNeuron, inputs: Sequence[float], weights: Sequence[float], bias: float
) -> ExactHessianProduct:
    """H v at `neuron` along v = (inputs, weights, bias), the vectors of the neuron's length n.

    Raises ValueError for other lengths, and where an argument of the neuron or an element of the
    direction is not finite: no second derivative is defined there.
    """
    n = len(neuron.inputs)
    if not len(inputs) == n == len(weights):
        raise ValueError(
            f"the direction has {len(inputs)} inputs and {len(weights)} weights; expected {n} of "
            "each, as many as the neuron"
        )
    tangent = _tangent(neuron, inputs, weights, bias)
    for value in (*neuron.inputs, *neuron.weights, neuron.bias, neuron.upstream_gradient):
        _require_finite("the neuron", value)
    for value in (*tangent.inputs, tangent.bias):
        _require_finite("the direction", value)
    return ExactHessianProduct(neuron, tangent)


def _tangent(
    point: ExactNeuron, inputs: Sequence[float], weights: Sequence[float], bias: float
) -> ExactNeuron:
    direction = neuron([*inputs, *weights], [0.0] * (2 * len(inputs)), bias, 1.0)
    return ExactNeuron(
        inputs=direction.inputs,
        weights=(*point.weights, *point.inputs),
        bias=direction.bias,
        upstream_gradient=ONE,
        format=point.format,
    )


def _require_finite(name: str, value: Exact) -> None:
    if isinstance(value, float) and value != 0:
        raise ValueError(f"{name} holds {value}; expected finite numbers")


def _combination(alpha: Exact, beta: Exact, a: Exact) -> Real:
    """sech^2(a) (alpha tanh(a) + beta) for finite alpha, beta and a."""
    if not isinstance(a, Dyadic):
        return Real(beta)
    if not isinstance(alpha, Dyadic):
        return Real(beta, Curve("sech2", a) if isinstance(beta, Dyadic) else None)
    return Real(ONE, Combination(alpha, beta if isinstance(beta, Dyadic) else ZERO, a))


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """sech^2(a) (alpha tanh(a) + beta) at dyadic a != 0 and alpha != 0; beta may be 0.

    alpha and beta are products of at most four binary64 numbers and sums of such.
    """

    alpha: Dyadic
    beta: Dyadic
    argument: Dyadic
    _known: dict[int, Enclosure] = field(default_factory=dict, repr=False)

    def enclosure(self, bits: int) -> Enclosure:
        """As `Curve.enclosure`: never across 0, for the value is not 0."""
        known = self._known.get(bits)
        if known is None:
            known = self._known[bits] = self._enclosure(bits)
        return known

    def _enclosure(self, bits: int) -> Enclosure:
        # alpha tanh(a) may cancel against beta: more bits then, until enough of them are left.
        working = bits + 4
        while True:
            tanh, sech2 = tanh_sech2(self.argument, working)
            if not sech2.lower.mantissa:
                return self._negligible(sech2.upper)
            ends = [add(multiply(self.alpha, end), self.beta) for end in tanh]
            lower, upper = ends if self.alpha.mantissa > 0 else reversed(ends)
            if lower.mantissa > 0:
                found = multiply(lower, sech2.lower), multiply(upper, sech2.upper)
            else:
                found = multiply(lower, sech2.upper), multiply(upper, sech2.lower)
            lower, upper = truncate_down(found[0], bits + 8), truncate_up(found[1], bits + 8)
            if _narrow(lower, upper, bits):
                return Enclosure(lower, upper).aligned
            working *= 2

    def _negligible(self, sech2: Dyadic) -> Enclosure:
        """For |a| >= 8192 only the sign counts: tanh|a| is 1 less something under 2^-23000, which
        decides it only if alpha tanh + beta is 0 to that precision, so that alpha + beta, a
        multiple of 2^-4500 under 2^4200, is 0."""
        alpha = self.alpha if self.argument.mantissa > 0 else negate(self.alpha)
        sign = add(alpha, self.beta).mantissa or -alpha.mantissa
        size = multiply(add(magnitude(alpha), magnitude(self.beta)), sech2)
        zero = Dyadic(0, size.exponent)
        return Enclosure(zero, size) if sign > 0 else Enclosure(negate(size), zero)


def _narrow(lower: Dyadic, upper: Dyadic, bits: int) -> bool:
    """Whether 0 is outside [lower, upper], and the relative width is at most 2^-bits."""
    inner = lower if lower.mantissa > 0 else negate(upper)  # negative if 0 is inside
    width = subtract(upper, lower)
    return compare(Dyadic(width.mantissa, width.exponent + bits), inner) <= 0
