"""Attempts to break the bounds: by their formulas, by an adversary, and by real arithmetic.

Three judges. The formulas, written once more in mpmath at 600 bits, say how far the outward
rounding goes. An adversary that perturbs every operation by up to one unit roundoff must stay
within the bounds, and must come near them, or they would excuse too much. And evaluations in real
floating-point arithmetic, rounding by rounding, must stay within them too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from reference.bounds import (
    Arithmetic,
    NeuronBounds,
    default_arithmetic,
    neuron_bounds,
    overflow_possible,
    tanh_gradient_bounds,
)
from reference.dyadic import Dyadic, compare
from reference.exact import exact
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import ExactNeuron, neuron, tanh, tanh_gradient
from tests.rationals import dyadic, fraction

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
OUTWARD = mpf(2) ** -40
#: An accumulator of 4 bits: gamma_n is undefined from n = 16 on.
TOY = Format("toy", precision=4, emax=15, width=8)


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    """Judge at 600 bits."""
    with mpmath.workprec(600):
        yield


def number(value: Dyadic | float) -> Any:
    """A dyadic or a float as an mpmath number."""
    return mpf((value.mantissa, value.exponent)) if isinstance(value, Dyadic) else mpf(value)


@dataclass(frozen=True)
class Point:
    """Inputs of a neuron, all finite."""

    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    upstream_gradient: float

    def exact(self, format: Format) -> ExactNeuron:
        """The exact neuron here."""
        return neuron(self.inputs, self.weights, self.bias, self.upstream_gradient, format=format)

    def bounds(self, arithmetic: Arithmetic) -> NeuronBounds:
        """The bounds here, which exist."""
        bounds = neuron_bounds(self.exact(arithmetic.format), arithmetic)
        assert bounds is not None
        return bounds


def points(format: Format, seed: int, count: int) -> list[Point]:
    """Members of `format`: n to 6, |a| from tiny to saturated, sums that cancel, any g."""
    draw = random.Random(f"{format.name} {seed}")

    def member(low: float, high: float) -> float:
        value = draw.choice((1, -1)) * 2.0 ** draw.uniform(low, high)
        return format.round(dyadic(value))

    found = []
    for index in range(count):
        n = index % 7
        size = (-20, -6, 0, 1)[index % 4]
        inputs = tuple(member(size - 3, size) for _ in range(n))
        weights = tuple(member(-2, 1) for _ in range(n))
        bias = member(size - 2, size + 1)
        if index % 5 == 0 and n:
            whole = fraction(
                dyadic(sum(Fraction(x) * Fraction(w) for x, w in zip(inputs, weights, strict=True)))
            )
            bias = -format.round(dyadic(whole))
        gradient = (1.0, member(-5, 5), member(format.emin - 3, format.emin + 3), member(8, 14))
        found.append(Point(inputs, weights, bias, gradient[index % 3 if index % 11 else 3]))
    return found


# The formulas, once more.


def formulas(point: Point, arithmetic: Arithmetic) -> dict[str, Any]:
    """Every bound by its formula, rounded nowhere but at the 600th bit."""
    format, n = arithmetic.format, len(point.inputs)
    flush = arithmetic.flush_to_zero
    u, eta, normal = (
        mpf(2) ** k for k in (-format.precision, format.least_ulp_exponent, format.emin)
    )
    terms = [number(x) * number(w) for x, w in zip(point.inputs, point.weights, strict=True)]
    a, b, g = sum(terms, mpf(0)) + point.bias, mpf(point.bias), abs(mpf(point.upstream_gradient))
    size = sum(map(abs, terms), mpf(0)) + abs(b)
    c = (1 + u) ** 3 / (1 - n * mpf(2) ** -arithmetic.accumulation.precision) - 1
    events = (n + 1) * eta / 2
    if flush:
        lost = [
            abs(term)
            for term, x, w in zip(terms, point.inputs, point.weights, strict=True)
            if min(abs(x), abs(w)) < normal
        ]
        events = (2 * n + 2) * normal + sum(lost, mpf(0))
    d = c * size + (1 + c) * events
    a = abs(a)
    y, s = mpmath.tanh(a), mpmath.sech(a) ** 2
    least = normal if flush else eta / 2
    output = (
        y - mpmath.tanh(a - d) + mpf(arithmetic.activation_ulps) * ulp(mpmath.tanh(a + d), format)
    )
    output += 2 * normal if flush else 0
    steepest = mpmath.sech(max(a - d, mpf(0))) ** 2
    stable = max(steepest - s, s - mpmath.sech(a + d) ** 2) + 8 * u * steepest
    stable += 4 * normal if flush else 4 * eta
    textbook = (1 + u) * (output * (2 * y + output) + u * (y + output) ** 2) + u * s
    textbook += 2 * normal if flush else 0
    found = {"preactivation": d, "output": output}
    for name, slope in (("stable", stable), ("textbook", max(textbook, stable))):
        gradient = g * slope * (1 + u) + u * g * s + least
        gradient += g * s if flush and g < normal else 0
        found[f"{name} sech2"] = slope
        found[f"{name} bias_gradient"] = gradient
        for m in MULTIPLIERS:
            product = m * gradient * (1 + u) + u * m * (g * s + gradient) + least
            product += m * (g * s + gradient) if flush and m < normal else 0
            found[f"{name} times {m}"] = product
    return found


MULTIPLIERS = (1.0, 0.75, 2.0**-24, 96.0)


def ulp(value: Any, format: Format) -> Any:
    """2^(max(floor(log2|r|), emin) - p + 1)."""
    exponent = int(mpmath.frexp(value)[1]) - 1 if value else format.emin
    return mpf(2) ** (max(exponent, format.emin) - format.precision + 1)


def of_bounds(bounds: NeuronBounds) -> dict[str, Any]:
    """The bounds under the names of `formulas`."""
    found = {"output": number(bounds.output)}
    for name, ladder in (("stable", bounds.stable), ("textbook", bounds.textbook)):
        found[f"{name} sech2"] = number(ladder.sech2)
        found[f"{name} bias_gradient"] = number(ladder.bias_gradient)
        for m in MULTIPLIERS:
            found[f"{name} times {m}"] = number(ladder.multiple(exactly(m)))
    return found


def exactly(value: float) -> Dyadic:
    """A finite, non-zero float as a dyadic."""
    found = exact(value)
    assert isinstance(found, Dyadic)
    return found


@pytest.mark.parametrize("flush", [False, True], ids=["gradual underflow", "flush to zero"])
@pytest.mark.parametrize("ulps", [None, 0.5, 7.0], ids=lambda ulps: f"T={ulps or 'default'}")
@each_format
def test_the_bounds_are_their_formulas_rounded_outwards(
    format: Format, ulps: float | None, flush: bool
) -> None:
    """At least the formula, and at most 2^-40 of it more."""
    arithmetic = default_arithmetic(format, activation_ulps=ulps, flush_to_zero=flush)
    extremes = [
        Point((), (), 40.0, 1.0),
        Point((1.0,), (3.0,), 20.0, -4.0),
        Point((0.5, 0.5), (0.5, -0.5), 0.0, 2.0**format.emin),
        Point((2.0**format.emin,), (1.5,), 2.0 ** (format.emin - 1), 3.0),
        Point((2.0 ** (format.emin - 2),), (3.0,), 0.0, 2.0 ** (format.emin - 2)),
        Point((1.0,) * 400, (2.0**-9,) * 400, 0.25, 1.0),
    ]
    for point in [*points(format, 1, 60), *extremes]:
        if len(point.inputs) == 1 and point.bias == 0 and not flush:
            continue  # a is exact there, D is 0: see below
        if not point.inputs and not flush:
            continue
        expected = formulas(point, arithmetic)
        for name, bound in of_bounds(point.bounds(arithmetic)).items():
            assert expected[name] <= bound <= expected[name] * (1 + OUTWARD), (name, point)


@each_format
def test_the_tolerance_of_tanh_is_in_the_ulps_under_one(format: Format) -> None:
    """tanh(40) < 1, so its ulp is 2^-p, not the 2^(1-p) of 1."""
    for a in (40.0, -40.0, 9000.0):
        bounds = Point((), (), a, 1.0).bounds(default_arithmetic(format, activation_ulps=2.5))
        assert Fraction(5, 2) / 2**format.precision == fraction(bounds.output)


EXACT_PREACTIVATIONS = {
    "n = 0": Point((), (), 0.75, 1.0),
    "n = 1, a power of two, b = 0": Point((0.25,), (0.75,), 0.0, 1.0),
    "n = 1, the input a power of two": Point((-0.75,), (4.0,), -0.0, 1.0),
    "every product zero": Point((0.0, 0.5), (0.75, -0.0), 0.75, 1.0),
    "a = 0, n = 0": Point((), (), 0.0, 1.0),
}


@pytest.mark.parametrize("point", EXACT_PREACTIVATIONS.values(), ids=EXACT_PREACTIVATIONS)
@each_format
def test_an_exact_preactivation_has_no_error(point: Point, format: Format) -> None:
    """D = 0: only the tolerance of tanh is left, and a stable form's own roundings."""
    bounds = point.bounds(default_arithmetic(format, activation_ulps=3.0))
    a = sum((mpf(x) * w for x, w in zip(point.inputs, point.weights, strict=True)), mpf(point.bias))
    expected_output = 3 * (ulp(mpmath.tanh(a), format) if a else number(format.smallest_subnormal))
    assert expected_output == number(bounds.output)
    expected = 8 * mpf(2) ** -format.precision * mpmath.sech(a) ** 2 + 4 * number(
        format.smallest_subnormal
    )
    assert expected <= number(bounds.stable.sech2) <= expected * (1 + OUTWARD)


