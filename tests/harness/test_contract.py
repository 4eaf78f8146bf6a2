"""Every rung of the ladder by a result made for it, in every format, and every special rule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isinf, nan

import pytest

from harness.contract import (
    NEURON_QUANTITIES,
    judge_neuron,
    judge_tanh_gradient,
)
from harness.grade import Grade
from harness.judgement import Element, Judgement, severity, worst
from reference.bounds import (
    Arithmetic,
    NeuronBounds,
    default_arithmetic,
    neuron_bounds,
    tanh_gradient_bounds,
)
from reference.dyadic import Dyadic
from reference.exact import exact
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import ExactNeuron, neuron, tanh_gradient
from reference.real import Real
from tests.rationals import dyadic, fraction

CORRECT, FAITHFUL, STABLE, TEXTBOOK, WRONG = Grade
each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
TOY = Format("toy", precision=4, emax=15, width=8)


def judged(
    exact_neuron: ExactNeuron,
    arithmetic: Arithmetic | None = None,
    **changed: float | Sequence[float],
) -> Judgement:
    """The judgement of the correct results, with some of them changed."""
    arithmetic = arithmetic or default_arithmetic(exact_neuron.format)
    rounded = exact_neuron.rounded(arithmetic.format)
    computed: dict[str, Sequence[float]] = {
        "output": [rounded.output],
        "input_gradient": rounded.input_gradient,
        "weight_gradient": rounded.weight_gradient,
        "bias_gradient": [rounded.bias_gradient],
    }
    for name, value in changed.items():
        computed[name] = [value] if isinstance(value, int | float) else value
    return judge_neuron(exact_neuron, computed, arithmetic)


def element(
    name: str, value: float, exact_neuron: ExactNeuron, arithmetic: Arithmetic | None = None
) -> Element:
    """The judgement of one value as the first element of a quantity."""
    size = {"input_gradient": len(exact_neuron.inputs), "weight_gradient": len(exact_neuron.inputs)}
    rounded = exact_neuron.rounded()
    others = list(getattr(rounded, name))[1:] if size.get(name, 1) > 1 else []
    return judged(exact_neuron, arithmetic, **{name: [value, *others]}).quantities[name][0]


def verdict(found: Element) -> tuple[Grade | None, bool]:
    """The grade, and whether it is owed to an overflow."""
    return found.grade, found.hazard


def bounds_of(exact_neuron: ExactNeuron, arithmetic: Arithmetic | None = None) -> NeuronBounds:
    """The bounds of a neuron that has them."""
    bounds = neuron_bounds(exact_neuron, arithmetic or default_arithmetic(exact_neuron.format))
    assert bounds is not None
    return bounds


def last_within(real: Real, bound: Dyadic, format: Format) -> float:
    """The member farthest above the exact value whose error is within `bound`."""
    lower, _ = real.enclosure(400)
    return format.round_down(dyadic(fraction(lower) + fraction(bound)))


def saturating(format: Format, weight: float = 0.75) -> ExactNeuron:
    """y near 1 - 2^(-p/2), where the textbook bound is far over the stable one; d is negative."""
    a = format.round(dyadic(0.17 * format.precision + 1.0))
    return neuron([1.0, 0.5], [weight, a], a / 2, -3.0, format=format)


# The rungs.


@each_format
def test_the_rounded_exact_results_are_correct(format: Format) -> None:
    """Every element of every quantity is correct, with less than 0.51 ulps."""
    judgement = judged(saturating(format))
    assert set(NEURON_QUANTITIES) == set(judgement.quantities)
    elements = [each for group in judgement.quantities.values() for each in group]
    assert [CORRECT] * 6 == [each.grade for each in elements]
    assert all(abs(each.ulps or 0) < 0.51 and (each.bound_ratio or 0) < 1 for each in elements)
    assert (CORRECT, False, False) == (judgement.grade, judgement.unjudged, judgement.hazard)


@each_format
@pytest.mark.parametrize("name", NEURON_QUANTITIES)
def test_the_other_neighbour_is_faithful(format: Format, name: str) -> None:
    """The float on the other side of the exact value is faithful, the ones beyond are not."""
    subject = saturating(format)
    (real, *_) = _reals(subject, name)
    below, above = real.neighbours(format)
    nearest = real.rounded(format)
    grades = [
        element(name, value, subject).grade
        for value in (below, above, format.next_down(below), format.next_up(above))
    ]
    assert sorted([CORRECT, FAITHFUL]) == sorted(grades[:2], key=str)
    assert grades[below != nearest] is CORRECT
    assert not {CORRECT, FAITHFUL} & set(grades[2:])


def _reals(subject: ExactNeuron, name: str) -> Sequence[Real]:
    found = getattr(subject, name)
    return [found] if isinstance(found, Real) else found


@each_format
@pytest.mark.parametrize("name", ["input_gradient", "weight_gradient", "bias_gradient"])
def test_gradients_pass_stable_and_textbook_up_to_the_last_float(format: Format, name: str) -> None:
    """The last float within each bound earns the rung, the next one the rung below."""
    subject = saturating(format)
    bounds = bounds_of(subject)
    multiplier = {"input_gradient": subject.weights, "weight_gradient": subject.inputs}
    (real, *_) = _reals(subject, name)
    ladder = [
        rung.multiple(multiplier[name][0]) if name in multiplier else rung.bias_gradient  # type: ignore[arg-type]
        for rung in (bounds.stable, bounds.textbook)
    ]
    for bound, within, beyond in zip(ladder, (STABLE, TEXTBOOK), (TEXTBOOK, WRONG), strict=True):
        last = last_within(real, bound, format)
        assert [within, beyond] == [
            element(name, value, subject).grade for value in (last, format.next_up(last))
        ]
    ratios = [element(name, value, subject).bound_ratio for value in (last, format.next_up(last))]
    assert ratios[0] is not None and ratios[1] is not None
    assert ratios[0] <= 1 < ratios[1]


@each_format
def test_the_output_has_one_bound(format: Format) -> None:
    """The last float within it is stable, the next one wrong, on either side."""
    for sign in (1.0, -1.0):
        subject = neuron([0.5], [0.75 * sign], 0.25 * sign, 1.0, format=format)
        bound = bounds_of(subject).output
        lower, _ = subject.output.enclosure(400)
        for direction in (1, -1):
            limit = dyadic(fraction(lower) + direction * fraction(bound))
            last = format.round_down(limit) if direction > 0 else format.round_up(limit)
            step = format.next_up if direction > 0 else format.next_down
            assert [STABLE, WRONG] == [
                element("output", value, subject).grade for value in (last, step(last))
            ]


@each_format
def test_the_textbook_formula_is_textbook_where_tanh_has_rounded_to_one(format: Format) -> None:
    """y = 1 makes 1 - y^2 = 0: explained, though a stable form would not lose the gradient."""
    a = 0.35 * (format.precision + 3)
    subject = neuron([], [], format.round(dyadic(a)), 1.0, format=format)
    assert subject.output.rounded(format) == 1.0
    judgement = judged(subject, bias_gradient=0.0)
    assert (TEXTBOOK, False, False) == (judgement.grade, judgement.hazard, judgement.unjudged)


@each_format
def test_the_grade_of_a_case_is_that_of_its_worst_element(format: Format) -> None:
    """One wrong element among correct ones makes the case wrong."""
    subject = saturating(format)
    gradient = [subject.rounded().input_gradient[0], 77.0]
    judgement = judged(subject, input_gradient=gradient)
    assert [CORRECT, WRONG] == [each.grade for each in judgement.quantities["input_gradient"]]
    assert judgement.grade is WRONG


FAULTS = {
    "divided by 1 - y^2": lambda y, g: g / (1 - y * y),
    "without g": lambda y, g: 1 - y * y,
    "1 - y^2 g": lambda y, g: 1 - y * y * g,
    "g (1 + y^2)": lambda y, g: g * (1 + y * y),
    "g (1 - y)": lambda y, g: g * (1 - y),
    "-g (1 - y^2)": lambda y, g: -g * (1 - y * y),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@each_format
def test_a_wrong_formula_is_wrong(fault: object, format: Format) -> None:
    """Nothing explains another formula at a = 0.75, g = 3."""
    assert callable(fault)
    subject = neuron([], [], 0.75, 3.0, format=format)
    value = format.round(dyadic(fault(subject.output.rounded(format), 3.0)))
    assert element("bias_gradient", value, subject).grade is WRONG


@each_format
def test_swapped_gradients_are_wrong(format: Format) -> None:
    """d x_i in the place of d w_i is not explained by anything."""
    subject = saturating(format)
    right = subject.rounded()
    judgement = judged(
        subject, input_gradient=right.weight_gradient, weight_gradient=right.input_gradient
    )
    assert judgement.grade is WRONG


# Faithful means a neighbour.


@each_format
def test_an_error_under_one_ulp_is_not_faithful_across_a_power_of_two(format: Format) -> None:
    """Just over 1, the float 1 - u is half an ulp off and yet no neighbour: stable only."""
    g = format.next_up(1.0)
    subject = neuron([], [], 2.0 ** -(format.precision // 2 + 1), g, format=format)
    real = subject.bias_gradient
    assert 1.0 == real.neighbours(format)[0] < real.neighbours(format)[1]
    below = element("bias_gradient", format.next_down(1.0), subject)
    assert below.ulps is not None and abs(below.ulps) < 1.6
    assert below.grade is not FAITHFUL
    if abs(below.ulps) < 1:
        assert below.grade is STABLE


@each_format
def test_no_neighbour_is_faithful_where_the_exact_value_is_a_float(format: Format) -> None:
    """tanh(0) = 0 and d = g at a = 0 have no float on the other side."""
    subject = neuron([], [], 0.0, 1.5, format=format)
    assert element("bias_gradient", format.next_up(1.5), subject).grade is STABLE
    two_ulps = default_arithmetic(format, activation_ulps=2.0)
    assert [STABLE, STABLE, WRONG] == [
        element("output", format.from_ordinal(steps), subject, two_ulps).grade
        for steps in (1, 2, 3)
    ]


# Zeros, NaN, infinities.


@each_format
def test_signs_of_zeros_are_not_graded(format: Format) -> None:
    """-0 for +0 is correct; the laws look at signs."""
    subject = neuron([0.0], [-0.0], 0.0, 0.0, format=format)
    for name in NEURON_QUANTITIES:
        assert [CORRECT] * 2 == [element(name, zero, subject).grade for zero in (0.0, -0.0)]
        assert element(name, format.from_ordinal(40), subject).grade is WRONG


@pytest.mark.parametrize(
    ("inputs", "weights", "bias", "gradient"),
    [
        ([nan], [1.0], 0.0, 1.0),
        ([1.0], [1.0], nan, 1.0),
        ([inf], [0.0], 0.0, 1.0),
        ([inf, inf], [1.0, -1.0], 0.0, 1.0),
    ],
    ids=["NaN input", "NaN bias", "inf * 0", "inf - inf"],
)
@each_format
def test_nan_must_stay_nan(
    inputs: list[float], weights: list[float], bias: float, gradient: float, format: Format
) -> None:
    """A NaN preactivation makes NaN of every result; laundered into a number it is wrong."""
    subject = neuron(inputs, weights, bias, gradient, format=format)
    assert judged(subject).grade is CORRECT
    for name in NEURON_QUANTITIES:
        for value in (0.0, 1.0, -1.0, inf, -inf):
            assert element(name, value, subject).grade is WRONG


def test_nan_is_not_excused_by_an_overflow_beside_it() -> None:
    """No overflow makes 1 or 0 of a NaN."""
    subject = neuron([nan, 256.0], [1.0, 256.0], 0.0, 1.0, format=BINARY16)
    assert [WRONG, WRONG] == [
        element("output", 1.0, subject).grade,
        element("bias_gradient", 0.0, subject).grade,
    ]


@each_format
def test_a_nan_upstream_gradient_concerns_the_gradients_only(format: Format) -> None:
    """The output is judged as ever, every gradient must be NaN."""
    subject = neuron([1.0], [0.5], 0.0, nan, format=format)
    assert judged(subject).grade is CORRECT
    assert element("output", nan, subject).grade is WRONG
    assert element("bias_gradient", 1.0, subject).grade is WRONG
    assert element("input_gradient", 0.0, subject).grade is WRONG


@each_format
@pytest.mark.parametrize("name", NEURON_QUANTITIES)
def test_nan_and_infinity_for_an_ordinary_value_are_wrong(format: Format, name: str) -> None:
    """Without an overflow on the way nothing explains them."""
    subject = saturating(format)
    for value in (nan, inf, -inf):
        found = element(name, value, subject)
        assert (WRONG, False) == (found.grade, found.hazard)


@each_format
@pytest.mark.parametrize("a", [inf, -inf], ids=str)
def test_an_infinite_preactivation_has_exact_results(format: Format, a: float) -> None:
    """tanh(+-inf) = +-1 and sech^2 = 0: nothing else passes, and nothing is left unjudged."""
    sign = 1.0 if a > 0 else -1.0
    for subject in (
        neuron([], [], a, 2.0, format=format),
        neuron([a], [1.0], 0.5, 2.0, format=format),
    ):
        judgement = judged(subject)
        assert (CORRECT, False) == (judgement.grade, judgement.unjudged)
        assert [sign, 0.0] == [
            subject.rounded().output,
            subject.rounded().bias_gradient,
        ]
        for value in (-sign, 0.5, sign * format.next_down(1.0), nan, a):
            assert element("output", value, subject).grade is WRONG
        for value in (format.from_ordinal(1), 0.25, 2.0, nan, inf):
            assert element("bias_gradient", value, subject).grade is WRONG


def test_an_infinity_may_meet_an_overflow_of_the_other_sign() -> None:
    """inf + 256 * -256 may come out as inf - inf in binary16: a hazard; inf + 256 * 256 may not."""
    opposite = neuron([inf, 256.0], [1.0, -256.0], 0.0, 1.0, format=BINARY16)
    assert (TEXTBOOK, True) == verdict(element("output", nan, opposite))
    assert (TEXTBOOK, True) == verdict(element("bias_gradient", nan, opposite))
    assert element("output", -1.0, opposite).grade is WRONG
    alike = neuron([inf, 256.0], [1.0, 256.0], 0.0, 1.0, format=BINARY16)
    assert element("output", nan, alike).grade is WRONG


# Overflow of results.


def test_an_overflowing_result_is_measured_at_the_next_power_of_two() -> None:
    """g * w = 2^16 in binary16: infinity is correct, the largest number an ulp off."""
    subject = neuron([0.0], [256.0], 0.0, 256.0, format=BINARY16)
    largest = element("input_gradient", 65504.0, subject)
    assert (FAITHFUL, -1.0) == (largest.grade, largest.ulps)
    infinite = element("input_gradient", inf, subject)
    assert (CORRECT, 0.0) == (infinite.grade, infinite.ulps)
    assert element("input_gradient", -inf, subject).grade is WRONG
    assert element("input_gradient", nan, subject).grade is WRONG


@each_format
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive", "negative"])
def test_infinity_is_within_the_bound_if_the_bound_reaches_the_overflow_threshold(
    format: Format, sign: float
) -> None:
    """Just under the largest number a result within the bound may overflow; at half of it not."""
    top = float(fraction(format.largest_finite))
    a = 2.0 ** -(format.precision // 2 + 2)
    near = neuron([], [], a, sign * top, format=format)
    assert near.bias_gradient.rounded(format) != sign * inf
    infinite = element("bias_gradient", sign * inf, near)
    assert infinite.grade in (FAITHFUL, STABLE, TEXTBOOK)
    assert not infinite.hazard
    assert element("bias_gradient", -sign * inf, near).grade is WRONG
    half = neuron([], [], a, sign * top / 2, format=format)
    assert element("bias_gradient", sign * inf, half).grade is WRONG


# Hazards.


def test_the_textbook_hazard_of_cancelling_products() -> None:
    """binary16, x = [256, 256], w = [256, -256]: inf - inf is NaN, counted as a hazard."""
    subject = neuron([256.0, 256.0], [256.0, -256.0], 0.0, 1.0, format=BINARY16)
    judgement = judged(
        subject,
        output=nan,
        bias_gradient=nan,
        input_gradient=[nan, nan],
        weight_gradient=[nan, nan],
    )
    assert (TEXTBOOK, True, False) == (judgement.grade, judgement.hazard, judgement.unjudged)
    assert not judged(subject).hazard
    # The sum is known to +-192 only, so any tanh and any sech^2 is within the bounds, but no more.
    for value, grade in [(1.0, STABLE), (-1.0, STABLE), (1.25, WRONG), (inf, WRONG)]:
        assert element("output", value, subject).grade is grade
    for value, grade in [(0.0, STABLE), (1.0, CORRECT), (3.0, WRONG), (-1.0, WRONG), (inf, WRONG)]:
        assert element("bias_gradient", value, subject).grade is grade


@pytest.mark.parametrize("format", [BFLOAT16, BINARY32, BINARY64], ids=lambda format: format.name)
def test_the_same_values_are_no_hazard_in_a_wider_range(format: Format) -> None:
    """The same NaN is wrong where 65536 is an ordinary number."""
    subject = neuron([256.0, 256.0], [256.0, -256.0], 0.0, 1.0, format=format)
    assert element("output", nan, subject).grade is WRONG
    assert element("bias_gradient", nan, subject).grade is WRONG


def test_an_overflow_is_excused_only_on_its_own_side() -> None:
    """A sum of -94464 may overflow to inf on the way, where 256 * 256 comes first, so 1 for -1 is a
    hazard; where no positive sum can overflow it is wrong."""
    inputs, weights = [256.0, *[32000.0] * 5], [256.0, *[-1.0] * 5]
    both = neuron(inputs, weights, 0.0, 1.0, format=BINARY16)
    assert both.rounded().output == -1.0
    assert (TEXTBOOK, True) == verdict(element("output", 1.0, both))
    assert (TEXTBOOK, True) == verdict(element("output", nan, both))
    below = neuron([250.0, *inputs[1:]], weights, 0.0, 1.0, format=BINARY16)
    assert (WRONG, False) == verdict(element("output", 1.0, below))
    assert (TEXTBOOK, True) == verdict(element("output", nan, below))
    above = neuron([-each for each in inputs[1:]], weights[1:], 0.0, 1.0, format=BINARY16)
    assert (WRONG, False) == verdict(element("output", -1.0, above))
    assert (CORRECT, False) == verdict(element("output", 1.0, above))


def test_partial_sums_that_overflow_are_a_hazard() -> None:
    """4 * 32000 overflows binary16 before -4 * 32000 brings the sum back to 0; 32000 does not."""
    long = neuron([32000.0] * 4 + [-32000.0] * 4, [1.0] * 8, 0.0, 1.0, format=BINARY16)
    short = neuron([32000.0, -32000.0], [1.0, 1.0], 0.0, 1.0, format=BINARY16)
    for name in NEURON_QUANTITIES:
        assert (TEXTBOOK, True) == verdict(element(name, nan, long))
        assert (WRONG, False) == verdict(element(name, nan, short))


# Infinite upstream gradients.


@each_format
@pytest.mark.parametrize("g", [inf, -inf], ids=str)
def test_an_infinite_gradient_where_sech2_cannot_be_zero(format: Format, g: float) -> None:
    """At a = 0.75 the product is infinite for any sech^2 within its bound: NaN and 0 are wrong."""
    subject = neuron([1.0], [0.75], 0.0, g, format=format)
    assert judged(subject).grade is CORRECT
    for value in (nan, -g, 0.0, 1.0):
        assert element("bias_gradient", value, subject).grade is WRONG
        assert element("input_gradient", value, subject).grade is WRONG


@each_format
@pytest.mark.parametrize("g", [inf, -inf], ids=str)
def test_an_infinite_gradient_where_y_has_rounded_to_one(format: Format, g: float) -> None:
    """inf * (1 - 1) is NaN: textbook, but not stable, and finite results are wrong."""
    a = format.round(dyadic(0.35 * (format.precision + 4)))
    subject = neuron([1.0], [a], 0.0, g, format=format)
    assert element("bias_gradient", g, subject).grade is CORRECT
    for name in ("bias_gradient", "input_gradient", "weight_gradient"):
        found = element(name, nan, subject)
        assert (TEXTBOOK, False) == (found.grade, found.hazard)
        assert element(name, 0.0, subject).grade is WRONG
        assert element(name, 1.0, subject).grade is WRONG
    assert element("bias_gradient", -g, subject).grade is TEXTBOOK


@each_format
def test_an_infinite_gradient_times_zero_is_nan(format: Format) -> None:
    """d = inf and w = 0 make NaN exactly; 0 is wrong."""
    subject = neuron([0.0], [0.0], 0.75, inf, format=format)
    assert element("input_gradient", nan, subject).grade is CORRECT
    assert element("input_gradient", 0.0, subject).grade is WRONG
    assert element("input_gradient", inf, subject).grade is WRONG


# Unjudged.


def test_what_no_bound_covers_is_counted_and_not_passed() -> None:
    """With n u_acc >= 1 only faithful results are judged; the rest is neither passed nor wrong."""
    arithmetic = default_arithmetic(BINARY16, accumulation=TOY)
    subject = neuron([0.25] * 16, [0.125] * 16, 0.0, 1.0, format=BINARY16)
    judgement = judged(subject, arithmetic)
    assert (CORRECT, False) == (judgement.grade, judgement.unjudged)
    judgement = judged(subject, arithmetic, output=0.25, bias_gradient=0.5)
    assert judgement.unjudged
    assert judgement.quantities["output"][0].grade is None
    assert judgement.quantities["bias_gradient"][0].grade is None
    covered = neuron([0.25] * 15, [0.125] * 15, 0.0, 1.0, format=BINARY16)
    assert not judged(covered, arithmetic, bias_gradient=0.25).unjudged


def test_a_bound_over_the_largest_number_is_no_bound() -> None:
    """g = 65504 where the sum is all error: any gradient would pass; none is judged."""
    subject = neuron([256.0, 256.0], [255.0, -255.0], 0.0, 65504.0, format=BINARY16)
    bound = bounds_of(subject).textbook.bias_gradient
    assert fraction(bound) > fraction(BINARY16.largest_finite)
    found = judged(subject, bias_gradient=3.0)
    assert found.quantities["bias_gradient"][0].grade is None
    assert (CORRECT, True) == (found.grade, found.unjudged)
    assert element("bias_gradient", 65504.0, subject).grade is CORRECT


# Flush to zero.


@pytest.mark.parametrize("flush", [True, False], ids=["declared", "not declared"])
def test_flushed_subnormals_pass_only_where_declared(flush: bool) -> None:
    """0 for a subnormal output is within two normals of it, 2^22 ulps without the declaration."""
    arithmetic = default_arithmetic(BINARY32, flush_to_zero=flush)
    subject = neuron([], [], 2.0**-127, 2.0**-127, format=BINARY32)
    output = element("output", 0.0, subject, arithmetic)
    gradient = element("bias_gradient", 0.0, subject, arithmetic)
    assert [STABLE if flush else WRONG] * 2 == [output.grade, gradient.grade]
    assert output.ulps == (-0.5 if flush else -(2.0**22))


# The raw gradient.


@each_format
def test_every_rung_of_the_raw_gradient(format: Format) -> None:
    """Correct, faithful, stable, textbook and wrong at y = 1 - 4u, dy = 3."""
    arithmetic = default_arithmetic(format)
    y, dy = 1 - 4 * 2.0**-format.precision, 3.0
    real = tanh_gradient(y, dy)
    bounds = tanh_gradient_bounds(dyadic(y), exact(dy), arithmetic)
    stable = last_within(real, bounds.stable.bias_gradient, format)
    textbook = last_within(real, bounds.textbook.bias_gradient, format)
    below, above = real.neighbours(format)
    values = [real.rounded(format), stable, format.next_up(textbook)]
    expected = [CORRECT, STABLE if stable > above else FAITHFUL, WRONG]
    if below != above:
        values += [above if real.rounded(format) == below else below]
        expected += [FAITHFUL]
    if textbook > stable:
        values += [textbook]
        expected += [TEXTBOOK]
    judgement = judge_tanh_gradient([y] * len(values), dy, values, arithmetic)
    assert expected == [each.grade for each in judgement.quantities["gradient"]]
    assert judgement.grade is WRONG


@each_format
def test_the_raw_gradient_is_judged_against_the_stored_output(format: Format) -> None:
    """y = 1 makes exactly 0; sech^2 of an input that nobody has would be wrong."""
    arithmetic = default_arithmetic(format)
    judgement = judge_tanh_gradient([1.0, 1.0, 0.0], 1.0, [0.0, 0.25, 1.0], arithmetic)
    assert [CORRECT, WRONG, CORRECT] == [each.grade for each in judgement.quantities["gradient"]]


@pytest.mark.parametrize(
    ("y", "dy", "value", "expected"),
    [
        (nan, 1.0, nan, CORRECT),
        (nan, 1.0, 0.0, WRONG),
        (inf, 1.0, -inf, CORRECT),
        (inf, 1.0, nan, WRONG),
        (inf, 1.0, 0.0, WRONG),
        (0.5, inf, inf, CORRECT),
        (0.5, inf, nan, WRONG),
        (1.0, inf, nan, CORRECT),
        (1.0, inf, inf, WRONG),
        (1 - 2.0**-11, inf, nan, WRONG),
        (512.0, 2.0**-10, -inf, TEXTBOOK),
        (512.0, 0.0, nan, TEXTBOOK),
        (0.5, 1.0, nan, WRONG),
    ],
    ids=str,
)
def test_special_values_of_the_raw_gradient(
    y: float, dy: float, value: float, expected: Grade
) -> None:
    """In binary16, whose squares overflow from 256 on."""
    judgement = judge_tanh_gradient([y], dy, [value], default_arithmetic(BINARY16))
    assert expected is judgement.quantities["gradient"][0].grade


# Shapes of results, and the worst element.


@pytest.mark.parametrize("name", NEURON_QUANTITIES)
def test_a_missing_or_extra_element_is_an_error(name: str) -> None:
    """The message names the quantity and both counts."""
    subject = neuron([1.0, 2.0], [1.0, 2.0], 0.0, 1.0)
    expected = 2 if name in ("input_gradient", "weight_gradient") else 1
    for count in (0, expected + 1):
        with pytest.raises(ValueError, match=f"{name} has {count} elements; expected {expected}"):
            judged(subject, **{name: [0.0] * count})
    with pytest.raises(ValueError, match="gradient has 1 elements; expected 2"):
        judge_tanh_gradient([0.5, 0.5], 1.0, [1.0], default_arithmetic(BINARY32))


def test_the_worst_element_is_by_grade_and_then_by_error() -> None:
    """A wrong NaN is the worst, then larger errors; unjudged elements come before all others."""
    subject = neuron([1.0] * 4, [1.0] * 4, -3.25, 1.0, format=BINARY32)
    right = subject.rounded().input_gradient[0]
    values = [right, BINARY32.next_up(right), 9.0, -7.0]
    elements = judged(subject, input_gradient=values).quantities["input_gradient"]
    assert worst(elements)[0] == 2
    values[1] = nan
    elements = judged(subject, input_gradient=values).quantities["input_gradient"]
    assert worst(elements)[0] == 1
    unjudged = elements[2]._replace(grade=None)
    assert worst([unjudged, elements[0]])[0] == 1
    assert severity(unjudged) < severity(elements[0]) < severity(elements[2])
    with pytest.raises(ValueError):
        worst([])


def test_signed_ulps_and_bound_ratios_are_reported() -> None:
    """Too small is negative; the ratio is the error over the textbook bound."""
    subject = saturating(BINARY64)
    real = subject.bias_gradient
    value = BINARY64.from_ordinal(BINARY64.ordinal(real.rounded(BINARY64)) - 5)
    found = element("bias_gradient", value, subject)
    assert found.ulps is not None and -5.6 < found.ulps < -4.4
    lower, _ = real.enclosure(300)
    error = abs(Fraction(value) - fraction(lower))
    ratio = error / fraction(bounds_of(subject).textbook.bias_gradient)
    assert found.bound_ratio is not None
    assert abs(found.bound_ratio - ratio) < 1e-9
    assert not isinf(found.bound_ratio)


def test_a_finite_gradient_that_may_round_to_infinity_explains_infinite_multiples() -> None:
    """With g the largest finite number a computed sech^2 of 1 + ulp makes d infinite; d * m then is
    too, or NaN for m = 0, and nothing else."""
    largest = BINARY32.round(BINARY32.largest_finite)
    exact = neuron([0.5, 0.0], [0.0, 0.25], 0.0, largest, format=BINARY32)
    arithmetic = default_arithmetic(BINARY32)

    def grades(weight_gradient: list[float], input_gradient: list[float]) -> list[Grade | None]:
        judged = judge_neuron(
            exact,
            {
                "output": [0.0],
                "bias_gradient": [inf],
                "input_gradient": input_gradient,
                "weight_gradient": weight_gradient,
            },
            arithmetic,
        )
        names = ("weight_gradient", "input_gradient")
        return [element.grade for name in names for element in judged.quantities[name]]

    assert grades([inf, nan], [nan, inf]) == [Grade.TEXTBOOK] * 4
    assert grades([-inf, 1.0], [0.5, nan]) == [Grade.WRONG] * 4


def test_an_overflowing_square_excuses_only_the_infinity_of_its_sign() -> None:
    """1 - inf is -inf, so g > 0 gives -inf; the stored output is far outside [-1, 1]."""
    y, g = 2.0**100, 2.0**-126
    arithmetic = default_arithmetic(BINARY32)
    assert judge_tanh_gradient([y], g, [-inf], arithmetic).grade is Grade.TEXTBOOK
    assert judge_tanh_gradient([y], g, [inf], arithmetic).grade is Grade.WRONG
    assert judge_tanh_gradient([y], -g, [-inf], arithmetic).grade is Grade.WRONG


@pytest.mark.parametrize("y", [inf, -inf])
def test_a_flushed_g_makes_nan_of_an_infinite_output(y: float) -> None:
    """A subnormal g that counts as zero: 0 * -inf. Without flush-to-zero declared, or with a normal
    g, nothing explains it."""
    kept = default_arithmetic(BINARY32)
    flushed = default_arithmetic(BINARY32, flush_to_zero=True)
    assert judge_tanh_gradient([y], 2.0**-127, [nan], flushed).grade is Grade.TEXTBOOK
    assert judge_tanh_gradient([y], 2.0**-127, [-inf], flushed).grade is Grade.CORRECT
    assert judge_tanh_gradient([y], 2.0**-127, [nan], kept).grade is Grade.WRONG
    assert judge_tanh_gradient([y], 2.0**-126, [nan], flushed).grade is Grade.WRONG
