"""The exact neuron: what it is made of, what special inputs do, and what it rounds to."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, inf, isnan, nan

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from reference.dyadic import Dyadic
from reference.exact import exact
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import RoundedNeuron, neuron, sech2, tanh, tanh_gradient
from tests.rationals import fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
floats = st.floats(-1e3, 1e3)
TANH_1 = float.fromhex("0x1.85efab514f394p-1")


def text(value: float) -> str:
    """A float as text that tells the zeros apart and makes NaN equal to NaN."""
    return "nan" if isnan(value) else value.hex()


def results(rounded: RoundedNeuron) -> list[str]:
    """The four results in order, as text."""
    gradients = [*rounded.input_gradient, *rounded.weight_gradient, rounded.bias_gradient]
    return [text(value) for value in (rounded.output, *gradients)]


@given(st.lists(st.tuples(floats, floats), max_size=5), floats, floats)
def test_every_result_against_mpmath(
    pairs: list[tuple[float, float]], bias: float, upstream_gradient: float
) -> None:
    """tanh(a), g sech^2(a), d w_i and d x_i at 9000 bits, to within an ulp of binary64 rounding."""
    inputs, weights = [x for x, _ in pairs], [w for _, w in pairs]
    value = neuron(inputs, weights, bias, upstream_gradient)
    with mpmath.workprec(9000):
        a = mpmath.fdot([*pairs, (bias, 1)])
        d = mpmath.mpf(upstream_gradient) * mpmath.sech(a) ** 2
        expected = [mpmath.tanh(a), d]
        expected += [d * w for w in weights] + [d * x for x in inputs]
    actual = [value.output, value.bias_gradient, *value.input_gradient, *value.weight_gradient]
    for wanted, real in zip(expected, actual, strict=True):
        lower, upper = real.enclosure(120)
        with mpmath.workprec(9000):
            ends = [mpmath.mpf((end.mantissa, end.exponent)) for end in (lower, upper)]
            assert ends[0] <= wanted <= ends[1]
            assert ends[1] - ends[0] <= abs(wanted) * mpmath.mpf(2) ** -119 or abs(a) > 8000


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # output, input gradient, weight gradient, bias gradient
        (([], [], 0.0, 3.0), [0.0, 3.0]),
        (([], [], -0.0, -0.0), [-0.0, -0.0]),
        (([], [], inf, 2.0), [1.0, 0.0]),
        (([], [], -inf, -2.0), [-1.0, -0.0]),
        (([], [], inf, inf), [1.0, nan]),
        (([], [], nan, 1.0), [nan, nan]),
        (([], [], 1.0, nan), [TANH_1, nan]),
        (([], [], 0.0, inf), [0.0, inf]),
        (([], [], 1.0, -inf), [TANH_1, -inf]),
        (([], [], 1.0, 0.0), [TANH_1, 0.0]),
        (([], [], 1e300, 1e300), [1.0, 0.0]),
        (([], [], -1e300, -1e300), [-1.0, -0.0]),
        (([inf], [2.0], 0.0, 1.0), [1.0, 0.0, nan, 0.0]),
        (([inf], [-2.0], 0.0, 1.0), [-1.0, -0.0, nan, 0.0]),
        (([inf], [0.0], 0.0, 1.0), [nan, nan, nan, nan]),
        (([0.0], [-inf], 0.0, 1.0), [nan, nan, nan, nan]),
        (([inf, inf], [1.0, -1.0], 0.0, 1.0), [nan, nan, nan, nan, nan, nan]),
        (([nan, 1.0], [1.0, 1.0], 0.0, 0.0), [nan, nan, nan, nan, nan, nan]),
        (([0.0], [-5.0], 0.0, 2.0), [0.0, -10.0, 0.0, 2.0]),
        (([0.0], [-5.0], -0.0, 2.0), [-0.0, -10.0, 0.0, 2.0]),
        (([-0.0], [5.0], 0.0, inf), [0.0, inf, nan, inf]),
        (([1.0], [-1.0], 1.0, -2.0), [0.0, 2.0, -2.0, -2.0]),
        (([1e200], [1e200], -inf, 1.0), [-1.0, 0.0, 0.0, 0.0]),
        (([1e200, 1e200], [1e200, -1e200], 0.0, 1.0), [0.0, 1e200, -1e200, 1e200, 1e200, 1.0]),
    ],
    ids=str,
)
def test_special_inputs_follow_ieee_754(
    arguments: tuple[list[float], list[float], float, float], expected: list[float]
) -> None:
    """NaN poisons, inf * 0 and inf - inf are NaN, tanh(+-inf) = +-1, sech^2(+-inf) = 0."""
    assert [text(value) for value in expected] == results(neuron(*arguments).rounded())


def test_nothing_is_rounded_on_the_way() -> None:
    """A product under 2^-1074, a sum over the largest number and a cancellation all survive."""
    tiny = neuron([5e-324], [5e-324], 0.0, 2.0**1000)
    assert Fraction(2) ** -2148 == fraction(exactly(tiny.preactivation))
    large = neuron([1e308, -1e308, 2.0**-40], [1e308, 1e308, 1.0], 0.0, 1.0)
    assert Fraction(2) ** -40 == fraction(exactly(large.preactivation))
    assert 2 * Fraction(1e308) ** 2 + Fraction(2) ** -40 == fraction(large.absolute_sum)


def exactly(value: object) -> Dyadic:
    """A value known to be finite and not zero."""
    assert isinstance(value, Dyadic)
    return value


def test_a_gradient_product_is_rounded_once() -> None:
    """d = 3/2 of the smallest subnormal, w = 2^60: d alone would round to 2 subnormals first."""
    value = neuron([0.0], [2.0**60], 0.0, 1.5 * 2.0**-149, format=BINARY32).rounded()
    assert [1.5 * 2.0**-89, 2.0**-148] == [value.input_gradient[0], value.bias_gradient]


@each_format
def test_rounded_defaults_to_the_neurons_format(format: Format) -> None:
    """The format given to the neuron is used unless `rounded` is given another."""
    value = neuron([1.0], [1.0], 0.0, 1.0, format=format)
    assert value.rounded(format) == value.rounded()
    assert format.contains(value.rounded().output)
    assert value.rounded(BINARY64) == neuron([1.0], [1.0], 0.0, 1.0).rounded()
    assert value.rounded(BINARY16) != value.rounded(BINARY32)


def test_arguments_are_not_rounded_to_the_format() -> None:
    """0.1 stays the binary64 number it is, in a bfloat16 neuron too."""
    value = neuron([], [], 0.1, 1.0, format=BFLOAT16)
    assert Fraction(0.1) == fraction(exactly(value.preactivation))


def test_results_have_the_shape_of_the_arguments() -> None:
    """n gradients each way, none for empty vectors."""
    three = neuron([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 0.0, 1.0)
    assert (3, 3) == (len(three.input_gradient), len(three.weight_gradient))
    empty = neuron((), (), 1.0, 1.0).rounded()
    assert ([], []) == (empty.input_gradient, empty.weight_gradient)


def test_input_gradient_goes_with_weights_and_weight_gradient_with_inputs() -> None:
    """dL/dx_i = d w_i and dL/dw_i = d x_i, not the other way round."""
    value = neuron([2.0, 0.0], [-3.0, 1.0], 6.0, 1.0).rounded()
    assert ([-3.0, 1.0], [2.0, 0.0]) == (value.input_gradient, value.weight_gradient)


@pytest.mark.parametrize(("inputs", "weights"), [([1.0], []), ([], [1.0]), ([1.0] * 3, [1.0] * 2)])
def test_unequal_lengths_are_an_error(inputs: list[float], weights: list[float]) -> None:
    """The message gives both lengths and the remedy."""
    message = (
        f"inputs has {len(inputs)} elements and weights has {len(weights)}; "
        "give one weight for each input"
    )
    with pytest.raises(ValueError, match=message):
        neuron(inputs, weights, 0.0, 1.0)


@given(
    st.lists(st.tuples(floats, floats), min_size=1, max_size=4),
    floats,
    floats,
    st.sampled_from(FORMATS),
)
def test_symmetries_hold_bit_for_bit(
    pairs: list[tuple[float, float]], bias: float, upstream_gradient: float, format: Format
) -> None:
    """Swapping x and w swaps the gradients; (-w, -b) negates y and keeps d; order is free."""
    inputs, weights = [x for x, _ in pairs], [w for _, w in pairs]
    plain = neuron(inputs, weights, bias, upstream_gradient).rounded(format)
    swapped = neuron(weights, inputs, bias, upstream_gradient).rounded(format)
    assert (plain.output, plain.input_gradient) == (swapped.output, swapped.weight_gradient)
    mirrored = neuron(inputs, [-w for w in weights], -bias, upstream_gradient).rounded(format)
    assert (-plain.output, plain.bias_gradient) == (mirrored.output, mirrored.bias_gradient)
    backwards = neuron(inputs[::-1], weights[::-1], bias, upstream_gradient).rounded(format)
    assert plain.weight_gradient == backwards.weight_gradient[::-1]


def test_curves_at_special_arguments() -> None:
    """tanh and sech^2 of zeros, infinities and NaN are special values or exact."""
    assert ["-0x0.0p+0", "0x0.0p+0", "nan"] == [
        text(tanh(value).rounded(BINARY16)) for value in (-0.0, 0.0, nan)
    ]
    assert [1.0, -1.0] == [tanh(value).rounded(BINARY16) for value in (inf, -inf)]
    assert [1.0, 1.0, 0.0, 0.0] == [
        sech2(value).rounded(BINARY16) for value in (0.0, -0.0, inf, -inf)
    ]
    assert isnan(sech2(nan).rounded(BINARY16))
    assert copysign(1, sech2(-inf).rounded(BINARY16)) == 1


# The raw gradient of a stored output.


@given(st.floats(-1, 1) | st.floats(allow_nan=False, allow_infinity=False), floats)
def test_tanh_gradient_is_the_rational(output: float, upstream_gradient: float) -> None:
    """dy (1 - y^2) of the stored y, exactly, also for |y| > 1."""
    real = tanh_gradient(output, upstream_gradient)
    lower, upper = real.enclosure(96)
    expected = Fraction(upstream_gradient) * (1 - Fraction(output) ** 2)
    assert expected == fraction(lower) == fraction(upper)


@pytest.mark.parametrize(
    ("output", "upstream_gradient", "expected"),
    [
        (1.0, 5.0, 0.0),
        (-1.0, -5.0, -0.0),
        (0.0, -0.0, -0.0),
        (1.0, inf, nan),
        (0.5, -inf, -inf),
        (2.0, inf, -inf),
        (2.0, 1.0, -3.0),
        (inf, 1.0, -inf),
        (-inf, -1.0, inf),
        (inf, 0.0, nan),
        (nan, 0.0, nan),
        (0.5, nan, nan),
    ],
    ids=str,
)
def test_special_tanh_gradients(output: float, upstream_gradient: float, expected: float) -> None:
    """Infinities and NaN follow IEEE 754 on the exact 1 - y^2, and zeros keep their sign."""
    assert text(expected) == text(tanh_gradient(output, upstream_gradient).rounded(BINARY64))


def test_the_stored_output_has_its_own_gradient() -> None:
    """For y = tanh(9.1) rounded to binary32 the two oracles differ: 1 - y^2 is 0, sech^2 is not."""
    y = tanh(exact(9.1)).rounded(BINARY32)
    assert tanh_gradient(y, 1.0).rounded(BINARY32) == 0.0
    assert 4.9e-8 < sech2(exact(9.1)).rounded(BINARY32) < 5.1e-8


def test_the_package_shows_its_interface() -> None:
    """`reference` exports the formats and the neuron by the names its users know."""
    rounded = reference.neuron([0.5], [1.0], 0.0, -1.0, format=reference.BINARY32).rounded()
    assert (
        RoundedNeuron(
            output=float.fromhex("0x1.d9353ep-2"),
            input_gradient=[float.fromhex("-0x1.92a946p-1")],
            weight_gradient=[float.fromhex("-0x1.92a946p-2")],
            bias_gradient=float.fromhex("-0x1.92a946p-1"),
        )
        == rounded
    )
    assert {"BINARY16", "BFLOAT16", "BINARY32", "BINARY64", "neuron"} <= set(reference.__all__)