def test_tanh_of_zero_is_off_by_subnormals_only() -> None:
    """At a = 0 one ulp is the smallest subnormal."""
    bounds = Point((), (), 0.0, 1.0).bounds(default_arithmetic(BINARY32, activation_ulps=2.0))
    assert 2 * fraction(BINARY32.smallest_subnormal) == fraction(bounds.output)


INEXACT_PREACTIVATIONS = {
    "n = 1 with a bias": lambda f: Point((0.25,), (0.75,), 0.5, 1.0),
    "n = 1, no power of two": lambda f: Point((0.75,), (0.75,), 0.0, 1.0),
    "n = 2": lambda f: Point((0.25, 0.0), (0.75, 1.0), 0.0, 1.0),
    "a power of two that underflows": lambda f: Point(
        (2.0 ** (f.emin + 2) * 1.25,), (2.0**-f.precision,), 0.0, 1.0
    ),
    "a power of two that overflows": lambda f: Point((2.0**f.emax,), (4.0,), 0.0, 1.0),
}


@pytest.mark.parametrize("point", INEXACT_PREACTIVATIONS.values(), ids=INEXACT_PREACTIVATIONS)
@each_format
def test_an_inexact_preactivation_has_an_error(
    point: Callable[[Format], Point], format: Format
) -> None:
    """Where an operation may round, underflow or overflow, D is not 0."""
    arithmetic = default_arithmetic(format, activation_ulps=0.0)
    assert point(format).bounds(arithmetic).output.mantissa > 0


