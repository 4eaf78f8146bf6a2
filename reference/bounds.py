"""A-priori rounding-error bounds: what a sound evaluation of the neuron may be off by, and no more.

With u = 2^-p the unit roundoff of the format, eta its smallest subnormal, S = sum|x_i w_i| + |b|,
gamma_n = n u_acc / (1 - n u_acc) for the accumulation format (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., lemma 3.1), and T the activation's tolerance in ulps:

    |da| <= D  = c S + (1+c) (n+1) eta/2,  c = (1+u)^3 (1+gamma_n) - 1
    |dy| <= By = tanh|a| - tanh(|a|-D) + T ulp(tanh(|a|+D))
    textbook: |ds| <= (1+u) (By (2|y|+By) + u (|y|+By)^2) + u s
    stable:   |ds| <= max over [|a|-D, |a|+D] of |sech^2 - s| + 8 (u sech^2(max(|a|-D, 0)) + eta/2)
    |dd|     <= |g| |ds| (1+u) + u |g| s + eta/2
    |d(d m)| <= |m| |dd| (1+u) + u |m| (|g| s + |dd|) + eta/2         m = w_i or x_i

The three factors 1+u are the roundings to the format of a product, of the sum and of sum + b, where
the sum is accumulated elsewhere; a product that underflows is off by eta/2, which the roundings
after it may enlarge by 1+c; D is 0 where a comes out exact in any order. The computed tanh is
T ulps off at the *computed* preactivation, whose ulp may be that of the next binade: hence the ulp
at |a| + D. The textbook bound of s is never less than the stable one, so that the grades form a
ladder: other sound forms, such as (1-y)(1+y) and 4t/(1+t)^2 with t = exp(-2|a|), exceed the bare
textbook formula where y is small.

With flush-to-zero a result below the least normal number N may become 0 or +-N, and a subnormal
operand may be read as 0. Each such event adds N, or the whole term, to the bound of its step.

All arithmetic on bounds rounds up, to 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from reference.dyadic import (
    ONE,
    ZERO,
    Dyadic,
    add,
    compare,
    from_float,
    magnitude,
    multiply,
    subtract,
    truncate_down,
    truncate_up,
)
from reference.elementary import tanh_sech2
from reference.exact import Exact
from reference.formats import BINARY32, Format
from reference.neuron import ExactNeuron
from reference.outward import half, larger, total, twice, up
from reference.real import just_inside

_POINT_BITS = 128
_CURVE_BITS = 96


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a subject computes: the format of its results, the format it accumulates sums in, its
    tanh's tolerance in ulps, and whether it flushes subnormals to zero."""

    format: Format
    accumulation: Format
    activation_ulps: float
    flush_to_zero: bool = False


def default_arithmetic(
    format: Format,
    *,
    accumulation: Format | None = None,
    activation_ulps: float | None = None,
    flush_to_zero: bool = False,
) -> Arithmetic:
    """The arithmetic a subject has unless it declares another.

    Sums of the 16-bit formats accumulate in binary32, as torch documents; the others in themselves.
    tanh may be 2.5 ulps off in binary32 and binary64: two ulps from the correctly rounded result,
    the largest that glibc, CUDA and HIP document. In the 16-bit formats it may be 1 ulp off:
    computed in binary32 and rounded once.

    Raises ValueError if `activation_ulps` is negative, or more than 2^(p-3): an eighth of the
    value and above would leave nothing to judge.
    """
    narrow = format.width == 16
    ulps = (1.0 if narrow else 2.5) if activation_ulps is None else float(activation_ulps)
    most = 2.0 ** (format.precision - 3)
    if not 0 <= ulps <= most:
        raise ValueError(
            f"activation_ulps is {ulps}; expected 0 to {most:g} ulps in {format.name}, an eighth "
            "of the value; give the error of tanh itself"
        )
    return Arithmetic(format, accumulation or (BINARY32 if narrow else format), ulps, flush_to_zero)


@dataclass(frozen=True, slots=True)
class GradientBound:
    """Bounds of d and of its multiples: |dd| <= `bias_gradient`, |d(d m)| <= `multiple(m)`."""

    sech2: Dyadic
    bias_gradient: Dyadic
    slope: Dyadic
    absolute: Dyadic
    subnormal_slope: Dyadic
    subnormal: Dyadic

    def multiple(self, multiplier: Dyadic) -> Dyadic:
        """The bound of d * m for a finite m."""
        size = magnitude(multiplier)
        bound = add(multiply(size, self.slope), self.absolute)
        if compare(size, self.subnormal) < 0:
            bound = add(bound, multiply(size, self.subnormal_slope))
        return bound


@dataclass(frozen=True, slots=True)
class NeuronBounds:
    """Bounds of every quantity of a neuron with a finite preactivation.

    The gradients' bounds hold for a finite upstream gradient; for an infinite one `sech2` of the
    gradient bounds says what may multiply it.
    """

    preactivation: Dyadic
    output: Dyadic
    stable: GradientBound
    textbook: GradientBound


