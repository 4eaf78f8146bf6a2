"""Every regime of a neuron reaches where it says, by exact arithmetic on the drawn cases."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest

from harness.case import DTYPES, Case, Layout, format_of
from harness.strategies import Regime, cases, regimes_for
from harness.strategies.neurons import neuron_case
from reference.dyadic import Dyadic, from_float
from reference.formats import Format
from tests.drawn import absolute_sum, drawn, neuron_cases, preactivation, products
from tests.rationals import fraction

#: Where tanh rounds to 1, as published for each format.
ONE_FROM = {
    "bfloat16": 3.46875,
    "float16": 4.5078125,
    "float32": 9.010913848876953,
    "float64": 19.061547465398498,
}
by_dtype = pytest.mark.parametrize("dtype", DTYPES)
by_regime = pytest.mark.parametrize("regime", regimes_for("neuron"))
FINITE_REGIMES = [regime for regime in regimes_for("neuron") if regime is not Regime.SPECIAL]


@pytest.fixture(autouse=True)
def _precision() -> None:
    mpmath.mp.prec = 300


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def sech2(value: Fraction) -> mpmath.mpf:
    return mpmath.sech(mpmath.mpf(value.numerator) / value.denominator) ** 2


def bounds(case: Case) -> tuple[Format, Fraction, Fraction]:
    """The format, its smallest normal and its largest finite number."""
    format = case.format
    return format, power(format.emin), fraction(format.largest_finite)


def is_empty(case: Case) -> bool:
    return not case.inputs and not case.weights and case.bias != 0


def is_zeros(case: Case) -> bool:
    return not any(products(case)) and case.bias == 0


def is_tiny(case: Case) -> bool:
    _, smallest_normal, _ = bounds(case)
    operands = [Fraction(value) for value in (*case.inputs, *case.weights)]
    return any(0 < abs(value) < smallest_normal for value in operands + products(case))


def is_linear(case: Case) -> bool:
    return 0 < preactivation(case) ** 2 < power(-case.format.precision)


def is_curved(case: Case) -> bool:
    a = preactivation(case)
    p = case.format.precision
    return a * a >= power(-p) and sech2(a) ** 2 > mpmath.mpf(2) ** -p


def is_saturating(case: Case) -> bool:
    a = preactivation(case)
    half_lost = sech2(a) ** 2 <= mpmath.mpf(2) ** -case.format.precision
    return bool(half_lost) and abs(a) < ONE_FROM[case.dtype]


def is_tail(case: Case) -> bool:
    a = preactivation(case)
    return abs(a) >= ONE_FROM[case.dtype] and sech2(a) >= mpmath.mpf(2) ** case.format.emin


def is_vanished(case: Case) -> bool:
    _, _, largest = bounds(case)
    small = sech2(preactivation(case)) < mpmath.mpf(2) ** case.format.emin
    return bool(small) and absolute_sum(case) < largest


def is_cancelling(case: Case) -> bool:
    limit = power(4 - case.format.precision) * absolute_sum(case)
    return abs(preactivation(case)) <= limit and any(products(case))


def is_overflowing(case: Case) -> bool:
    finite = all(map(math.isfinite, (*case.inputs, *case.weights, case.bias)))
    return finite and absolute_sum(case) >= fraction(case.format.overflow_threshold)


def is_special(case: Case) -> bool:
    values = (*case.inputs, *case.weights, case.bias, case.upstream_gradient)
    return not all(map(math.isfinite, values))


def is_long(case: Case) -> bool:
    finite = all(map(math.isfinite, (*case.inputs, *case.weights, case.bias)))
    return finite and 33 <= len(case.inputs) <= 1024


def is_very_long(case: Case) -> bool:
    finite = all(map(math.isfinite, (*case.inputs, *case.weights, case.bias)))
    return finite and 1025 <= len(case.inputs) <= 4096


def is_threshold(case: Case) -> bool:
    """Within 8 ulps; ln(max) is about emax ln 2 + ln 2."""
    a = abs(preactivation(case))
    overflow = mpmath.log(mpmath.mpf(2)) * (case.format.emax + 1)
    overflow += mpmath.log1p(-(mpmath.mpf(2) ** -case.format.precision))
    edges = (mpmath.mpf(ONE_FROM[case.dtype]), overflow, overflow / 2)
    ulp = fraction(case.format.ulp(Dyadic(a.numerator, 1 - a.denominator.bit_length())))
    value = mpmath.mpf(a.numerator) / a.denominator
    return any(
        abs(value - edge) <= 8 * mpmath.mpf(ulp.numerator) / ulp.denominator for edge in edges
    )


CLASSIFY = {
    Regime.EMPTY: is_empty,
    Regime.ZEROS: is_zeros,
    Regime.TINY: is_tiny,
    Regime.LINEAR: is_linear,
    Regime.CURVED: is_curved,
    Regime.SATURATING: is_saturating,
    Regime.TAIL: is_tail,
    Regime.VANISHED: is_vanished,
    Regime.CANCELLING: is_cancelling,
    Regime.OVERFLOWING: is_overflowing,
    Regime.SPECIAL: is_special,
    Regime.LONG: is_long,
    Regime.VERY_LONG: is_very_long,
    Regime.THRESHOLD: is_threshold,
}


@by_dtype
@by_regime
def test_every_case_lies_in_its_regime(dtype: str, regime: Regime) -> None:
    """No exceptions: a regime is reached by construction."""
    strays = [case.to_json() for case in neuron_cases(dtype, regime) if not CLASSIFY[regime](case)]
    assert [] == strays


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@by_regime
def test_what_hypothesis_draws_lies_in_its_regime(dtype: str, regime: Regime) -> None:
    """Its integers are less even than ours: many zeros, repeats and extremes."""
    strays = [case for case in drawn(cases(dtype, regime), 40) if not CLASSIFY[regime](case)]
    assert [] == [case.to_json() for case in strays]


@pytest.mark.slow
@by_dtype
@by_regime
def test_thousands_of_cases_lie_in_their_regime(dtype: str, regime: Regime) -> None:
    """The same, looked at for longer, and drawn by hypothesis too."""
    strategy_drawn = drawn(cases(dtype, regime), 1000)
    looked_at = neuron_cases(dtype, regime, 5000) + strategy_drawn
    assert [] == [case.to_json() for case in looked_at if not CLASSIFY[regime](case)]


@pytest.mark.parametrize(
    ("case", "regimes"),
    [
        (Case("float32", (), (), 1.0, 1.0), {"empty", "curved"}),
        (Case("float32", (2.0,), (-0.0,), -0.0, 1.0), {"zeros"}),
        (Case("float32", (2.0**-140,), (1.0,), 0.0, 1.0), {"tiny", "linear"}),
        (Case("float32", (2.0**-13,), (1.0,), 0.0, 1.0), {"linear"}),
        (Case("float32", (5.0,), (1.0,), 0.0, 1.0), {"saturating"}),
        (Case("float32", (9.0,), (1.0,), 0.0, 1.0), {"saturating"}),
        (Case("float32", (9.25,), (1.0,), 0.0, 1.0), {"tail"}),
        (Case("float32", (44.5,), (-1.0,), 0.0, 1.0), {"vanished"}),
        (Case("float32", (3.0,), (1.0,), -3.0, 1.0), {"cancelling"}),
        (Case("float32", (2.0**127,), (-2.0,), 0.0, 1.0), {"overflowing"}),
        (Case("float16", (), (), 5.54296875, 1.0), {"empty", "tail", "threshold"}),
    ],
    ids=lambda argument: "+".join(sorted(argument)) if isinstance(argument, set) else "",
)
def test_the_classification_tells_regimes_apart(case: Case, regimes: set[str]) -> None:
    """Each property is false of cases that lie elsewhere."""
    chosen = {str(regime) for regime, holds in CLASSIFY.items() if holds(case)}
    if Regime.ZEROS not in regimes:
        assert regimes == chosen
    else:
        assert "zeros" in chosen


@by_dtype
@by_regime
def test_every_value_is_a_member_of_the_format(dtype: str, regime: Regime) -> None:
    """bfloat16 cases hold bfloat16 numbers, and so on."""
    format = format_of(dtype)
    for case in neuron_cases(dtype, regime):
        if regime not in (Regime.LONG, Regime.VERY_LONG):
            values = (*case.inputs, *case.weights)
        else:
            values = (*case.inputs[:20], *case.weights[:20])
        assert all(map(format.contains, (*values, case.bias, case.upstream_gradient)))
        assert len(case.inputs) == len(case.weights)
        assert dtype == case.dtype


@by_dtype
@by_regime
def test_expanded_vectors_repeat_one_element(dtype: str, regime: Regime) -> None:
    """Else they could not be laid out; and each regime draws some."""
    expanded = [case for case in neuron_cases(dtype, regime) if case.layout is Layout.EXPANDED]
    assert expanded
    for case in expanded:
        assert 1 >= len({value.hex() for value in case.inputs})
        assert 1 >= len({value.hex() for value in case.weights})


@by_regime
def test_every_layout_is_drawn(regime: Regime) -> None:
    """In every regime."""
    layouts = {case.layout for dtype in DTYPES for case in neuron_cases(dtype, regime)}
    assert set(Layout) == layouts


@by_dtype
def test_short_and_middling_lengths_are_drawn(dtype: str) -> None:
    """0, 1, 2, 3, 8 and up to 40, most of them short."""
    lengths = Counter(
        len(case.inputs)
        for regime in FINITE_REGIMES
        if regime not in (Regime.LONG, Regime.VERY_LONG, Regime.EMPTY)
        for case in neuron_cases(dtype, regime)
    )
    assert {0, 1, 2, 3, 8, 40} <= set(lengths)
    assert 40 == max(lengths)
    assert lengths.total() / 2 < sum(lengths[n] for n in (0, 1, 2, 3))


@by_dtype
def test_long_vectors_are_long_and_often_of_one_sign(dtype: str) -> None:
    """Hundreds of terms are common; signs agree in a good part of them."""
    examples = neuron_cases(dtype, Regime.LONG)
    lengths = [len(case.inputs) for case in examples]
    assert len(examples) / 4 < sum(length > 100 for length in lengths)
    assert 500 < max(lengths)
    one_sign = [case for case in examples if min(case.inputs) > 0 < min(case.weights)]
    mixed = [case for case in examples if min(case.inputs) < 0 < max(case.inputs)]
    assert len(examples) / 5 < len(one_sign)
    assert len(examples) / 5 < len(mixed)
    assert any(len(set(case.inputs)) > 100 for case in examples)


@by_dtype
def test_long_sums_do_not_all_saturate(dtype: str) -> None:
    """Else only the sum, not tanh, would be looked at; and some do saturate."""
    sizes = [abs(preactivation(case)) for case in neuron_cases(dtype, Regime.LONG)]
    assert 10 < sum(Fraction(1, 100) < size < 3 for size in sizes)
    assert any(size > 20 for size in sizes)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_simplest_long_sum_needs_a_wide_accumulator(dtype: str) -> None:
    """Added up in the format itself it is far off: by more than a thirty-second."""
    case = neuron_case(lambda _: 0, dtype, Regime.VERY_LONG)
    total = 0.0
    for x, w in zip(case.inputs, case.weights, strict=True):
        total = case.format.round(from_float(total + case.format.round(from_float(x * w))))
    exact = preactivation(case)
    # Not in the assertion: a case of a thousand terms has a long repr.
    far_off = abs(total - exact) > exact / 32
    assert far_off


@by_dtype
@pytest.mark.parametrize(
    "regime", [Regime.LINEAR, Regime.CURVED, Regime.SATURATING, Regime.TAIL, Regime.VANISHED]
)
def test_preactivations_of_both_signs_are_drawn(dtype: str, regime: Regime) -> None:
    """In about equal parts."""
    positive = sum(preactivation(case) > 0 for case in neuron_cases(dtype, regime))
    assert 100 < positive < 200


@by_dtype
def test_zeros_of_both_signs_are_drawn(dtype: str) -> None:
    """As inputs, weights and biases, with all-zero products on top of non-zero factors."""
    examples = neuron_cases(dtype, Regime.ZEROS)
    for values in ([case.bias for case in examples], [x for case in examples for x in case.inputs]):
        assert {1.0, -1.0} == {math.copysign(1, value) for value in values}
    assert any(any(case.weights) for case in examples)
    assert any(any(case.inputs) for case in examples)


@by_dtype
def test_thresholds_are_approached_from_both_sides(dtype: str) -> None:
    """Each edge, positive and negative, below and above."""
    overflow = (mpmath.mpf(2) - mpmath.mpf(2) ** (1 - format_of(dtype).precision)) * mpmath.mpf(
        2
    ) ** format_of(dtype).emax
    edges = (mpmath.mpf(ONE_FROM[dtype]), mpmath.log(overflow), mpmath.log(overflow) / 2)
    seen = set()
    for case in neuron_cases(dtype, Regime.THRESHOLD):
        a = preactivation(case)
        value = abs(mpmath.mpf(a.numerator) / a.denominator)
        edge = min(edges, key=lambda edge: abs(edge - value))
        seen.add((edges.index(edge), a > 0, value >= edge))
    assert 12 == len(seen)


@by_dtype
def test_cancellation_is_exact_often_and_inexact_often(dtype: str) -> None:
    """a = 0, and a the few ulps that the terms' rounding leaves."""
    sums = [preactivation(case) for case in neuron_cases(dtype, Regime.CANCELLING)]
    assert len(sums) / 10 < sum(a == 0 for a in sums) < len(sums) * 9 / 10