@each_format
def test_flushing_leaves_no_preactivation_exact(format: Format) -> None:
    """With flush-to-zero an input, a sum and the bias may each be lost."""
    for point in EXACT_PREACTIVATIONS.values():
        bounds = point.bounds(default_arithmetic(format, activation_ulps=0.0, flush_to_zero=True))
        assert fraction(bounds.output) >= 2 * fraction(format.smallest_normal)


# The adversary.


@dataclass
class Adversary:
    """Arithmetic in which every rounding is as bad as the model allows.

    An operation of result r gives r (1 + delta) with u/2 <= |delta| <= u, or r off by up to half a
    subnormal where a product underflows. `sign` decides the direction of each.
    """

    arithmetic: Arithmetic
    sign: Callable[[], int]
    random: random.Random

    def weight(self) -> Any:
        """How bad a rounding is, from half to all of the allowed."""
        return self.sign() * mpf(self.random.choice((1.0, 1.0, self.random.uniform(0.5, 1))))

    def product(self, value: Any, format: Format) -> Any:
        """A product, which may underflow."""
        if abs(value) < mpf(2) ** format.emin:
            if not value:
                return value
            return value + self.weight() * mpf(2) ** (format.least_ulp_exponent - 1)
        return self.sum(value, format)

    def sum(self, value: Any, format: Format) -> Any:
        """A sum, which cannot underflow: it is exact where it is subnormal."""
        if abs(value) < mpf(2) ** format.emin:
            return value
        return value * (1 + self.weight() * mpf(2) ** -format.precision)

    def preactivation(self, point: Point) -> Any:
        """Products and the sum plus the bias in the format, the sum accumulated, in any order."""
        format, accumulation = self.arithmetic.format, self.arithmetic.accumulation
        terms = [
            self.product(mpf(x) * mpf(w), format)
            for x, w in zip(point.inputs, point.weights, strict=True)
        ]
        while len(terms) > 1:
            self.random.shuffle(terms)
            terms.append(self.sum(terms.pop() + terms.pop(), accumulation))
        total = terms[0] if terms else mpf(0)
        if accumulation is not format and len(point.inputs) > 1:
            total = self.sum(total, format)
        return (
            self.sum(total + point.bias, format)
            if point.bias and point.inputs
            else total + point.bias
        )

    def tanh(self, a: Any) -> Any:
        """tanh at a, T ulps off."""
        y = mpmath.tanh(a)
        return y + self.weight() * self.arithmetic.activation_ulps * ulp(y, self.arithmetic.format)

    def neuron(self, point: Point) -> tuple[Any, Any, list[Any]]:
        """Output, bias gradient and its multiples, by g * (1 - y^2)."""
        format = self.arithmetic.format
        y = self.tanh(self.preactivation(point))
        s = self.sum(1 - self.product(y * y, format), format)
        d = self.product(mpf(point.upstream_gradient) * s, format)
        return y, d, [self.product(d * m, format) for m in MULTIPLIERS]


