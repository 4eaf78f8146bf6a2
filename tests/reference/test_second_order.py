"""The exact Hessian-vector product, against differences of the gradient at 1,000 bits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from math import inf, nan
from typing import Any

import mpmath
import pytest
from mpmath import mpf

from reference.dyadic import ZERO, Dyadic
from reference.formats import BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import neuron
from reference.real import Real
from reference.second_order import Combination, hessian_product
from tests.rationals import dyadic, fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    """Judge at 1,000 bits."""
    with mpmath.workprec(1000):
        yield


def number(value: Dyadic) -> Any:
    """A dyadic as an mpmath number."""
    return mpf((value.mantissa, value.exponent))


def drawn(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Neurons of up to 4 terms with directions; some preactivations and some directions cancel."""
    draw = random.Random(seed)

    def some(n: int) -> list[float]:
        return [draw.choice((1, -1)) * 2.0 ** draw.uniform(-4, 1.5) for _ in range(n)]

    found = []
    for index in range(count):
        n = index % 5
        x, w, p, q = (some(n) for _ in range(4))
        (b,), (r,) = some(1), some(1)
        if index % 3 == 0:
            r = -sum(a * c for a, c in zip([*p, *q], [*w, *x], strict=True))
        if index % 4 == 1:
            b = -sum(a * c for a, c in zip(x, w, strict=True))
        found.append(dict(x=x, w=w, b=b, g=some(1)[0], p=p, q=q, r=r))
    return found


def product_at(point: dict[str, Any], format: Format = BINARY64) -> Any:
    """The exact product at a drawn point."""
    exact = neuron(point["x"], point["w"], point["b"], point["g"], format=format)
    return hessian_product(exact, point["p"], point["q"], point["r"])


def gradient(x: list[Any], w: list[Any], b: Any, g: Any) -> list[Any]:
    """(d w, d x, d) in mpmath."""
    a = sum((s * t for s, t in zip(x, w, strict=True)), mpf(b))
    d = g * mpmath.sech(a) ** 2
    return [*(d * value for value in w), *(d * value for value in x), d]


def difference_quotient(point: dict[str, Any]) -> list[Any]:
    """The derivative of the gradient along the direction: off by about 2^-600."""
    step = mpf(2) ** -300

    def moved(sign: int) -> list[Any]:
        return gradient(
            [mpf(x) + sign * step * p for x, p in zip(point["x"], point["p"], strict=True)],
            [mpf(w) + sign * step * q for w, q in zip(point["w"], point["q"], strict=True)],
            mpf(point["b"]) + sign * step * point["r"],
            mpf(point["g"]),
        )

    return [(up - down) / (2 * step) for up, down in zip(moved(1), moved(-1), strict=True)]


def elements(product: Any) -> list[Real]:
    """All parts of H v in one list."""
    return [*product.inputs, *product.weights, product.bias]


def test_the_product_is_the_derivative_of_the_gradient_along_the_direction() -> None:
    """Every enclosure holds the difference quotient, give or take its own error."""
    for point in drawn(200):
        expected = difference_quotient(point)
        for value, quotient in zip(elements(product_at(point)), expected, strict=True):
            lower, upper = value.enclosure(96)
            slack = mpf(2) ** -550
            assert number(lower) - slack <= quotient <= number(upper) + slack, point


def test_the_hessian_is_symmetric() -> None:
    """u.(H v) and v.(H u) differ by less than their enclosures are wide."""
    points = drawn(60, seed=2)
    for first, other in zip(points, points[5:], strict=False):
        if len(first["x"]) != len(other["x"]):
            continue
        second = {**first, **{name: other[name] for name in "pqr"}}
        products = []
        for one, along in ((first, second), (second, first)):
            numbers = [number(value.enclosure(300).lower) for value in elements(product_at(one))]
            vector = [*along["p"], *along["q"], along["r"]]
            terms = [mpf(s) * t for s, t in zip(vector, numbers, strict=True)]
            products.append(sum(terms))
            size = sum(map(abs, terms))
        assert abs(products[0] - products[1]) <= size * mpf(2) ** -290