@by_dtype
def test_cancellation_happens_at_every_scale(dtype: str) -> None:
    """What is left is sometimes in the linear range, sometimes of the order of 1."""
    sums = [abs(preactivation(case)) for case in neuron_cases(dtype, Regime.CANCELLING)]
    assert any(0 < a < power(-format_of(dtype).precision // 2) for a in sums)
    assert any(Fraction(1, 10) < a < 3 for a in sums)


@by_dtype
def test_overflow_spares_and_takes_the_exact_sum(dtype: str) -> None:
    """Products and sums overflow, and some cancel to a finite preactivation."""
    examples = neuron_cases(dtype, Regime.OVERFLOWING)
    threshold = fraction(format_of(dtype).overflow_threshold)
    assert any(max(map(abs, products(case))) >= threshold for case in examples)
    assert any(max(map(abs, products(case))) < threshold for case in examples)
    assert any(abs(preactivation(case)) < 10 for case in examples)
    assert any(abs(preactivation(case)) >= threshold for case in examples)


@by_dtype
def test_tiny_operands_and_products_are_drawn(dtype: str) -> None:
    """Subnormal inputs, subnormal weights, normal factors of a product too small for the format."""
    examples = neuron_cases(dtype, Regime.TINY)
    normal = 2.0 ** format_of(dtype).emin
    half_smallest = fraction(format_of(dtype).smallest_subnormal) / 2
    assert any(0 < abs(x) < normal for case in examples for x in case.inputs)
    assert any(0 < abs(w) < normal for case in examples for w in case.weights)
    assert any(0 < abs(xw) < half_smallest for case in examples for xw in products(case))
    assert any(min(map(abs, case.inputs + case.weights)) >= normal for case in examples)
    assert any(0 < abs(case.bias) < normal for case in examples)


@by_dtype
def test_special_values_appear_in_every_place(dtype: str) -> None:
    """Infinities and NaN as inputs, weights, bias and upstream gradient; inf * 0 and inf - inf."""
    examples = neuron_cases(dtype, Regime.SPECIAL)
    for values in (
        [x for case in examples for x in case.inputs],
        [w for case in examples for w in case.weights],
        [case.bias for case in examples],
        [case.upstream_gradient for case in examples],
    ):
        assert {"nan", "inf", "-inf"} <= {value.hex() for value in values}
    pairs = [pair for case in examples for pair in zip(case.inputs, case.weights, strict=True)]
    assert any(math.isinf(x) and w == 0 for x, w in pairs)
    assert any(x == 0 and math.isinf(w) for x, w in pairs)
    infinite = [
        (x * w, case.bias)
        for case in examples
        for x, w in zip(case.inputs, case.weights, strict=True)
        if math.isinf(x * w) and math.isinf(case.bias)
    ]
    assert any(product == -bias for product, bias in infinite)
    assert any(product == bias for product, bias in infinite)


@by_dtype
def test_significands_are_short_in_some_cases_and_full_in_others(dtype: str) -> None:
    """The last bit of the format is in use, and so is the number 1."""
    format = format_of(dtype)
    examples = [case for case in neuron_cases(dtype, Regime.CURVED) if case.inputs]
    full = sum(any(format.ordinal(x) & 1 for x in case.inputs) for case in examples)
    short = sum(all(format.ordinal(x) % 8 == 0 for x in case.inputs) for case in examples)
    assert len(examples) / 4 < full
    assert 3 < short


GRADIENTS = {
    "0": lambda g, format: g == 0 and math.copysign(1, g) > 0,
    "-0": lambda g, format: g == 0 and math.copysign(1, g) < 0,
    "1": lambda g, format: g == 1,
    "-1": lambda g, format: g == -1,
    "another power of two": lambda g, format: (
        math.isfinite(g) and abs(math.frexp(g)[0]) == 0.5 and abs(g) not in (0.5, 1, 2)
    ),
    "ordinary": lambda g, format: 1 / 32 <= abs(g) <= 32 and abs(math.frexp(g)[0]) != 0.5,
    "subnormal": lambda g, format: 0 < abs(g) < 2.0**format.emin,
    "huge": lambda g, format: math.isfinite(g) and abs(g) >= 2.0 ** (format.emax - 3),
    "infinite": lambda g, format: math.isinf(g),
    "NaN": lambda g, format: math.isnan(g),
}


@by_dtype
@pytest.mark.parametrize("sort", GRADIENTS)
def test_every_sort_of_upstream_gradient_is_drawn(dtype: str, sort: str) -> None:
    """Over all regimes together, the finite sorts also without the regime of special values."""
    regimes = FINITE_REGIMES if sort not in ("infinite", "NaN") else regimes_for("neuron")
    gradients = [case.upstream_gradient for r in regimes for case in neuron_cases(dtype, r)]
    matching = sum(GRADIENTS[sort](g, format_of(dtype)) for g in gradients)
    assert 3 <= matching <= len(gradients) * 2 / 3


@by_dtype
def test_non_finite_gradients_are_rare_outside_special(dtype: str) -> None:
    """They hide everything else, so they take a few cases in a hundred."""
    gradients = [case.upstream_gradient for r in FINITE_REGIMES for case in neuron_cases(dtype, r)]
    assert 0 < sum(not math.isfinite(g) for g in gradients) < len(gradients) / 15
