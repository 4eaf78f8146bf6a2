"""Attempts to break the bounds of a Hessian-vector product, as `test_bounds` does the gradient's.

The same evaluations, in every order that implementations use, run in two kinds of arithmetic: an
adversary's, where each rounding is as bad as the model allows, and that of each format. Both must
stay within the bounds; the adversary must come near them, or they would excuse too much.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

import mpmath
import pytest
from mpmath import mpf

from reference.bounds import Arithmetic, default_arithmetic, neuron_bounds
from reference.dyadic import ONE, Dyadic, compare
from reference.exact import exact
from reference.formats import BFLOAT16, BINARY16, BINARY32, BINARY64, FORMATS, Format
from reference.neuron import neuron
from reference.second_order import ExactHessianProduct, hessian_product
from reference.second_order_bounds import (
    HessianProductBound,
    HessianProductBounds,
    hessian_product_bounds,
)
from tests.rationals import dyadic

each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
RUNGS = ("stable", "textbook")


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    """Judge at 250 bits."""
    with mpmath.workprec(250):
        yield


def number(value: Dyadic | float) -> Any:
    """A dyadic or a float as an mpmath number."""
    return mpf((value.mantissa, value.exponent)) if isinstance(value, Dyadic) else mpf(value)


# Points.


@dataclass(frozen=True)
class Point:
    """A neuron with a direction, all finite."""

    x: tuple[float, ...]
    w: tuple[float, ...]
    b: float
    g: float
    p: tuple[float, ...]
    q: tuple[float, ...]
    r: float

    def product(self, format: Format) -> ExactHessianProduct:
        """The exact product here."""
        return product_at(self, format)

    def bounds(self, arithmetic: Arithmetic) -> HessianProductBounds:
        """The bounds here, which exist."""
        return bounds_at(self, arithmetic)

    def factors(self) -> list[tuple[float, float]]:
        """(m, t) of each element c m + d t, the inputs' first."""
        return [*zip(self.w, self.q, strict=True), *zip(self.x, self.p, strict=True)]


@cache
def product_at(at: Point, format: Format) -> ExactHessianProduct:
    """The exact product at a point."""
    point = neuron(at.x, at.w, at.b, at.g, format=format)
    return hessian_product(point, at.p, at.q, at.r)


@cache
def bounds_at(at: Point, arithmetic: Arithmetic) -> HessianProductBounds:
    """The bounds at a point, which exist."""
    bounds = hessian_product_bounds(product_at(at, arithmetic.format), arithmetic)
    assert bounds is not None
    return bounds