@each_format
def test_an_element_is_rounded_once(format: Format) -> None:
    """To nearest: no member of the format is nearer to the 1,000-bit value."""
    for point in drawn(80, seed=3):
        rounded = product_at(point).rounded(format)
        found = [*rounded.inputs, *rounded.weights, rounded.bias]
        for computed, expected in zip(found, difference_quotient(point), strict=True):
            if abs(computed) == inf:
                continue
            error = abs(computed - expected)
            for other in (format.next_up(computed), format.next_down(computed)):
                assert other in (inf, -inf) or error <= abs(other - expected), point


@pytest.mark.parametrize("bits", [60, 200, 700, 3000])
@pytest.mark.parametrize("sign", [1, -1], ids=["from above", "from below"])
def test_a_cancelling_element_is_enclosed_on_its_side_of_zero(bits: int, sign: int) -> None:
    """beta is -alpha tanh(a) but for one unit in the bit `bits`."""
    with mpmath.workprec(bits + 500):
        scaled = mpmath.tanh(mpf(0.75)) * 3 * mpf(2) ** bits
        beta = -int(mpmath.floor(scaled)) + (sign - 1) // 2
        combination = Combination(Dyadic(3, 0), Dyadic(beta, -bits), Dyadic(3, -2))
        expected = mpmath.sech(mpf(0.75)) ** 2 * (3 * mpmath.tanh(mpf(0.75)) + mpf((beta, -bits)))
        lower, upper = combination.enclosure(96)
        assert number(lower) < expected < number(upper)
        assert (lower.mantissa > 0, upper.mantissa < 0) == (sign > 0, sign < 0)
        assert number(upper) - number(lower) <= abs(expected) * mpf(2) ** -96
        assert lower.exponent == upper.exponent


@pytest.mark.parametrize(
    ("alpha", "beta", "a", "expected"),
    [
        (2, -1, 1, 1),
        (1, -1, 1, -1),
        (-1, 1, 1, 1),
        (-2, 1, 1, -1),
        (2, -1, -1, -1),
        (1, 1, -1, 1),
        (-1, -1, -1, -1),
        (1, 0, -1, -1),
        (3, 4, -1, 1),
    ],
    ids=str,
)
def test_far_out_only_the_sign_is_left(alpha: int, beta: int, a: int, expected: int) -> None:
    """At |a| = 10,000 sech^2 is under 2^-23000; 1 - tanh|a| > 0 decides where alpha + beta is 0."""
    combination = Combination(Dyadic(alpha, 0), Dyadic(beta, 0), Dyadic(a * 10_000, 0))
    lower, upper = combination.enclosure(96)
    assert (expected > 0, expected < 0) == (upper.mantissa > 0, lower.mantissa < 0)
    assert max(abs(number(lower)), abs(number(upper))) <= 8 * mpf(2) ** -23000
    with mpmath.workprec(40_000):
        true = alpha * mpmath.tanh(mpf(a * 10_000)) + beta
        assert (expected > 0) == (true > 0)
    assert 0.0 == Real(Dyadic(1, 0), combination).rounded(BINARY64)


def test_at_zero_only_the_gradients_part_is_left() -> None:
    """tanh(0) = 0 and sech^2(0) = 1: H v = (g q, g p, 0), exactly."""
    point = neuron([2.0, -1.0], [1.0, 2.0], 0.0, 3.0)
    found = hessian_product(point, [0.1, 5.0], [0.0, -7.0], 11.0)
    assert [0.0, -21.0] == found.rounded().inputs
    assert [BINARY64.round(dyadic(3 * Fraction(0.1))), 15.0] == found.rounded().weights
    assert 0.0 == found.rounded().bias
    assert all(value.curve is None for value in elements(found))


ZEROS = {
    "g = 0": dict(g=0.0),
    "the direction 0": dict(p=[0.0, -0.0], q=[0.0, 0.0], r=-0.0),
    "adot = 0 and p = q = 0 in the lane": dict(p=[0.0, 1.0], q=[0.0, 0.0], r=-0.5),
}


