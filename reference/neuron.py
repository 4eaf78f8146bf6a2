"""The oracle: a tanh neuron and its gradients as exact values, rounded once.

    a = sum(x_i * w_i) + b        preactivation
    y = tanh(a)                   output
    d = g * (1 - y^2)             = g * sech^2(a), the bias gradient
    dL/dx_i = d * w_i             input gradient
    dL/dw_i = d * x_i             weight gradient

Inputs are floats and floats are rational, so a is exact. Non-finite inputs follow IEEE 754 on the
exact values: any NaN gives NaN, inf * 0 and inf - inf give NaN, tanh(+-inf) = +-1 and
sech^2(+-inf) = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import copysign

from reference.dyadic import ONE, Dyadic
from reference.exact import Exact, Sums, dot, exact, one_minus_square, product
from reference.formats import BINARY64, Format
from reference.real import Curve, Real


@dataclass(frozen=True)
class RoundedNeuron:
    """The four results as Python floats, each the exact value rounded once to nearest even."""

    output: float
    input_gradient: list[float]
    weight_gradient: list[float]
    bias_gradient: float


@dataclass(frozen=True)
class ExactNeuron:
    """The exact neuron at given inputs. `format` is what `rounded` rounds to."""

    inputs: tuple[Exact, ...]
    weights: tuple[Exact, ...]
    bias: Exact
    upstream_gradient: Exact
    format: Format

    @cached_property
    def sums(self) -> Sums:
        """The sums of the terms x_i w_i and b."""
        return dot(self.inputs, self.weights, self.bias)

    @cached_property
    def preactivation(self) -> Exact:
        """a = sum(x_i w_i) + b, exactly."""
        return self.sums.total

    @property
    def absolute_sum(self) -> Dyadic:
        """S = sum|x_i w_i| + |b| over the finite terms: the scale of the preactivation's error."""
        return self.sums.absolute

    @cached_property
    def output(self) -> Real:
        """y = tanh(a)."""
        return tanh(self.preactivation)

    @cached_property
    def slope(self) -> Real:
        """sech^2(a) = 1 - y^2, the derivative of the output by the preactivation."""
        return sech2(self.preactivation)

    @cached_property
    def bias_gradient(self) -> Real:
        """d = g * sech^2(a)."""
        return self.slope.times(self.upstream_gradient)

    @cached_property
    def input_gradient(self) -> tuple[Real, ...]:
        """d * w_i."""
        return tuple(map(self.bias_gradient.times, self.weights))

    @cached_property
    def weight_gradient(self) -> tuple[Real, ...]:
        """d * x_i."""
        return tuple(map(self.bias_gradient.times, self.inputs))

    def rounded(self, format: Format | None = None) -> RoundedNeuron:
        """Every result rounded once to nearest even, in `format` (default: the neuron's own)."""
        target = format or self.format
        return RoundedNeuron(
            output=self.output.rounded(target),
            input_gradient=[value.rounded(target) for value in self.input_gradient],
            weight_gradient=[value.rounded(target) for value in self.weight_gradient],
            bias_gradient=self.bias_gradient.rounded(target),
        )


def neuron(
    inputs: Sequence[float],
    weights: Sequence[float],
    bias: float,
    upstream_gradient: float,
    *,
    format: Format = BINARY64,
) -> ExactNeuron:
    """The exact neuron at `inputs` and `weights` of the same length n >= 0.

    Arguments are taken for exactly what they stand for and are not rounded to `format` first: 0.1
    is 0x1.999999999999ap-4 in every format. Raises ValueError if the lengths differ.
    """
    if len(inputs) != len(weights):
        raise ValueError(
            f"inputs has {len(inputs)} elements and weights has {len(weights)}; "
            "give one weight for each input"
        )
    return ExactNeuron(
        inputs=tuple(map(exact, inputs)),
        weights=tuple(map(exact, weights)),
        bias=exact(bias),
        upstream_gradient=exact(upstream_gradient),
        format=format,
    )


def tanh(argument: Exact) -> Real:
    """tanh of an exact value; tanh(+-0) = +-0, tanh(+-inf) = +-1."""
    if isinstance(argument, Dyadic):
        return Real(ONE, Curve("tanh", argument))
    if argument in (float("inf"), float("-inf")):
        return Real(Dyadic(int(copysign(1, argument)), 0))
    return Real(argument)


def sech2(argument: Exact) -> Real:
    """sech^2 of an exact value; sech^2(+-0) = 1, sech^2(+-inf) = 0."""
    if isinstance(argument, Dyadic):
        return Real(ONE, Curve("sech2", argument))
    if argument in (float("inf"), float("-inf")):
        return Real(0.0)
    return Real(argument) if argument != argument else Real(ONE)


def tanh_gradient(output: float, upstream_gradient: float) -> Real:
    """dy * (1 - y^2) of the *stored* output y, exactly: the raw operation's own oracle.

    Not sech^2 of an input: y has been rounded, and nobody has the input any more.
    """
    return Real(product(exact(upstream_gradient), one_minus_square(exact(output))))
