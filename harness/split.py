"""The error of a gradient, split into what each step of its computation has brought.

With a the exact preactivation, S = sech^2, and ^ for what was computed,

    d^ - d =  g (S(a^) - S(a))            the preactivation
            + g (S'(y^) - S'(t))          the tanh, where t = tanh(a^) rounded and S'(y) = 1 - y^2
            + g (S'(t) - S(a^))           the rounding of the output
            + g (s^ - S'(y^))             1 - y*y, which rounds y*y before it subtracts
            + (d^ - g s^)                 the roundings after it

for a slope s^ that was taken from the output. One that was not has a formula of its own, whose part
is g (s^ - S(a^)). A gradient d^ m^, m = w_i or x_i, has m times these parts, and the rounding of
its own product. Where a stage was not seen, the parts on either side of it are one.
"""

from __future__ import annotations

from enum import StrEnum
from math import isfinite
from typing import NamedTuple

from harness.stages import Stages
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
)
from reference.exact import Exact, one_minus_square
from reference.exact import exact as exactly
from reference.formats import Format
from reference.neuron import sech2, tanh
from reference.real import Real

#: Bits to which transcendental stages are taken: the parts are printed to four digits.
_BITS = 320


class Step(StrEnum):
    """What may bring an error, as it is printed."""

    PREACTIVATION = "the preactivation"
    TANH = "tanh itself"
    OUTPUT = "the rounding of the output"
    UP_TO_OUTPUT = "all up to the output"
    CANCELLATION = "1 - y*y"
    SLOPE = "the slope, by a formula of its own"
    ROUNDINGS = "the roundings after it"
    AFTER_OUTPUT = "1 - y*y and the roundings after it"
    GRADIENT = "the gradient, by a formula of its own"
    PRODUCT = "the product's rounding"


class Part(NamedTuple):
    """What one step has brought to an error."""

    step: Step
    error: Dyadic


def split(
    exact: Real,
    preactivation: Exact | None,
    upstream_gradient: float,
    stages: Stages,
    format: Format,
) -> list[Part] | None:
    """The parts of the error of the bias gradient d of a neuron, or of a raw tanh gradient
    (`preactivation` None), whose exact value is `exact`. They add up to the error.

    None where a number on the way is not finite: then there is nothing to add up.
    """
    numbers = [each for each in (*stages, upstream_gradient) if each is not None]
    d = _value(exact)
    if not all(map(isfinite, numbers)) or d is None:
        return None
    if isinstance(preactivation, float) and not isfinite(preactivation):
        return None
    g, y = from_float(upstream_gradient), from_float(stages.output)
    computed = from_float(stages.bias_gradient)
    from_output = multiply(g, _one_minus_square(y))
    slope = None if stages.slope is None else multiply(g, from_float(stages.slope))
    if preactivation is None:
        return _after_output(from_output, slope, computed)
    at = None if stages.preactivation is None else exactly(stages.preactivation)
    moved = None if at is None else multiply(g, _sech2(at))
    if not _taken_from_output(stages, g, moved, format):
        return _of_its_own(d, moved, slope, computed)
    if at is None or moved is None:
        return [
            Part(Step.UP_TO_OUTPUT, subtract(from_output, d)),
            *_after_output(from_output, slope, computed),
        ]
    rounded = multiply(g, _one_minus_square(from_float(tanh(at).rounded(format))))
    return [
        Part(Step.PREACTIVATION, subtract(moved, d)),
        Part(Step.TANH, subtract(from_output, rounded)),
        Part(Step.OUTPUT, subtract(rounded, moved)),
        *_after_output(from_output, slope, computed),
    ]


def times(parts: list[Part], multiplier: float, gradient: float, product: float) -> list[Part]:
    """The parts of the error of `product`, the bias gradient `gradient` times an input or a weight,
    rounded; all finite."""
    m = from_float(multiplier)
    rounding = subtract(from_float(product), multiply(from_float(gradient), m))
    return [
        *(Part(part.step, multiply(part.error, m)) for part in parts),
        Part(Step.PRODUCT, rounding),
    ]