@pytest.mark.parametrize("change", ZEROS.values(), ids=ZEROS)
def test_exact_zeros_are_zeros(change: dict[str, Any]) -> None:
    """A product with an exactly zero factor is no curve, so the loop does not look for its bits."""
    point = dict(x=[1.0, 0.25], w=[-1.0, 0.5], b=0.5, g=1.5, p=[1.0, 2.0], q=[3.0, 4.0], r=1.0)
    found = product_at({**point, **change})
    first = [found.inputs[0], found.weights[0], found.bias]
    assert [0.0] * 3 == [value.rounded(BINARY32) for value in first]
    assert [0.0] * 3 == [value.special for value in first]


def test_a_weight_of_zero_leaves_the_gradients_part() -> None:
    """c * 0 + d q_i is d q_i."""
    point = neuron([1.0], [0.0], 0.5, 1.5)
    found = hessian_product(point, [1.0], [3.0], 1.0)
    assert point.bias_gradient.times(Dyadic(3, 0)).rounded(BINARY64) == found.rounded().inputs[0]


def test_without_terms_only_the_bias_has_a_part() -> None:
    """n = 0: H v = -2 g y s r."""
    found = hessian_product(neuron([], [], 0.5, 1.5), [], [], -2.0)
    expected = 6 * mpmath.tanh(mpf(0.5)) * mpmath.sech(mpf(0.5)) ** 2
    assert ([], [], float(expected)) == (
        found.rounded().inputs,
        found.rounded().weights,
        found.rounded().bias,
    )


def test_the_tangent_is_the_neuron_whose_preactivation_is_adot() -> None:
    """p.w + q.x + r, exactly."""
    for point in drawn(20, seed=4):
        terms = zip([*point["p"], *point["q"]], [*point["w"], *point["x"]], strict=True)
        expected = sum((Fraction(s) * Fraction(t) for s, t in terms), Fraction(point["r"]))
        adot = product_at(point).tangent.preactivation
        assert expected == (fraction(adot) if isinstance(adot, Dyadic) else 0)


def test_the_largest_and_the_smallest_numbers_are_no_trouble() -> None:
    """Products of four extremes stay exact rationals; they overflow when they are rounded."""
    top, tiny = 1.7976931348623157e308, 5e-324
    found = hessian_product(neuron([top], [tiny], 0.5, top), [top], [top], top)
    assert [-inf] == found.rounded().weights  # -2 g y s adot x, with adot = top * (tiny + top + 1)
    found = hessian_product(neuron([tiny], [tiny], 0.5, tiny), [tiny], [tiny], tiny)
    assert ([0.0], [0.0], -0.0) == (
        found.rounded().inputs,
        found.rounded().weights,
        found.rounded().bias,
    )


@pytest.mark.parametrize("lengths", [(1, 2), (2, 1), (3, 3)], ids=str)
def test_a_direction_of_another_length_is_refused(lengths: tuple[int, int]) -> None:
    """The message says how long it must be."""
    p, q = ([1.0] * length for length in lengths)
    with pytest.raises(ValueError, match=r"expected 2 of each, as many as the neuron"):
        hessian_product(neuron([1.0, 1.0], [1.0, 1.0], 0.0, 1.0), p, q, 0.0)


@pytest.mark.parametrize("value", [inf, -inf, nan], ids=str)
@pytest.mark.parametrize("name", ["x", "w", "b", "g", "p", "q", "r"])
def test_what_is_not_finite_is_refused(name: str, value: float) -> None:
    """By name of the neuron or of the direction."""
    point: dict[str, Any] = dict(x=[1.0], w=[1.0], b=0.0, g=1.0, p=[1.0], q=[1.0], r=0.0)
    point[name] = [value] if isinstance(point[name], list) else value
    owner = "neuron" if name in "xwbg" else "direction"
    with pytest.raises(ValueError, match=f"the {owner} holds {value}; expected finite numbers"):
        product_at(point)


def test_the_default_format_is_the_neurons() -> None:
    """`rounded()` rounds to the format the neuron was given."""
    point = drawn(8, seed=5)[7]
    assert product_at(point, BINARY16).rounded() == product_at(point).rounded(BINARY16)


def test_an_enclosure_is_worked_out_once() -> None:
    """The same object comes back."""
    combination = Combination(Dyadic(1, 0), ZERO, Dyadic(1, 0))
    assert combination.enclosure(96) is combination.enclosure(96)