class Overflow(NamedTuple):
    """Whether a partial sum may exceed the largest finite number, upwards and downwards."""

    above: bool
    below: bool


def overflow_possible(
    neuron: ExactNeuron, arithmetic: Arithmetic, bounds: NeuronBounds | None = None
) -> Overflow:
    """Whether a product or a partial sum may overflow on the way to the preactivation.

    In any order of summation a partial sum is at most the sum of the positive terms, and at least
    that of the negative ones, but for the rounding errors that D bounds. `bounds` saves working
    them out again.
    """
    error = bounds.preactivation if bounds else _preactivation_bound(neuron, arithmetic) or ZERO
    threshold = arithmetic.format.overflow_threshold
    if compare(add(neuron.absolute_sum, error), threshold) < 0:
        return Overflow(above=False, below=False)
    return Overflow(
        above=compare(add(neuron.sums.positive, error), threshold) >= 0,
        below=compare(add(neuron.sums.negative, error), threshold) >= 0,
    )


def neuron_bounds(neuron: ExactNeuron, arithmetic: Arithmetic) -> NeuronBounds | None:
    """The bounds at `neuron`, or None where there are none: a is not finite, or n u_acc >= 1."""
    exact = neuron.preactivation
    a = exact if isinstance(exact, Dyadic) else ZERO
    error = _preactivation_bound(neuron, arithmetic)
    if error is None or not (isinstance(exact, Dyadic) or exact == 0):
        return None
    format = arithmetic.format
    u = format.unit_roundoff
    one_plus_u = add(ONE, u)

    distance = magnitude(a)
    nearest = truncate_down(subtract(distance, error), _POINT_BITS)
    farthest = truncate_up(add(distance, error), _POINT_BITS)
    here = tanh_sech2(distance, _CURVE_BITS)
    near = tanh_sech2(nearest, _CURVE_BITS) if error.mantissa else here
    far = tanh_sech2(farthest, _CURVE_BITS) if error.mantissa else here

    spread = subtract(here.tanh.upper, near.tanh.lower) if error.mantissa else ZERO
    # tanh is less than the end of its enclosure, which may be 1, where the ulp is twice as large.
    top = just_inside(far.tanh.upper) if farthest.mantissa else ZERO
    tolerance = multiply(from_float(arithmetic.activation_ulps), format.ulp(top))
    output = up(add(spread, tolerance))
    if arithmetic.flush_to_zero:
        output = up(add(output, twice(format.smallest_normal)))

    y = add(here.tanh.upper, output)
    s = here.sech2.upper
    steepest = near.sech2.upper if nearest.mantissa > 0 else ONE
    # Each of the eight roundings of a stable form may underflow: eta/2, or N where flushed (t of
    # 4t/(1+t)^2 weighs four times).
    least = format.smallest_normal if arithmetic.flush_to_zero else format.smallest_subnormal
    stable = total(
        larger(subtract(steepest, here.sech2.lower), subtract(s, far.sech2.lower))
        if error.mantissa
        else ZERO,
        multiply(Dyadic(8 * u.mantissa, u.exponent), steepest),
        Dyadic(4 * least.mantissa, least.exponent),
    )
    square = add(
        multiply(output, add(here.tanh.upper, y)),
        multiply(u, multiply(y, y)),
    )
    textbook = total(multiply(one_plus_u, square), multiply(u, s))
    if arithmetic.flush_to_zero:
        textbook = total(textbook, twice(format.smallest_normal))
    textbook = larger(textbook, stable)

    g = neuron.upstream_gradient
    return NeuronBounds(
        preactivation=error,
        output=output,
        stable=_gradient_bound(stable, s, g, arithmetic),
        textbook=_gradient_bound(textbook, s, g, arithmetic),
    )


@dataclass(frozen=True, slots=True)
class TanhGradientBounds:
    """Bounds of dy * (1 - y^2) for the raw operation, given the stored output y."""

    stable: GradientBound
    textbook: GradientBound


def tanh_gradient_bounds(
    output: Dyadic, upstream_gradient: Exact, arithmetic: Arithmetic
) -> TanhGradientBounds:
    """The bounds at a finite stored output y.

    textbook: y*y and 1 - y*y are rounded, |ds| <= (1+u) (u y^2 + eta/2) + u |1-y^2|.
    stable:   |ds| <= 8 u |1-y^2| + eta/2, which (1-y)(1+y) earns with three roundings.
    """
    format = arithmetic.format
    u = format.unit_roundoff
    square = multiply(output, output)
    s = magnitude(subtract(ONE, square))
    least = format.smallest_normal if arithmetic.flush_to_zero else half(format.smallest_subnormal)
    stable = total(multiply(Dyadic(8 * u.mantissa, u.exponent), s), least)
    textbook = larger(
        total(
            multiply(add(ONE, u), add(multiply(u, square), least)),
            multiply(u, s),
            twice(least) if arithmetic.flush_to_zero else ZERO,
        ),
        stable,
    )
    return TanhGradientBounds(
        stable=_gradient_bound(stable, s, upstream_gradient, arithmetic),
        textbook=_gradient_bound(textbook, s, upstream_gradient, arithmetic),
    )