@cache
def points(format: Format, seed: int, count: int) -> list[Point]:
    """Members of `format`: n to 4, |a| from tiny to saturated, sums that cancel, g to the least."""
    draw = random.Random(f"{format.name} {seed}")

    def member(low: float, high: float) -> float:
        return format.round(dyadic(draw.choice((1, -1)) * 2.0 ** draw.uniform(low, high)))

    def rest(left: tuple[float, ...], right: tuple[float, ...]) -> float:
        terms = (Fraction(s) * Fraction(t) for s, t in zip(left, right, strict=True))
        return -format.round(dyadic(sum(terms, Fraction(0))))

    found = []
    for index in range(count):
        n = index % 5
        size = (-6, -1, 0, 1)[index // 5 % 4]
        x, w, p, q = (
            tuple(member(low - 3, low) for _ in range(n)) for low in (size, 1, 2, size + 1)
        )
        b, r = member(size - 2, size + 1), member(-3, 2)
        b = rest(x, w) if index % 6 == 0 and n else b
        r = rest((*p, *q), (*w, *x)) if index % 7 == 0 and n else r
        g = (1.0, member(-5, 5), member(format.emin - 2, format.emin + 8), member(5, 8))[index % 4]
        found.append(Point(x, w, b, g, p, q, r))
    return found


# Arithmetic.


class Operations(Protocol):
    """How an operation rounds: a product and a sum, given exactly."""

    def product(self, value: Any) -> Any: ...

    def sum(self, value: Any) -> Any: ...


@dataclass
class Nearest:
    """The arithmetic of a format."""

    format: Format

    def product(self, value: Any) -> Any:
        return self.sum(value)

    def sum(self, value: Any) -> Any:
        value = mpf(value)
        mantissa, exponent = abs(value).man_exp
        sign = -1 if value < 0 else 1
        return mpf(self.format.round(Dyadic(sign * int(mantissa), int(exponent))))


@dataclass
class Adversary:
    """An operation of result v gives v (1 + delta), |delta| = u, or a product that underflows is
    off by half a subnormal; `sign` decides the direction of each."""

    format: Format
    sign: Callable[[], int]

    def product(self, value: Any) -> Any:
        if 0 < abs(value) < mpf(2) ** self.format.emin:
            return value + self.sign() * mpf(2) ** (self.format.least_ulp_exponent - 1)
        return self.sum(value)

    def sum(self, value: Any) -> Any:
        if abs(value) < mpf(2) ** self.format.emin:
            return value
        return value * (1 + self.sign() * mpf(2) ** -self.format.precision)


@dataclass
class Flushing:
    """binary32 where subnormal results, operands or both are zeros."""

    results: bool
    operands: bool
    nearest = Nearest(BINARY32)

    def product(self, value: Any) -> Any:
        return self.sum(value)

    def sum(self, value: Any) -> Any:
        found = self.nearest.sum(value)
        return mpf(0) if self.results and abs(found) < mpf(2) ** BINARY32.emin else found

    def read(self, value: Any) -> Any:
        """A number as an operand."""
        return mpf(0) if self.operands and abs(value) < mpf(2) ** BINARY32.emin else mpf(value)


# Evaluations.


def total(op: Operations, wide: Operations, terms: list[Any]) -> Any:
    """A sum accumulated in another format and rounded to this one."""
    value = mpf(0)
    for term in terms:
        value = wide.sum(value + term)
    return op.sum(value) if wide is not op else value


def dot(op: Operations, wide: Operations, left: Any, right: Any) -> Any:
    """A sum of products."""
    return total(op, wide, [op.product(mpf(s) * t) for s, t in zip(left, right, strict=True)])


def torch_tangent(op: Operations, wide: Operations, at: Point) -> Any:
    """r + p.w + q.x, as autograd accumulates."""
    value = op.sum(at.r + dot(op, wide, at.p, at.w))
    return op.sum(value + dot(op, wide, at.q, at.x))


def paired_tangent(op: Operations, wide: Operations, at: Point) -> Any:
    """sum(p_i w_i + q_i x_i) + r, as autograd does behind an expand."""
    lanes = zip(at.p, at.w, at.q, at.x, strict=True)
    pairs = [op.sum(op.product(mpf(p) * w) + op.product(mpf(q) * x)) for p, w, q, x in lanes]
    return op.sum(total(op, wide, pairs) + at.r)


def whole_tangent(op: Operations, wide: Operations, at: Point) -> Any:
    """One sum of 2n products, plus r."""
    return op.sum(dot(op, wide, (*at.p, *at.q), (*at.w, *at.x)) + at.r)


def aten(op: Operations, g: Any, y: Any, s: Any, adot: Any) -> Any:
    """(adot (-2 y g)) s: the derivative of tanh_backward, then tanh_backward."""
    return op.product(op.product(adot * op.product(-2 * y * g)) * s)


def formula(op: Operations, g: Any, y: Any, s: Any, adot: Any) -> Any:
    """((g adot) 2y) s: the derivatives of g (1 - y^2), then of tanh."""
    return op.product(op.product(-op.product(g * adot) * 2 * y) * s)


def forward(op: Operations, g: Any, y: Any, s: Any, adot: Any) -> Any:
    """g (-2 y (s adot)): forward mode."""
    return op.product(g * op.product(-2 * y * op.product(s * adot)))


def by_hand(op: Operations, g: Any, y: Any, s: Any, adot: Any) -> Any:
    """(-2 y adot) (g s): two products of two."""
    return op.product(op.product(-2 * y * adot) * op.product(g * s))


def summed(op: Operations, c: Any, d: Any, _factors: Any, m: Any, t: Any) -> Any:
    """c m + d t."""
    return op.sum(op.product(c * m) + op.product(d * t))


def factored(op: Operations, _c: Any, d: Any, factors: Any, m: Any, t: Any) -> Any:
    """d (t - 2 y adot m)."""
    y, adot = factors
    return op.product(d * op.sum(t - op.product(op.product(2 * y * adot) * m)))


FORMS = {
    "tanh_backward twice": (torch_tangent, aten, summed),
    "the formula by autograd": (paired_tangent, formula, summed),
    "forward mode": (paired_tangent, forward, summed),
    "by hand": (whole_tangent, by_hand, summed),
    "d in front": (whole_tangent, by_hand, factored),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
TEXTBOOK, STABLE = "textbook", "stable"


def evaluated(
    op: Operations,
    wide: Operations,
    at: Point,
    form: Any,
    slope: str,
    output: Callable[[Any], Any],
) -> list[Any]:
    """H v by a form: the elements in the order of `Point.factors`, then c."""
    tangent, curvature, element = form
    a = op.sum(dot(op, wide, at.x, at.w) + at.b)
    y = output(a)
    if slope == TEXTBOOK:
        s = op.sum(1 - op.product(y * y))
    else:
        t = op.product(mpmath.exp(-2 * abs(a)))
        whole = op.sum(1 + t)
        s = op.product(4 * t / op.product(whole * whole))
    g, adot = mpf(at.g), tangent(op, wide, at)
    d, c = op.product(g * s), curvature(op, g, y, s, adot)
    return [*(element(op, c, d, (y, adot), m, t) for m, t in at.factors()), c]


def used(at: Point, arithmetic: Arithmetic, computed: list[Any]) -> dict[str, Any]:
    """How much of each bound the errors use, at most; of c under "c"."""
    product, bounds = at.product(arithmetic.format), at.bounds(arithmetic)
    values = [*product.inputs, *product.weights, product.bias]
    factors: list[tuple[Any, Any]] = [
        *((exact(m), exact(t)) for m, t in at.factors()),
        (None, None),
    ]
    found = {f"{name}{which}": mpf(0) for name in RUNGS for which in ("", " c")}
    for name in RUNGS:
        rung: HessianProductBound = getattr(bounds, name)
        for value, (m, t), result in zip(values, factors, computed, strict=True):
            lower, upper = value.enclosure(200)
            limit = number(rung.bias if m is None else rung.element(m, t, value))
            error = abs(result - (number(lower) + number(upper)) / 2)
            key = name if m is not None else f"{name} c"
            part = error / limit if limit else mpf(0 if not error else mpmath.inf)
            found[key] = max(part, found[key])
    return found


def near(format: Format, ulps: float, draw: random.Random, op: Operations) -> Callable[[Any], Any]:
    """A member at most `ulps` from tanh, often as far from it as that allows."""

    def output(a: Any) -> Any:
        true = mpmath.tanh(a)
        top = true * (1 - mpf(2) ** -240)
        mantissa, exponent = abs(mpf(top)).man_exp
        ulp = mpf(2) ** format.ulp_exponent(Dyadic(int(mantissa), int(exponent)))
        return op.sum(true + draw.choice((-1, 0, 1)) * ulp * mpf(max(0.0, ulps - 0.5)))

    return output


@pytest.mark.parametrize("slope", [TEXTBOOK, STABLE])
@each_form
@each_format
def test_no_sound_evaluation_exceeds_its_bound(format: Format, form: Any, slope: str) -> None:
    """In the format's own arithmetic, rounding by rounding, underflow included."""
    arithmetic = default_arithmetic(format)
    draw = random.Random(f"{format.name} {slope}")
    op = Nearest(format)
    wide = op if arithmetic.accumulation is format else Nearest(arithmetic.accumulation)
    output = near(format, arithmetic.activation_ulps, draw, op)
    for at in points(format, 4, 80):
        computed = evaluated(op, wide, at, form, slope, output)
        if all(mpmath.isfinite(value) for value in computed):
            parts = used(at, arithmetic, computed)
            assert max(parts[slope], parts[f"{slope} c"]) <= 1, at


@each_form
@each_format
def test_the_adversary_stays_within_and_comes_near(format: Format, form: Any) -> None:
    """Roundings all up, all down or at random: at least half of the bound at the worst point."""
    arithmetic = default_arithmetic(format)
    draw = random.Random(f"{format.name} adversary")
    worst: dict[str, Any] = {}
    for sign in (lambda: 1, lambda: -1, lambda: draw.choice((1, -1))):
        op = Adversary(format, sign)
        wide = op if arithmetic.accumulation is format else Adversary(arithmetic.accumulation, sign)

        def output(a: Any, sign: Callable[[], int] = sign) -> Any:
            true = mpmath.tanh(a)
            if not true:
                return true
            mantissa, exponent = (abs(true) * (1 - mpf(2) ** -240)).man_exp
            ulp = mpf(2) ** format.ulp_exponent(Dyadic(int(mantissa), int(exponent)))
            return true + sign() * arithmetic.activation_ulps * ulp

        for at in points(format, 5, 80):
            if not at.x:
                continue  # a and adot are exact there, and nobody may perturb them
            parts = used(at, arithmetic, evaluated(op, wide, at, form, TEXTBOOK, output))
            worst = {name: max(part, worst.get(name, mpf(0))) for name, part in parts.items()}
    assert 0.5 <= worst["textbook"] <= 1
    assert 0.5 <= worst["textbook c"] <= 1
    assert worst["stable c"] > 1


def tiny_points(count: int) -> list[Point]:
    """binary32 neurons with operands, products and results around the least normal number."""
    draw = random.Random(9)

    def tiny() -> float:
        return BINARY32.round(dyadic(draw.choice((1, -1)) * 2.0 ** draw.uniform(-130, -122)))

    def scale() -> float:
        return BINARY32.round(dyadic(draw.choice((1, -1)) * 2.0 ** draw.uniform(-8, 3)))

    def either() -> float:
        return tiny() if draw.random() < 0.4 else scale()

    return [
        Point(
            *(tuple(either() for _ in range(index % 4)) for _ in range(2)),
            *((tiny(), scale())[index // 4 % 2], (tiny(), scale(), 2.0**-149)[index % 3]),
            *(tuple(either() for _ in range(index % 4)) for _ in range(2)),
            (tiny(), scale(), 0.0)[index // 3 % 3],
        )
        for index in range(count)
    ]


@pytest.mark.parametrize("results", [True, False], ids=["results flushed", "results kept"])
@pytest.mark.parametrize("operands", [True, False], ids=["operands flushed", "operands kept"])
@each_form
def test_flushing_stays_within_the_flushing_bounds(
    form: Any, operands: bool, results: bool
) -> None:
    """With zeros for subnormal operands, results or both; beyond the gradual bounds if for any."""
    op = Flushing(results, operands)
    # mpmath numbers carry no mark of being operands, so they are read as zero where they are used.
    read = op.read
    arithmetic = default_arithmetic(BINARY32, flush_to_zero=True)
    gradual = default_arithmetic(BINARY32)
    beyond = 0
    for at in tiny_points(72):
        seen = Point(
            *(tuple(map(read, each)) for each in (at.x, at.w)),
            *(read(at.b), read(at.g)),
            *(tuple(map(read, each)) for each in (at.p, at.q)),
            read(at.r),
        )
        op_read = ReadsOperands(op)
        computed = evaluated(
            op_read, op_read, seen, form, TEXTBOOK, lambda a: op.sum(mpmath.tanh(read(a)))
        )
        parts = used(at, arithmetic, computed)
        assert max(parts["textbook"], parts["textbook c"]) <= 1, at
        parts = used(at, gradual, computed)
        beyond += max(parts["textbook"], parts["textbook c"]) > 1
    assert (beyond > 0) == (operands or results)


@dataclass
class ReadsOperands:
    """Flushing arithmetic whose results are read as operands at once: each is used as one only."""

    flushing: Flushing

    def product(self, value: Any) -> Any:
        return self.flushing.read(self.flushing.product(value))

    def sum(self, value: Any) -> Any:
        return self.flushing.read(self.flushing.sum(value))


# The formulas, once more.


def formulas(at: Point, arithmetic: Arithmetic) -> list[tuple[str, Any, Any]]:
    """(name, formula, bound) of every bound, at 250 bits; D, By and Ds are those of the neuron."""
    format, flush = arithmetic.format, arithmetic.flush_to_zero
    product, bounds = at.product(format), at.bounds(arithmetic)
    first, second = (neuron_bounds(each, arithmetic) for each in (product.neuron, product.tangent))
    assert first is not None and second is not None
    u, normal = mpf(2) ** -format.precision, mpf(2) ** format.emin
    least = normal if flush else mpf(2) ** (format.least_ulp_exponent - 1)
    lost = normal if flush else mpf(0)
    products = [mpf(s) * t for s, t in zip((*at.p, *at.q), (*at.w, *at.x), strict=True)]
    adot, size = abs(sum(products, mpf(at.r))), sum(map(abs, products), abs(mpf(at.r)))
    three = number(second.preactivation)
    error = three * (1 + u) + u * size + lost if three else mpf(0)
    a = sum((mpf(x) * w for x, w in zip(at.x, at.w, strict=True)), mpf(at.b))
    g, y, s = abs(mpf(at.g)), abs(mpf(mpmath.tanh(a))), mpmath.sech(a) ** 2

    def given(value: Any) -> Any:
        return 2 * abs(value) if flush and abs(value) < normal else abs(value)

    def one(value: Any) -> Any:
        return max(mpf(1), value)

    found = []
    for name in RUNGS:
        rung = getattr(bounds, name)
        s_reach = s + number(getattr(first, name).sech2) + lost
        reach = [given(g), y + number(first.output) + lost, s_reach, adot + error + lost]
        c, c_reach = 2 * g * y * s * adot, 2 * mpmath.fprod(reach)
        weight = 2 * mpmath.fprod(map(one, reach))
        c_bound = c_reach * (1 + u) ** 3 - c + least * (1 + u) ** 3 * (2 + (2 + flush) * weight)
        some = all(reach)  # a product with a factor that is 0 for sure is 0
        found.append((f"{name} c", c_bound * some, number(rung.bias)))
        values = [*product.inputs, *product.weights]
        for (m, t), value in zip(at.factors(), values, strict=True):
            m, t = abs(mpf(m)), abs(mpf(t))
            of_c = given(m) * c_reach * (1 + u) ** 4 - m * c
            of_c += least * (1 + u) ** 4 * (2 + (3 + flush) * weight * one(m))
            of_d = given(g) * given(t) * s_reach * (1 + u) ** 2 - g * t * s
            of_d += (
                least * (1 + u) ** 2 * (1 + (1 + flush) * one(s_reach) * (one(given(g)) + one(t)))
            )
            lower, _ = value.enclosure(200)
            terms = of_c * bool(m and some) + of_d * bool(t)
            whole = terms * (1 + u) + u * abs(number(lower)) + lost if terms else terms
            found.append(
                (name, whole, number(rung.element(exact(float(m)), exact(float(t)), value)))
            )
    return found


@pytest.mark.parametrize("flush", [False, True], ids=["gradual underflow", "flush to zero"])
@each_format
def test_the_bounds_are_their_formulas_rounded_outwards(format: Format, flush: bool) -> None:
    """At least the formula, and at most 2^-40 of it more."""
    arithmetic = default_arithmetic(format, flush_to_zero=flush)
    for at in [*points(format, 1, 60), *(tiny_points(24) if format is BINARY32 else [])]:
        for name, expected, bound in formulas(at, arithmetic):
            assert expected <= bound <= expected * (1 + mpf(2) ** -40), (name, at)


@each_format
def test_the_ladder_is_monotone(format: Format) -> None:
    """The textbook bound is never below the stable one, and now and then above it."""
    above = 0
    for at in points(format, 6, 100):
        bounds, product = at.bounds(default_arithmetic(format)), at.product(format)
        assert compare(bounds.stable.bias, bounds.textbook.bias) <= 0
        above += compare(bounds.stable.bias, bounds.textbook.bias) < 0
        for value, (m, t) in zip((*product.inputs, *product.weights), at.factors(), strict=True):
            stable, textbook = (
                rung.element(exact(m), exact(t), value) for rung in (bounds.stable, bounds.textbook)
            )
            assert compare(stable, textbook) <= 0
    assert above > 15


# Where nothing can go wrong, and where there is no bound.

PLAIN = Point((0.5, 0.25), (0.75, -1.5), 0.125, 1.5, (1.0, 0.0), (0.5, 0.0), 0.25)


@pytest.mark.parametrize("flush", [False, True], ids=["gradual underflow", "flush to zero"])
@each_format
def test_an_exact_zero_has_no_error(format: Format, flush: bool) -> None:
    """g = 0; or a lane where both factors are 0."""
    arithmetic = default_arithmetic(format, flush_to_zero=flush)
    zero = replace(PLAIN, g=0.0)
    rung = zero.bounds(arithmetic).textbook
    assert 0 == rung.bias.mantissa
    for value, (m, t) in zip(zero.product(format).inputs, zero.factors(), strict=False):
        assert 0 == rung.element(exact(m), exact(t), value).mantissa
    lane = replace(PLAIN, w=(0.75, 0.0))
    value = lane.product(format).inputs[1]
    assert 0 == lane.bounds(arithmetic).textbook.element(0.0, 0.0, value).mantissa


@each_format
def test_a_tangent_that_is_exact_in_any_order_has_no_error(format: Format) -> None:
    """Along the bias adot is 1: half as much of the bound as with a rounding error of its own."""
    along = replace(PLAIN, p=(0.0, 0.0), q=(0.0, 0.0), r=1.0)
    nearly = replace(along, p=(2.0**-10, 0.0), r=1.0)
    first, second = (
        number(at.bounds(default_arithmetic(format, activation_ulps=0)).stable.bias)
        for at in (along, nearly)
    )
    assert first < second


def test_there_is_no_bound_where_gamma_is_undefined() -> None:
    """2n u_acc < 1 is needed: with 4 bits n may be 7."""
    toy = Format("toy", precision=4, emax=15, width=8)
    arithmetic = default_arithmetic(BINARY16, accumulation=toy)
    for n, defined in ((7, True), (8, False), (16, False)):
        ones = (0.125,) * n
        product = Point(ones, ones, 0.0, 1.0, ones, ones, 1.0).product(BINARY16)
        assert defined == (hessian_product_bounds(product, arithmetic) is not None)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (False, False, False, False)),
        ({"x": (300.0, 0.25), "w": (300.0, -1.5), "p": (0.0, 0.0)}, (True, False, False, True)),
        ({"p": (65504.0, 0.0), "w": (4.0, 0.0), "g": 2.0**-14}, (False, True, True, True)),
        ({"g": 60000.0}, (False, False, True, True)),
        ({"g": 30000.0, "q": (5.0, 0.0)}, (False, False, True, True)),
        ({"g": 256.0, "r": 200.0}, (False, False, True, True)),
        ({"g": 256.0, "q": (300.0, 0.0), "r": -150.0}, (False, False, False, True)),
    ],
    ids=str,
)
def test_where_an_overflow_may_come(
    change: dict[str, Any], expected: tuple[bool, bool, bool, bool]
) -> None:
    """In binary16: in a, in adot, in a partial product of c, in one of the first element."""
    at = replace(PLAIN, **change)
    bounds = at.bounds(default_arithmetic(BINARY16))
    m, t = at.factors()[0]
    found = (
        *bounds.overflow,
        bounds.textbook.overflow_possible(ONE, 0.0),
        bounds.textbook.overflow_possible(exact(m), exact(t)),
    )
    assert expected == found


def test_many_terms_and_wide_accumulation_are_no_trouble() -> None:
    """400 terms of bfloat16: within, though each product is rounded to 8 bits."""
    arithmetic = default_arithmetic(BFLOAT16)
    op, wide = Nearest(BFLOAT16), Nearest(BINARY32)
    draw = random.Random(3)

    def vector(scale: float) -> tuple[float, ...]:
        return tuple(BFLOAT16.round(dyadic(draw.uniform(-scale, scale))) for _ in range(400))

    at = Point(vector(1), vector(0.1), 0.5, 1.0, vector(1), vector(1), 0.25)
    computed = evaluated(
        op, wide, at, FORMS["tanh_backward twice"], TEXTBOOK, lambda a: op.sum(mpmath.tanh(a))
    )
    parts = used(at, arithmetic, computed)
    assert 0.001 < parts["textbook"] <= 1


def test_the_helpers_of_this_file() -> None:
    """Points are members, and the adversary is off by exactly u."""
    for format in (BINARY16, BINARY64):
        for at in points(format, 1, 50):
            values = (*at.x, *at.w, at.b, at.g, *at.p, *at.q, at.r)
            assert all(map(format.contains, values))
    assert mpf(1) + mpf(2) ** -24 == Adversary(BINARY32, lambda: 1).sum(mpf(1))
    assert 2048.0 == Nearest(BINARY16).sum(mpf(2049))