def total(parts: list[Part]) -> Dyadic:
    """The error that the parts make together."""
    found = ZERO
    for part in parts:
        found = add(found, part.error)
    return found


def largest(parts: list[Part]) -> Part:
    """The part that counts most."""
    found = parts[0]
    for part in parts[1:]:
        if compare(magnitude(part.error), magnitude(found.error)) > 0:
            found = part
    return found


def _after_output(from_output: Dyadic, slope: Dyadic | None, computed: Dyadic) -> list[Part]:
    if slope is None:
        return [Part(Step.AFTER_OUTPUT, subtract(computed, from_output))]
    return [
        Part(Step.CANCELLATION, subtract(slope, from_output)),
        Part(Step.ROUNDINGS, subtract(computed, slope)),
    ]


def _of_its_own(
    d: Dyadic, moved: Dyadic | None, slope: Dyadic | None, computed: Dyadic
) -> list[Part]:
    """For a gradient that was not formed as g * (1 - y*y)."""
    if moved is None:
        return [Part(Step.GRADIENT, subtract(computed, d))]
    parts = [Part(Step.PREACTIVATION, subtract(moved, d))]
    if slope is None:
        return [*parts, Part(Step.GRADIENT, subtract(computed, moved))]
    return [
        *parts,
        Part(Step.SLOPE, subtract(slope, moved)),
        Part(Step.ROUNDINGS, subtract(computed, slope)),
    ]


def _taken_from_output(stages: Stages, g: Dyadic, moved: Dyadic | None, format: Format) -> bool:
    """Whether the slope, or the gradient where no slope was seen, comes from the output: it is
    1 - y^2 (times g) as the format rounds it in one of the usual ways, or else within the roundings
    of y*y, of the difference and of the product, and no closer to `moved`, the exact value at the
    computed preactivation."""
    y = from_float(stages.output)
    slopes = _usual_slopes(y, format)
    if stages.slope is not None:
        if stages.slope in slopes:
            return True
        found = multiply(g, from_float(stages.slope))
    else:
        if stages.bias_gradient in [format.round(multiply(g, from_float(s))) for s in slopes]:
            return True
        found = from_float(stages.bias_gradient)
    away = magnitude(subtract(found, multiply(g, _one_minus_square(y))))
    # u y^2 for the square, u s for what follows; twice, for the second order.
    scale = add(multiply(y, y), magnitude(_one_minus_square(y)))
    allowed = multiply(multiply(magnitude(g), scale), Dyadic(1, 1 - format.precision))
    if compare(away, add(allowed, format.smallest_subnormal)) > 0:
        return False
    return moved is None or compare(away, magnitude(subtract(found, moved))) <= 0


def _usual_slopes(y: Dyadic, format: Format) -> list[float]:
    """1 - y*y with every step rounded, with one rounding, and (1-y)*(1+y)."""
    square, less, more = (
        from_float(format.round(value)) for value in (multiply(y, y), subtract(ONE, y), add(ONE, y))
    )
    return [
        format.round(value)
        for value in (subtract(ONE, square), _one_minus_square(y), multiply(less, more))
    ]


def _one_minus_square(y: Dyadic) -> Dyadic:
    found = one_minus_square(y) if y.mantissa else Dyadic(1, 0)
    return found if isinstance(found, Dyadic) else ZERO


def _sech2(argument: Exact) -> Dyadic:
    found = _value(sech2(argument))
    assert found is not None
    return found


def _value(real: Real) -> Dyadic | None:
    """A finite value, to `_BITS` bits; None for another."""
    special = real.special
    if special is not None:
        return from_float(special) if isfinite(special) else None
    return real.enclosure(_BITS).lower