def used(point: Point, arithmetic: Arithmetic, adversary: Adversary) -> dict[str, Any]:
    """The part of each textbook bound that the adversary's error uses."""
    terms = [mpf(x) * mpf(w) for x, w in zip(point.inputs, point.weights, strict=True)]
    a = sum(terms, mpf(point.bias))
    d = mpf(point.upstream_gradient) * mpmath.sech(a) ** 2
    bounds = point.bounds(arithmetic)
    output, gradient, products = adversary.neuron(point)
    parts = {
        "output": abs(output - mpmath.tanh(a)) / number(bounds.output),
        "bias_gradient": abs(gradient - d) / number(bounds.textbook.bias_gradient),
    }
    for m, product in zip(MULTIPLIERS, products, strict=True):
        parts[f"times {m}"] = abs(product - d * m) / number(bounds.textbook.multiple(exactly(m)))
    return parts


SIGNS: dict[str, Callable[[random.Random], Callable[[], int]]] = {
    "all up": lambda draw: lambda: 1,
    "all down": lambda draw: lambda: -1,
    "at random": lambda draw: lambda: draw.choice((1, -1)),
}


@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
@each_format
def test_no_adversary_exceeds_the_textbook_bound(
    format: Format, signs: Callable[[random.Random], Callable[[], int]]
) -> None:
    """Roundings up to u in every operation and T ulps in tanh, sums in any order."""
    draw = random.Random(5)
    for accumulation in (None, BINARY16, format):
        if accumulation is not None and accumulation.precision < format.precision:
            continue
        arithmetic = default_arithmetic(format, accumulation=accumulation)
        for point in points(format, 2, 130):
            parts = used(point, arithmetic, Adversary(arithmetic, signs(draw), draw))
            assert max(parts.values()) <= 1, (parts, point)


@each_format
def test_an_adversary_comes_near_the_textbook_bound(format: Format) -> None:
    """The bounds are sharp: some adversary uses 0.8 of each, so less would accuse the sound."""
    arithmetic = default_arithmetic(format)
    draw = random.Random(6)
    best: dict[str, Any] = {}
    for point in points(format, 3, 60):
        for signs in SIGNS.values():
            parts = used(point, arithmetic, Adversary(arithmetic, signs(draw), draw))
            best = {name: max(part, best.get(name, 0)) for name, part in parts.items()}
    assert min(best.values()) > 0.8


@each_format
def test_an_adversary_of_four_unit_roundoffs_exceeds_the_bound(format: Format) -> None:
    """The adversary is strong enough to be worth resisting: with 4u it breaks every bound."""
    arithmetic = default_arithmetic(format)
    worse = Arithmetic(
        Format(format.name, format.precision - 2, format.emax, format.width),
        Format("", arithmetic.accumulation.precision - 2, format.emax, 0),
        arithmetic.activation_ulps,
    )
    draw = random.Random(7)
    best: dict[str, Any] = {}
    for point in points(format, 3, 40):
        parts = used(point, arithmetic, Adversary(worse, SIGNS["all up"](draw), draw))
        best = {name: max(part, best.get(name, 0)) for name, part in parts.items()}
    assert min(best.values()) > 1


# Real arithmetic.


class Rounding:
    """Floating-point arithmetic of any format, operation by operation, on the integers."""

    def __init__(self, format: Format) -> None:
        self.format = format

    def __call__(self, value: Any) -> float:
        """An mpmath number, exact or of 600 bits, rounded to nearest even."""
        mantissa, exponent = abs(mpf(value)).man_exp
        return self.format.round(Dyadic(int(mantissa) * (1 if value >= 0 else -1), int(exponent)))

    def near(self, value: Any, draw: random.Random, steps: float) -> float:
        """A member at most `steps` ulps from `value`, and as far from it as that allows."""
        start = self(value)
        # A tanh that 600 bits round to 1 has the ulp of the numbers under 1.
        reach = steps * ulp(value * (1 - mpf(2) ** -500), self.format)
        found = [start]
        for move in (self.format.next_up, self.format.next_down):
            member = start
            while abs(member - value) <= reach:
                found.append(member)
                member = move(member)
        return draw.choice((min(found), max(found), start))

    def preactivation(self, point: Point, accumulation: Format, draw: random.Random) -> float:
        """Rounded products, a sum in another format, and the bias."""
        acc = Rounding(accumulation)
        terms = [self(mpf(x) * w) for x, w in zip(point.inputs, point.weights, strict=True)]
        draw.shuffle(terms)
        total = 0.0
        for term in terms:
            total = acc(mpf(total) + term)
        return self(mpf(self(mpf(total))) + point.bias)


def textbook_form(r: Rounding, a: float, ulps: float, draw: random.Random) -> tuple[float, float]:
    """y and 1 - y * y."""
    y = r.near(mpmath.tanh(a), draw, ulps)
    return y, r(1 - mpf(r(mpf(y) * y)))


