"""What the largest part of an error means, and what to do about it, in a sentence."""

from __future__ import annotations

from math import log2

from harness.split import Part, Step, largest, total
from harness.stages import Stages
from reference.dyadic import ONE, Dyadic, compare, from_float, magnitude, multiply, ratio, subtract
from reference.exact import exact as exactly
from reference.formats import Format
from reference.measure import error
from reference.neuron import ExactNeuron, tanh

_STABLE = "compute 4t/(1+t)^2 with t = exp(-2|a|) instead"


def advice(
    parts: list[Part],
    stages: Stages,
    exact: ExactNeuron | None,
    format: Format,
    ulp_exponent: int,
) -> str:
    """A sentence on the error that `parts` add up to, whose ulp is 2^`ulp_exponent`.

    `exact` is the neuron, None for a raw tanh gradient.
    """
    ulp = Dyadic(1, ulp_exponent)
    if compare(magnitude(total(parts)), ulp) < 0:
        return "No step is to blame: the error is less than an ulp."
    worst = largest(parts)
    match worst.step:
        case Step.PREACTIVATION:
            return _preactivation(exact)
        case Step.TANH:
            return _tanh(stages, format)
        case Step.OUTPUT:
            return (
                f"The output is rounded as well as it can be, but 1 - y*y of it has lost "
                f"{_lost(stages, format)} here; {_STABLE}, from the preactivation."
            )
        case Step.CANCELLATION | Step.AFTER_OUTPUT:
            return (
                f"y*y is rounded before it is subtracted, and 1 - y*y has lost "
                f"{_lost(stages, format)} here; form (1-y)*(1+y)"
                f"{'' if exact is None else f', or {_STABLE}'}."
            )
        case Step.UP_TO_OUTPUT:
            return (
                "The output is off, by its sum, its tanh or its rounding, and 1 - y*y of it has "
                f"lost {_lost(stages, format)} here; {_STABLE}, from the preactivation."
            )
        case Step.ROUNDINGS | Step.PRODUCT:
            return _roundings(stages, format)
        case Step.SLOPE | Step.GRADIENT:
            return (
                f"It is not 1 - y*y of the output, and its own formula is off by "
                f"{ratio(magnitude(worst.error), ulp):.3g} ulps here; look there first."
            )


def _preactivation(exact: ExactNeuron | None) -> str:
    assert exact is not None
    a = exact.preactivation
    if not isinstance(a, Dyadic):
        return "The terms of the sum cancel to 0, and the sum does not; add them without rounding."
    condition = ratio(exact.absolute_sum, magnitude(a))
    if condition < 4:
        return (
            "The sum is off, though its terms hardly cancel: an error e in a is a relative one of "
            "up to 2|e| in the gradient; accumulate in a wider format, and keep a in it."
        )
    return (
        f"The terms of the sum cancel: together they are {condition:.3g} times as large as a; "
        "accumulate in a wider format, or compensate the sum."
    )


def _tanh(stages: Stages, format: Format) -> str:
    assert stages.preactivation is not None
    off = error(tanh(exactly(stages.preactivation)), stages.output, format)
    assert off is not None
    return (
        f"tanh is off by {abs(off.ulps):.3g} ulps at the preactivation it was given, and 1 - y*y, "
        f"which has lost {_lost(stages, format)} here, enlarges that; look at the tanh first."
    )


def _roundings(stages: Stages, format: Format) -> str:
    size = magnitude(from_float(stages.bias_gradient))
    if compare(size, format.smallest_normal) < 0:
        return (
            "The bias gradient is below the normal range, where few bits are left; multiply by g, "
            "x and w in a wider format, and round once."
        )
    return "The roundings of the products are to blame; multiply in a wider format, and round once."


def _lost(stages: Stages, format: Format) -> str:
    """How many bits of 1 - y^2 the rounding of y, or of y*y, has left without meaning."""
    y = from_float(stages.output)
    left = subtract(ONE, multiply(y, y))
    if not left.mantissa:
        return f"all {format.precision} bits"
    lost = min(format.precision, max(0, round(-log2(abs(ratio(left, ONE))))))
    return f"{lost} of {format.precision} bits"