def _gradient_bound(
    sech2_bound: Dyadic, s: Dyadic, upstream_gradient: Exact, arithmetic: Arithmetic
) -> GradientBound:
    format = arithmetic.format
    u = format.unit_roundoff
    one_plus_u = add(ONE, u)
    size = magnitude(upstream_gradient) if isinstance(upstream_gradient, Dyadic) else ZERO
    largest = multiply(size, s)
    least = format.smallest_normal if arithmetic.flush_to_zero else half(format.smallest_subnormal)
    d = total(multiply(multiply(size, sech2_bound), one_plus_u), multiply(u, largest), least)
    flushed = arithmetic.flush_to_zero
    if flushed and compare(size, format.smallest_normal) < 0:
        d = total(d, largest)
    reach = add(largest, d)
    return GradientBound(
        sech2=sech2_bound,
        bias_gradient=d,
        slope=total(multiply(d, one_plus_u), multiply(u, reach)),
        absolute=least,
        subnormal_slope=up(reach),
        subnormal=format.smallest_normal if flushed else ZERO,
    )


def _preactivation_bound(neuron: ExactNeuron, arithmetic: Arithmetic) -> Dyadic | None:
    """D, or None where gamma_n is undefined."""
    format = arithmetic.format
    n = len(neuron.inputs)
    if not arithmetic.flush_to_zero and _exact_in_any_order(neuron, format):
        return ZERO
    growth = _growth(n, format, arithmetic.accumulation)
    if growth is None:
        return None
    events = Dyadic(n + 1, format.least_ulp_exponent - 1)
    if arithmetic.flush_to_zero:
        # n products, n additions, the sum's rounding to the format and b may each lose N.
        events = total(
            multiply(Dyadic(2 * n + 2, 0), format.smallest_normal), _subnormal_terms(neuron, format)
        )
    return total(multiply(growth, neuron.absolute_sum), multiply(add(ONE, growth), events))


def _exact_in_any_order(neuron: ExactNeuron, format: Format) -> bool:
    """Whether no evaluation of a rounds: no product is non-zero, or there is one, by a power of
    two, without underflow or overflow and with b = 0."""
    pairs = [
        (x, w)
        for x, w in zip(neuron.inputs, neuron.weights, strict=True)
        if isinstance(x, Dyadic) and isinstance(w, Dyadic)
    ]
    if not pairs:
        return True
    if len(neuron.inputs) > 1 or isinstance(neuron.bias, Dyadic):
        return False
    ((x, w),) = pairs
    exact = multiply(x, w)
    return (
        (_is_power_of_two(x) or _is_power_of_two(w))
        and exact.mantissa.bit_length() + exact.exponent - 1 <= format.emax
        and _is_multiple_of(exact, format.least_ulp_exponent)
    )


def _is_power_of_two(value: Dyadic) -> bool:
    mantissa = abs(value.mantissa)
    return mantissa & (mantissa - 1) == 0


def _is_multiple_of(value: Dyadic, exponent: int) -> bool:
    trailing = (value.mantissa & -value.mantissa).bit_length() - 1
    return value.exponent + trailing >= exponent


@lru_cache(maxsize=1024)
def _growth(n: int, format: Format, accumulation: Format) -> Dyadic | None:
    """(1+u)^3 (1+gamma_n) - 1, rounded up; None where n u_acc >= 1.

    1 + gamma_n = 1 / (1 - n u_acc) = 2^k / (2^k - n), with u_acc = 2^-k.
    """
    k = accumulation.precision
    rest = (1 << k) - n
    if rest <= 0:
        return None
    one_plus_gamma = Dyadic(-((-1 << k + 128) // rest), -128)
    one_plus_u = add(ONE, format.unit_roundoff)
    cubed = multiply(one_plus_u, multiply(one_plus_u, one_plus_u))
    return up(subtract(multiply(cubed, one_plus_gamma), ONE))


def _subnormal_terms(neuron: ExactNeuron, format: Format) -> Dyadic:
    """The sum of |x_i w_i| over the terms with a subnormal operand, which may be read as zero."""
    least = format.smallest_normal
    lost: Sequence[Dyadic] = [
        magnitude(multiply(x, w))
        for x, w in zip(neuron.inputs, neuron.weights, strict=True)
        if isinstance(x, Dyadic)
        and isinstance(w, Dyadic)
        and (compare(magnitude(x), least) < 0 or compare(magnitude(w), least) < 0)
    ]
    return total(*lost)