def factored_form(r: Rounding, a: float, ulps: float, draw: random.Random) -> tuple[float, float]:
    """y and (1 - y) (1 + y)."""
    y = r.near(mpmath.tanh(a), draw, ulps)
    return y, r(mpf(r(1 - mpf(y))) * r(1 + mpf(y)))


def exponential_form(
    r: Rounding, a: float, ulps: float, draw: random.Random
) -> tuple[float, float]:
    """y and 4 t / (1 + t)^2 with t = exp(-2|a|) to one ulp."""
    y = r.near(mpmath.tanh(a), draw, ulps)
    t = r.near(mpmath.exp(-2 * abs(mpf(a))), draw, 1.0)
    whole = r(1 + mpf(t))
    return y, r(mpf(r(4 * mpf(t))) / r(mpf(whole) * whole))


def hyperbolic_form(r: Rounding, a: float, ulps: float, draw: random.Random) -> tuple[float, float]:
    """y and (1 / cosh a)^2 with cosh to one ulp."""
    y = r.near(mpmath.tanh(a), draw, ulps)
    c = r.near(mpmath.cosh(a), draw, 1.0)
    reciprocal = r(1 / mpf(c)) if c != inf else 0.0
    return y, r(mpf(reciprocal) * reciprocal)


def steep(format: Format) -> list[Point]:
    """Preactivations down to where sech^2 underflows, with gradients up to the largest."""
    last = -format.least_ulp_exponent * 0.3466
    draw = random.Random(f"steep {format.name}")
    found = []
    for index in range(50):
        a = format.round(dyadic(last * (0.6 + 0.4 * index / 50)))
        g = (1.0, -3.0, 2.0 ** (format.emax // 2), 1.75 * 2.0**format.emax)[index % 4]
        weight = format.round(dyadic(draw.uniform(0.5, 1)))
        found.append(Point((weight,), (weight,), a, g) if index % 3 else Point((), (), -a, g))
    return found


FORMS = {
    "1 - y*y": (textbook_form, "textbook"),
    "(1-y)(1+y)": (factored_form, "textbook"),
    "4t/(1+t)^2": (exponential_form, "stable"),
    "1/cosh^2": (hyperbolic_form, "stable"),
}


@pytest.mark.parametrize(("form", "rung"), FORMS.values(), ids=FORMS)
@each_format
def test_no_sound_form_exceeds_its_bound(
    format: Format, form: Callable[..., tuple[float, float]], rung: str
) -> None:
    """In the format's own arithmetic, rounding by rounding, underflow included."""
    draw = random.Random(8)
    r = Rounding(format)
    arithmetic = default_arithmetic(format)
    for point in [*points(format, 4, 70), *steep(format)]:
        ladder = getattr(point.bounds(arithmetic), rung)
        a = r.preactivation(point, arithmetic.accumulation, draw)
        if form is hyperbolic_form and r(mpmath.cosh(a)) == inf:
            continue  # cosh overflows before sech^2 underflows: no sound form there
        y, s = form(r, a, arithmetic.activation_ulps, draw)
        d = r(mpf(point.upstream_gradient) * s)
        true_a = sum(
            (mpf(x) * w for x, w in zip(point.inputs, point.weights, strict=True)), mpf(point.bias)
        )
        true_s = mpmath.sech(true_a) ** 2
        true_d = true_s * point.upstream_gradient
        assert abs(y - mpmath.tanh(true_a)) <= number(point.bounds(arithmetic).output), point
        assert abs(s - true_s) <= number(ladder.sech2), point
        assert abs(d - true_d) <= number(ladder.bias_gradient), point
        for m in MULTIPLIERS:
            product = r(mpf(d) * m)
            if abs(product) != inf:
                assert abs(product - true_d * m) <= number(ladder.multiple(exactly(m))), point


@pytest.mark.parametrize(
    ("format", "type_"),
    [(BINARY16, np.float16), (BINARY32, np.float32), (BINARY64, np.float64)],
    ids=["binary16", "binary32", "binary64"],
)
def test_the_plain_numpy_neuron_stays_within_and_comes_near(
    format: Format, type_: type[np.floating]
) -> None:
    """NumPy's own neuron: within the textbook bound, at worst a fifth of it or more, not stable."""
    arithmetic = default_arithmetic(format, accumulation=format, activation_ulps=1.5)
    worst = {"output": 0.0, "textbook": 0.0, "stable": 0.0}
    for point in points(format, 9, 300):
        if abs(point.upstream_gradient) < 2.0**format.emin * 2.0**format.precision:
            continue
        x, w = np.array(point.inputs, type_), np.array(point.weights, type_)
        b, g = type_(point.bias), type_(point.upstream_gradient)
        y = np.tanh((x * w).sum(dtype=type_) + b)
        d = g * (type_(1) - y * y)
        bounds = point.bounds(arithmetic)
        true = point.exact(format)
        for name, real, computed, bound in [
            ("output", true.output, y, bounds.output),
            ("textbook", true.bias_gradient, d, bounds.textbook.bias_gradient),
            ("stable", true.bias_gradient, d, bounds.stable.bias_gradient),
        ]:
            lower, _ = real.enclosure(200)
            part = abs(mpf(float(computed)) - number(lower)) / number(bound)
            worst[name] = max(worst[name], float(part))
    assert 0.2 <= worst["output"] <= 1
    assert 0.2 <= worst["textbook"] <= 1
    assert worst["stable"] > 4


def test_many_underflows_are_enlarged_by_the_roundings_after_them() -> None:
    """1036 products of bfloat16, each 0.50003 eta and rounded to eta, then summed and rounded up
    twice: 1.0023 of c S + (n+1) eta/2, so the factor 1 + c on the underflows is needed."""
    x, w, n = 145 * 2.0**-74, 226 * 2.0**-75, 1036
    eta = fraction(BFLOAT16.smallest_subnormal)
    assert BFLOAT16.contains(x) and BFLOAT16.contains(w)
    point = Point((x,) * n, (w,) * n, float(12 * eta), 1.0)
    product = Fraction(BFLOAT16.round(dyadic(Fraction(x) * Fraction(w))))
    total = Fraction(BFLOAT16.round(dyadic(n * product)))
    computed = Fraction(BFLOAT16.round(dyadic(total + 12 * eta)))
    exact_sum = n * Fraction(x) * Fraction(w) + 12 * eta
    error = abs(computed - exact_sum)
    c = (1 + Fraction(1, 2**8)) ** 3 / (1 - n * Fraction(1, 2**24)) - 1
    assert error > c * exact_sum + (n + 1) * eta / 2
    bounds = point.bounds(default_arithmetic(BFLOAT16, activation_ulps=0.0))
    assert error <= fraction(bounds.output)


# Flush to zero.


def flushed(value: np.float32, active: bool) -> np.float32:
    """A subnormal replaced by a zero of its sign."""
    if active and 0 < abs(value) < np.float32(2.0**-126):
        return np.copysign(np.float32(0), value)
    return value


@pytest.mark.parametrize("results", [True, False], ids=["results flushed", "results kept"])
@pytest.mark.parametrize("operands", [True, False], ids=["operands flushed", "operands kept"])
def test_flushing_arithmetic_stays_within_the_flushing_bounds(
    operands: bool, results: bool
) -> None:
    """binary32 with every subnormal operand, result, or both replaced by zero."""
    draw = random.Random(10)
    arithmetic = default_arithmetic(BINARY32, flush_to_zero=True)

    def operate(function: Callable[..., Any], *arguments: Any) -> np.float32:
        read = [flushed(np.float32(each), operands) for each in arguments]
        with np.errstate(under="ignore"):
            return flushed(np.float32(function(*read)), results)

    def tiny() -> float:
        return float(np.float32(draw.choice((1, -1)) * 2.0 ** draw.uniform(-130, -122)))

    def scale() -> float:
        return float(np.float32(draw.choice((1, -1)) * 2.0 ** draw.uniform(-8, 3)))

    beyond_gradual = 0
    for index in range(400):
        n = index % 5
        both = [(tiny(), scale()) if draw.random() < 0.7 else (scale(), tiny()) for _ in range(n)]
        bias = (tiny(), 0.0, scale(), -0.0)[index % 4]
        gradient = (tiny(), scale(), 2.0**-149 * draw.randrange(2**23))[index % 3]
        point = Point(tuple(x for x, _ in both), tuple(w for _, w in both), bias, gradient)
        total = np.float32(0)
        for x, w in both:
            total = operate(np.add, total, operate(np.multiply, x, w))
        y = operate(np.tanh, operate(np.add, total, bias))
        s = operate(np.subtract, 1.0, operate(np.multiply, y, y))
        d = operate(np.multiply, gradient, s)
        true = point.exact(BINARY32)
        bounds, gradual = point.bounds(arithmetic), point.bounds(default_arithmetic(BINARY32))
        lower, _ = true.output.enclosure(200)
        error = abs(mpf(float(y)) - number(lower))
        assert error <= number(bounds.output), point
        beyond_gradual += bool(error > number(gradual.output))
        lower, _ = true.bias_gradient.enclosure(200)
        error = abs(mpf(float(d)) - number(lower))
        assert error <= number(bounds.textbook.bias_gradient), point
        for m in (tiny(), scale(), 2.0**-149, 2.0**90):
            product = operate(np.multiply, d, m)
            error = abs(mpf(float(product)) - number(lower) * m)
            assert error <= number(bounds.textbook.multiple(exactly(m))), (point, m)
    assert (beyond_gradual > 0) == (operands or results)


# The ladder, and where there are no bounds.


@each_format
@pytest.mark.parametrize("flush", [False, True], ids=["gradual underflow", "flush to zero"])
def test_the_ladder_is_monotone(format: Format, flush: bool) -> None:
    """The textbook bound is never below the stable one."""
    arithmetic = default_arithmetic(format, flush_to_zero=flush)
    strictly = 0
    for point in [*points(format, 11, 150), *steep(format)]:
        bounds = point.bounds(arithmetic)
        stable, textbook = bounds.stable, bounds.textbook
        assert compare(stable.sech2, textbook.sech2) <= 0
        assert compare(stable.bias_gradient, textbook.bias_gradient) <= 0
        for m in MULTIPLIERS:
            assert compare(stable.multiple(exactly(m)), textbook.multiple(exactly(m))) <= 0
        strictly += compare(stable.sech2, textbook.sech2) < 0
    assert strictly > 50


@pytest.mark.parametrize(("n", "defined"), [(15, True), (16, False), (17, False)])
def test_no_bound_where_gamma_is_undefined(n: int, defined: bool) -> None:
    """n u_acc < 1 is needed: with 4 bits n may be 15."""
    arithmetic = default_arithmetic(BINARY16, accumulation=TOY)
    point = Point((0.25,) * n, (0.125,) * n, 0.0, 1.0)
    bounds = neuron_bounds(point.exact(BINARY16), arithmetic)
    assert (bounds is not None) == defined
    if bounds is not None:
        assert formulas(point, arithmetic)["output"] <= number(bounds.output)


@pytest.mark.parametrize("bias", [inf, -inf, nan], ids=str)
def test_no_bound_where_the_preactivation_is_not_finite(bias: float) -> None:
    """An infinite or NaN preactivation has exact results, not bounds."""
    exact_neuron = neuron([1.0], [1.0], bias, 1.0)
    assert neuron_bounds(exact_neuron, default_arithmetic(BINARY64)) is None


@pytest.mark.parametrize(
    ("inputs", "weights", "bias", "expected"),
    [
        ([256.0], [255.0], 0.0, (False, False)),
        ([256.0], [256.0], 0.0, (True, False)),
        ([-256.0], [256.0], 0.0, (False, True)),
        ([256.0, 256.0], [256.0, -256.0], 0.0, (True, True)),
        ([256.0, 1.0], [256.0, -1000.0], 0.0, (True, False)),
        ([32000.0] * 3 + [-32000.0] * 2, [1.0] * 5, 0.0, (True, False)),
        ([200.0], [300.0], 5504.0, (True, False)),
        ([200.0], [300.0], 5000.0, (False, False)),
        ([200.0], [-300.0], -5504.0, (False, True)),
        ([200.0], [-300.0], 65504.0, (True, False)),
        ([inf, 256.0], [1.0, -256.0], 0.0, (False, True)),
        ([nan, 256.0], [1.0, 256.0], 0.0, (True, False)),
        ([], [], 65504.0, (False, False)),
    ],
    ids=str,
)
def test_overflow_is_possible_where_one_sign_of_terms_reaches_the_threshold(
    inputs: list[float], weights: list[float], bias: float, expected: tuple[bool, bool]
) -> None:
    """Partial sums lie between the sum of the negative and of the positive finite terms, give or
    take the error of the sum: (upwards, downwards)."""
    exact_neuron = neuron(inputs, weights, bias, 1.0, format=BINARY16)
    assert expected == tuple(overflow_possible(exact_neuron, default_arithmetic(BINARY16)))


# The raw gradient.


@each_format
@pytest.mark.parametrize("flush", [False, True], ids=["gradual underflow", "flush to zero"])
def test_the_raw_gradients_bounds_are_their_formulas(format: Format, flush: bool) -> None:
    """8 u |1-y^2| + eta/2, and (1+u)(u y^2 + eta/2) + u |1-y^2| if that is more."""
    arithmetic = default_arithmetic(format, flush_to_zero=flush)
    u, normal = mpf(2) ** -format.precision, mpf(2) ** format.emin
    least = normal if flush else number(format.smallest_subnormal) / 2
    outputs = (1.0, 1 - 2.0**-format.precision, 0.75, 2.0**-5, 2.0**format.emin, 3.0)
    for y in outputs:
        for g in (1.0, 5.0, 2.0 ** (format.emin - 1), 2.0**format.emax):
            bounds = tanh_gradient_bounds(exactly(y), exact(g), arithmetic)
            s = abs(1 - mpf(y) ** 2)
            stable = 8 * u * s + least
            textbook = (1 + u) * (u * mpf(y) ** 2 + least) + u * s + (2 * least if flush else 0)
            for slope, bound in ((stable, bounds.stable), (max(stable, textbook), bounds.textbook)):
                gradient = g * slope * (1 + u) + u * g * s + least
                gradient += g * s if flush and g < normal else 0
                assert slope <= number(bound.sech2) <= slope * (1 + OUTWARD)
                assert gradient <= number(bound.bias_gradient) <= gradient * (1 + OUTWARD)


@each_format
def test_the_raw_gradient_stays_within_its_bounds(format: Format) -> None:
    """dy (1 - y y) within textbook and dy (1-y)(1+y) within stable, rounding by rounding; the first
    goes beyond stable, and uses 0.4 of its own bound."""
    r, draw = Rounding(format), random.Random(12)
    arithmetic = default_arithmetic(format)
    stable_part = textbook_part = mpf(0)
    for index in range(300):
        y = r(
            mpf(1 - 2.0 ** -draw.uniform(1, format.precision))
            if index % 2
            else mpf(draw.uniform(-1, 1))
        )
        g = r(mpf(2.0 ** draw.uniform(-6, 6)))
        bounds = tanh_gradient_bounds(exactly(y), exact(g), arithmetic)
        true = mpf(g) * (1 - mpf(y) ** 2)
        plain = abs(r(mpf(g) * r(1 - mpf(r(mpf(y) * y)))) - true)
        factored = abs(r(mpf(g) * r(mpf(r(1 - mpf(y))) * r(1 + mpf(y)))) - true)
        assert factored <= number(bounds.stable.bias_gradient)
        assert plain <= number(bounds.textbook.bias_gradient)
        stable_part = max(stable_part, plain / number(bounds.stable.bias_gradient))
        textbook_part = max(textbook_part, plain / number(bounds.textbook.bias_gradient))
        assert fraction(dyadic(Fraction(g) * (1 - Fraction(y) ** 2))) == fraction(
            tanh_gradient(y, g).enclosure(96).lower
        )
    if format is not BFLOAT16:  # with 8 bits, 8 u |1-y^2| leaves room for any rounding of y*y
        assert stable_part > 1
    assert textbook_part > 0.4


# How a subject computes.


def test_defaults_follow_the_format() -> None:
    """16-bit formats accumulate in binary32 with tanh to 1 ulp, the others in themselves to 2.5."""
    assert [
        Arithmetic(BINARY16, BINARY32, 1.0, False),
        Arithmetic(BFLOAT16, BINARY32, 1.0, False),
        Arithmetic(BINARY32, BINARY32, 2.5, False),
        Arithmetic(BINARY64, BINARY64, 2.5, False),
    ] == [default_arithmetic(format) for format in FORMATS]


def test_a_subject_may_declare_its_own() -> None:
    """Accumulation format, ulps (0 included) and flushing replace the defaults."""
    declared = default_arithmetic(
        BINARY16, accumulation=BINARY16, activation_ulps=0, flush_to_zero=True
    )
    assert Arithmetic(BINARY16, BINARY16, 0.0, True) == declared


@pytest.mark.parametrize("ulps", [-1.0, -0.5, 2.0**21 + 1, inf, nan], ids=str)
def test_a_tolerance_is_a_number_of_ulps_that_leaves_something_to_judge(ulps: float) -> None:
    """Anything else is refused by name."""
    assert 2.0**21 == default_arithmetic(BINARY32, activation_ulps=2.0**21).activation_ulps
    with pytest.raises(ValueError, match=f"activation_ulps is {ulps}; expected 0 to 2.09715e"):
        default_arithmetic(BINARY32, activation_ulps=ulps)


@given(st.floats(0.001, 10), st.integers(1, 60))
def test_more_ulps_and_longer_sums_never_lower_a_bound(a: float, n: int) -> None:
    """The output bound grows with T and with n."""
    share = float(np.float32(a / n))
    grown = [
        Point((share,) * count, (1.0,) * count, 0.5, 1.0).bounds(
            default_arithmetic(BINARY32, activation_ulps=ulps)
        )
        for count, ulps in ((n, 1.0), (n, 2.0), (n + 1, 2.0))
    ]
    assert compare(grown[0].output, grown[1].output) < 0
    if float(np.float32(share * n)) < 0.4:
        assert compare(grown[1].output, grown[2].output) < 0


def test_the_helpers_of_this_file() -> None:
    """Points are members, the real arithmetic rounds, and `near` reaches the ulps it is given."""
    for format in FORMATS:
        for point in points(format, 1, 50):
            values = (*point.inputs, *point.weights, point.bias, point.upstream_gradient)
            assert all(map(format.contains, values))
    r = Rounding(BINARY16)
    assert r(mpf(2049)) == 2048.0
    found = {r.near(mpf(1.25), random.Random(seed), 2.5) for seed in range(20)}
    assert {1.25 - 2.0**-9, 1.25, 1.25 + 2.0**-9} == found
    assert tanh(exactly(0.5)).rounded(BINARY16) == r(mpmath.tanh(0.5))
