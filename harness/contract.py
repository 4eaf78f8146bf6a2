"""The contract: what a computed result is worth against the exact one.

| grade    | a result earns it when                                                       |
|----------|------------------------------------------------------------------------------|
| correct  | it is the exact value rounded to nearest even                                |
| faithful | it is one of the two floats around the exact value                           |
| stable   | its error is within the stable bound of `reference.bounds`                   |
| textbook | its error is within the textbook bound, or is what overflow makes of the     |
|          | formula where products or sums can overflow (a *hazard*, counted)            |
| wrong    | nothing explains it                                                          |

Where a bound is vacuous an element that is not faithful is *unjudged*: counted, never passed. Signs
of zeros are the laws' business, not the grades'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from math import inf, isfinite, nan

from harness.grade import Grade
from harness.judgement import Bound, Element, GradientLimits, Judgement, special_name
from harness.multiples import judge_multiples
from reference.bounds import (
    Arithmetic,
    GradientBound,
    neuron_bounds,
    overflow_possible,
    tanh_gradient_bounds,
)
from reference.dyadic import (
    LARGEST_FLOAT,
    ZERO,
    Dyadic,
    add,
    compare,
    magnitude,
    multiply,
    ratio,
    subtract,
)
from reference.exact import Exact, exact, one_minus_square, product
from reference.formats import Format
from reference.measure import error, matches
from reference.neuron import ExactNeuron, tanh_gradient
from reference.real import Real

#: The quantities of a neuron, in the order a neuron returns them.
NEURON_QUANTITIES = ("output", "input_gradient", "weight_gradient", "bias_gradient")
#: What an overflow on the way to a finite preactivation makes of g * (1 - y^2).
_GRADIENT_HAZARDS = frozenset({"nan", "0"})
#: The one quantity of the raw gradient operation.
TANH_GRADIENT_QUANTITIES = ("gradient",)


def judge_neuron(
    neuron: ExactNeuron,
    computed: Mapping[str, Sequence[float]],
    arithmetic: Arithmetic,
) -> Judgement:
    """Judge the four results of a neuron; `computed` maps each of NEURON_QUANTITIES to its floats,
    as many as the neuron has of it (scalars are sequences of one).

    Raises ValueError if a quantity has another number of elements.
    """
    if isinstance(neuron.preactivation, float) and not isfinite(neuron.preactivation):
        return _judge_not_finite(neuron, computed, arithmetic)
    bounds = neuron_bounds(neuron, arithmetic)
    above, below = overflow_possible(neuron, arithmetic, bounds)
    output_bound = bounds.output if bounds else None
    textbook = bounds.textbook if bounds else None
    gradient = GradientLimits(
        stable=bounds.stable if bounds else None,
        textbook=textbook,
        infinite=_infinite_gradients(neuron.upstream_gradient, neuron.slope, textbook),
        overflowing=_overflowing_gradient(neuron, textbook, arithmetic.format),
        hazard=_GRADIENT_HAZARDS if above or below else frozenset(),
    )
    output = Bound(output_bound, output_bound, hazard=_output_hazards(above, below))
    d = neuron.bias_gradient
    n = len(neuron.inputs)
    for name in ("input_gradient", "weight_gradient"):
        _require_length(name, computed[name], n)
    multiples = _judge_multiples(
        d,
        gradient,
        [*neuron.weights, *neuron.inputs],
        [*computed["input_gradient"], *computed["weight_gradient"]],
        arithmetic,
    )
    return Judgement(
        {
            "output": judge_quantity(
                "output", [neuron.output], [output], computed["output"], arithmetic
            ),
            "input_gradient": tuple(multiples[:n]),
            "weight_gradient": tuple(multiples[n:]),
            "bias_gradient": judge_quantity(
                "bias_gradient", [d], [gradient.itself()], computed["bias_gradient"], arithmetic
            ),
        }
    )


def _output_hazards(above: bool, below: bool) -> frozenset[str]:
    """What tanh becomes where the preactivation may overflow to inf (above) or to -inf (below)."""
    names = {"nan": above or below, "1": above, "-1": below}
    return frozenset(name for name, possible in names.items() if possible)


def _judge_not_finite(
    neuron: ExactNeuron, computed: Mapping[str, Sequence[float]], arithmetic: Arithmetic
) -> Judgement:
    """Judge a neuron whose preactivation is infinite or NaN: nothing rounds on the way, so only the
    exact results pass, and NaN where an infinite term may meet an overflow of the other sign."""
    a = neuron.preactivation
    above, below = overflow_possible(neuron, arithmetic)
    hazard = frozenset({"nan"}) if (a == inf and below) or (a == -inf and above) else frozenset()
    bound = Bound(ZERO, ZERO, hazard=hazard)
    expected: dict[str, Sequence[Real]] = {
        "output": [neuron.output],
        "input_gradient": neuron.input_gradient,
        "weight_gradient": neuron.weight_gradient,
        "bias_gradient": [neuron.bias_gradient],
    }
    return Judgement(
        {
            name: judge_quantity(name, reals, [bound] * len(reals), computed[name], arithmetic)
            for name, reals in expected.items()
        }
    )


def judge_tanh_gradient(
    outputs: Sequence[float],
    upstream_gradient: float,
    computed: Sequence[float],
    arithmetic: Arithmetic,
) -> Judgement:
    """Judge dy * (1 - y^2), elementwise, against the exact rational of each stored output y.

    Raises ValueError if there are not as many computed values as outputs.
    """
    g = exact(upstream_gradient)
    reals = [tanh_gradient(y, upstream_gradient) for y in outputs]
    bounds = [_tanh_gradient_bound(exact(y), g, arithmetic) for y in outputs]
    return Judgement({"gradient": judge_quantity("gradient", reals, bounds, computed, arithmetic)})


def _tanh_gradient_bound(y: Exact, g: Exact, arithmetic: Arithmetic) -> Bound:
    format = arithmetic.format
    if isinstance(y, float) and not isfinite(y):
        # A subnormal g that counts as zero makes NaN of 0 * -inf.
        vanishing = isinstance(g, Dyadic) and compare(magnitude(g), format.smallest_normal) < 0
        flushed = arithmetic.flush_to_zero and vanishing
        return Bound(ZERO, ZERO, hazard=frozenset({"nan"}) if flushed else frozenset())
    point = y if isinstance(y, Dyadic) else ZERO
    bounds = tanh_gradient_bounds(point, g, arithmetic)
    slope = Real(one_minus_square(y))
    square = multiply(point, point)
    overflow = compare(square, format.overflow_threshold) >= 0
    return GradientLimits(
        stable=bounds.stable,
        textbook=bounds.textbook,
        infinite=_infinite_gradients(g, slope, bounds.textbook),
        overflowing=0.0,
        hazard=frozenset({special_name(product(g, -inf))}) if overflow else frozenset(),
    ).itself()


def judge_quantity(
    name: str,
    reals: Sequence[Real],
    bounds: Sequence[Bound],
    computed: Sequence[float],
    arithmetic: Arithmetic,
) -> tuple[Element, ...]:
    """The elements of one quantity, each an exact value with its bound.

    Raises ValueError if there are not as many computed values.
    """
    _require_length(name, computed, len(reals))
    return tuple(
        _judge_element(real, bound, value, arithmetic)
        for real, bound, value in zip(reals, bounds, computed, strict=True)
    )


def _judge_multiples(
    d: Real,
    gradient: GradientLimits,
    multipliers: Sequence[Exact],
    computed: Sequence[float],
    arithmetic: Arithmetic,
) -> list[Element]:
    """The elements of d * m for each multiplier m."""
    plain = d.curve is not None and gradient.regular and not arithmetic.flush_to_zero
    quick: Iterable[Element | None] = repeat(None)
    if plain and multipliers:
        quick = judge_multiples(d, gradient, multipliers, computed, arithmetic.format)
    return [
        element or _judge_element(d.times(m), gradient.bound(m), value, arithmetic)
        for element, m, value in zip(quick, multipliers, computed, strict=False)
    ]


def _require_length(name: str, computed: Sequence[float], expected: int) -> None:
    if len(computed) != expected:
        raise ValueError(f"{name} has {len(computed)} elements; expected {expected}")


def _judge_element(real: Real, bound: Bound, computed: float, arithmetic: Arithmetic) -> Element:
    format = arithmetic.format
    measured = error(real, computed, format, flush_to_zero=arithmetic.flush_to_zero)
    if measured is None:
        grade, hazard = _grade_special(real, bound, computed, format)
        return Element(computed, grade, None, None, hazard, real, bound)
    size = magnitude(measured.difference)
    bound_ratio = None if bound.textbook is None else _ratio(size, bound.textbook)
    hazard = False
    grade = None
    if measured.correct:
        grade = Grade.CORRECT
    elif measured.faithful:
        grade = Grade.FAITHFUL
    elif _within(size, computed, real, bound.stable, format):
        grade = Grade.STABLE
    elif (
        _within(size, computed, real, bound.textbook, format)
        or special_name(computed) in bound.explained
    ):
        grade = Grade.TEXTBOOK
    elif special_name(computed) in bound.hazard:
        grade, hazard, bound_ratio = Grade.TEXTBOOK, True, None
    elif not _vacuous(bound.textbook, format):
        grade = Grade.WRONG
    return Element(computed, grade, measured.ulps, bound_ratio, hazard, real, bound)


def _grade_special(
    real: Real, bound: Bound, computed: float, format: Format
) -> tuple[Grade | None, bool]:
    """The grade, and whether it is a hazard, where the error has no size."""
    if matches(real, computed, format):
        return Grade.CORRECT, False
    name = special_name(computed)
    if name in bound.explained:
        return Grade.TEXTBOOK, False
    if name in bound.hazard:
        return Grade.TEXTBOOK, True
    return (None if bound.textbook is None else Grade.WRONG), False


def _vacuous(bound: Dyadic | None, format: Format) -> bool:
    return bound is None or compare(bound, format.largest_finite) > 0


def _within(
    size: Dyadic, computed: float, real: Real, bound: Dyadic | None, format: Format
) -> bool:
    """Whether an error of `size` is within `bound`, given that results overflow as the format does:
    infinity is within it if a number within it rounds to that infinity."""
    if bound is None or _vacuous(bound, format):
        return False
    if isfinite(computed):
        return compare(size, bound) <= 0
    lower, upper = real.first_enclosure
    if (computed > 0) != (upper.mantissa > 0):
        return False
    outer = magnitude(upper if computed > 0 else lower)
    return compare(add(outer, bound), format.overflow_threshold) >= 0


def _ratio(size: Dyadic, bound: Dyadic) -> float:
    if bound.mantissa:
        return ratio(size, bound)
    return LARGEST_FLOAT if size.mantissa else 0.0


def _overflowing_gradient(
    neuron: ExactNeuron, textbook: GradientBound | None, format: Format
) -> float:
    """The infinity that d may round to where it is finite; 0 where it cannot."""
    d = neuron.bias_gradient
    if textbook is None or d.special is not None:
        return 0.0
    lower, upper = d.first_enclosure
    size = upper if upper.mantissa > 0 else magnitude(lower)
    reach = add(size, textbook.bias_gradient)
    if compare(reach, format.overflow_threshold) < 0:
        return 0.0
    return inf if upper.mantissa > 0 else -inf


def _infinite_gradients(g: Exact, slope: Real, textbook: GradientBound | None) -> tuple[float, ...]:
    if g not in (inf, -inf) or textbook is None or slope.special is not None:
        return ()
    lower, upper = slope.first_enclosure
    reach = (subtract(lower, textbook.sech2).mantissa, add(upper, textbook.sech2).mantissa)
    values = [product(g, Dyadic(1 if end > 0 else -1, 0)) if end else nan for end in reach]
    if reach[0] < 0 < reach[1]:
        values.append(nan)
    return tuple(value for value in values if isinstance(value, float))
