"""The oracle against MPFR, through gmpy2, bit for bit after rounding; and against Arb's balls.

MPFR judges: it rounds tanh correctly by itself. g * sech^2(a) and its multiples are no functions of
MPFR's, so for them MPFR's directed roundings enclose the value ever more tightly until both ends
round alike (Ziv, 1991). Rounding to a format is MPFR's own, with its emulation of subnormals.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import copysign, inf
from typing import Any

import pytest

from reference.dyadic import Dyadic, compare, from_float
from reference.elementary import tanh_sech2
from reference.exact import Exact
from reference.formats import FORMATS, Format
from reference.neuron import neuron

gmpy2 = pytest.importorskip("gmpy2", reason="gmpy2 (MPFR) is the judge; install gmpy2")

JUDGE = f"judged by {gmpy2.mpfr_version()} (gmpy2 {gmpy2.version()})"
FULL_COUNT = 100_000
THIN_COUNT = 3_000

#: Wide enough for every number met on the way; the default exponent range of gmpy2 is not.
_LIMITS = {"emax": gmpy2.get_emax_max(), "emin": gmpy2.get_emin_min()}


# The judge.


def mpfr(value: Dyadic) -> Any:
    """The dyadic as an MPFR number, exactly."""
    precision = max(2, value.mantissa.bit_length())
    with gmpy2.context(precision=precision, **_LIMITS):
        number = gmpy2.mpfr(value.mantissa)
        if value.exponent >= 0:
            return gmpy2.mul_2exp(number, value.exponent)
        return gmpy2.div_2exp(number, -value.exponent)


def target(format: Format) -> Any:
    """MPFR's context for a format: MPFR's significands lie in [1/2, 1), so exponents are 1 more."""
    return gmpy2.context(
        precision=format.precision,
        emax=format.emax + 1,
        emin=format.emin - format.precision + 2,
        subnormalize=True,
        round=gmpy2.RoundToNearest,
    )


def rounded(value: Any, format: Format) -> float:
    """An MPFR number rounded to a format by MPFR."""
    with target(format) as context:
        return float(context.plus(value))


def judged_tanh(a: Dyadic, format: Format) -> float:
    """MPFR's correctly rounded tanh, straight into the format."""
    number = mpfr(a)
    with target(format):
        return float(gmpy2.tanh(number))


@dataclass
class Slope:
    """sech^2 of one argument, enclosed by MPFR's directed roundings."""

    argument: Any
    ends: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def enclosed(self, precision: int) -> tuple[Any, Any]:
        """Lower and upper bound of sech^2 at `precision` bits."""
        if precision not in self.ends:
            bounds = []
            for direction in (gmpy2.RoundDown, gmpy2.RoundUp):
                with gmpy2.context(precision=precision, round=direction, **_LIMITS):
                    bounds.append(gmpy2.square(gmpy2.sech(self.argument)))
            self.ends[precision] = (bounds[0], bounds[1])
        return self.ends[precision]

    def times(self, factor: Dyadic, format: Format) -> float:
        """factor * sech^2, rounded once."""
        multiplier = mpfr(factor)
        precision = 160
        while True:
            results = []
            for end in self.enclosed(precision):
                with gmpy2.context(precision=precision + 130, **_LIMITS):
                    product = gmpy2.mul(end, multiplier)  # exact: 130 bits hold every factor here
                results.append(rounded(product, format))
            if same(*results):
                return results[0]
            precision *= 2


def same(left: float, right: float) -> bool:
    """Equal, the signs of zeros included."""
    return left == right and copysign(1, left) == copysign(1, right)


# The values.


@dataclass(frozen=True)
class Point:
    """A neuron's inputs. `weights` composes the preactivation from the pieces in `inputs`."""

    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    upstream_gradient: float


def split(value: Dyadic) -> list[float]:
    """Binary64 numbers whose sum is `value`: 50 bits each, so more bits than any float holds."""
    pieces = []
    mantissa, exponent = abs(value.mantissa), value.exponent
    sign = -1.0 if value.mantissa < 0 else 1.0
    while mantissa:
        low = mantissa & (2**50 - 1)
        if low:
            pieces.append(sign * low * 2.0**exponent)
        mantissa >>= 50
        exponent += 50
    return pieces


def composed(a: Dyadic, upstream_gradient: float, multiplier: float, scale: int) -> Point:
    """A neuron whose preactivation is exactly `a`, made of products with powers of two.

    Its last input is 0 with the weight `multiplier`, which leaves `a` alone and makes
    d * multiplier an input gradient.
    """
    *pieces, last = split(a) or [0.0]
    weight = 2.0**scale
    return Point(
        inputs=(*(piece / weight for piece in pieces), 0.0),
        weights=(*(weight for _ in pieces), multiplier),
        bias=last,
        upstream_gradient=upstream_gradient,
    )


class Points:
    """Neurons of every kind for one format, from one seed."""

    def __init__(self, format: Format, seed: int) -> None:
        self.format = format
        self.random = random.Random(f"{format.name} {seed}")

    def __iter__(self) -> Iterator[Point]:
        while True:
            yield self.ordinary()
            yield self.special()
            yield self.subnormal()
            yield self.exact_tie()
            yield self.saturating()
            for _ in range(2):
                yield self.near_tie_of_tanh()
                yield self.near_tie_of_gradient()
                yield self.near_tie_under_a_product()

    def member(self, low: int, high: int) -> float:
        """A member of the format with an exponent in [low, high] and either sign."""
        draw = self.random
        mantissa = draw.getrandbits(self.format.precision) | 1 << self.format.precision - 1
        value = Dyadic(mantissa, draw.randint(low, high) - self.format.precision + 1)
        return draw.choice((1.0, -1.0)) * self.format.round(value)

    def ordinary(self) -> Point:
        """A few products and a bias, of sizes where tanh bends."""
        n = self.random.randint(0, 3)
        inputs = tuple(self.member(-6, 2) for _ in range(n))
        weights = tuple(self.member(-6, 2) for _ in range(n))
        return Point(inputs, weights, self.member(-9, 1), self.member(-8, 8))

    def special(self) -> Point:
        """Zeros, ones, powers of two, the smallest and the largest numbers."""
        f = self.format
        landmarks = [0.0, -0.0, 1.0, -1.0, 2.0, f.from_ordinal(1), f.from_ordinal(-3)]
        landmarks += [2.0**f.emin, f.next_down(2.0**f.emin), f.next_down(inf), f.next_up(-inf)]
        landmarks += [f.next_up(1.0), f.next_down(1.0), 2.0 ** (f.emin // 2), 2.0**-f.precision]
        pick = self.random.choice
        return Point((pick(landmarks),), (pick(landmarks),), pick(landmarks), pick(landmarks))

    def subnormal(self) -> Point:
        """Subnormal inputs, gradients and products."""
        subnormals = 1 << self.format.precision - 1
        tiny = self.format.from_ordinal(self.random.randint(-subnormals, subnormals))
        other = self.format.from_ordinal(self.random.randint(-subnormals, subnormals))
        return Point((self.member(-2, 2),), (tiny,), self.member(-3, 1), other)

    def saturating(self) -> Point:
        """A large preactivation, and a gradient that brings sech^2 back among the subnormals."""
        a = self.random.uniform(2, -self.format.least_ulp_exponent * 0.36)
        lift = self.random.randint(0, self.format.emax)
        return composed(from_float(a), self.member(0, lift), self.member(-3, 3), 0)

    def exact_tie(self) -> Point:
        """g * w is exactly a tie, and sech^2 is 1, or less than 1 by 2^-200."""
        f = self.format
        half = f.precision // 2 + 1
        odd = [self.random.getrandbits(half) << 1 | 1 << half | 1 for _ in range(2)]
        place = self.random.choice((0, f.least_ulp_exponent))
        if place:  # (2k + 1) half-subnormals
            g, w = (
                odd[0] * 2.0 ** (f.least_ulp_exponent // 2),
                2.0 ** (f.least_ulp_exponent - f.least_ulp_exponent // 2 - 1),
            )
        else:
            product = odd[0] * odd[1]
            g, w = float(odd[0]), float(odd[1])
            excess = product.bit_length() - f.precision
            if excess > 1:  # one factor less wide, so that the last bit is half an ulp
                w = float(odd[1] >> excess - 1 | 1)
        a = self.random.choice((Dyadic(0, 0), Dyadic(1, -100), Dyadic(-1, -40), Dyadic(1, -20)))
        return composed(a, g, self.random.choice((w, -w)), 0)

    def midpoint(self, low: float, high: float) -> Dyadic:
        """Halfway between two neighbouring members, drawn by place among those in [low, high]."""
        ordinal = self.random.randint(self.format.ordinal(low), self.format.ordinal(high) - 1)
        below = from_float(self.format.from_ordinal(ordinal))
        quantum = self.format.ulp_exponent(below)
        shift = quantum - below.exponent
        kept = below.mantissa >> shift if shift >= 0 else below.mantissa << -shift
        return Dyadic(2 * kept + 1, quantum - 1)

    def near(self, argument: Callable[[], Any]) -> Dyadic:
        """A dyadic of 60 to 190 bits next to what `argument` computes, from either side."""
        with gmpy2.context(precision=320, **_LIMITS):
            value = argument()
        mantissa, exponent = value.as_mantissa_exp()
        drop = int(mantissa).bit_length() - self.random.randint(60, 190)
        kept = (int(mantissa) >> drop) + self.random.randint(0, 1)
        return Dyadic(self.random.choice((1, -1)) * kept, int(exponent) + drop)

    def near_tie_of_tanh(self) -> Point:
        """tanh(a) next to a midpoint: a is atanh of the midpoint, cut off after many bits."""
        least = max(self.format.from_ordinal(1), 2.0**-300)  # the pieces of a are binary64 numbers
        low = self.random.choice((least, 2.0**-8, 0.5))
        middle = mpfr(self.midpoint(low, 1.0))
        a = self.near(lambda: gmpy2.atanh(middle))
        return composed(a, self.member(-4, 4), self.member(-4, 4), self.random.randint(-9, 9))

    def near_tie_of_gradient(self) -> Point:
        """g sech^2(a) next to a midpoint M, subnormal ones too: a is acosh(sqrt(g / M))."""
        g = abs(self.member(-4, 4))
        a = self.argument_of_slope(g)
        return composed(a, self.random.choice((g, -g)), self.member(-4, 4), 0)

    def near_tie_under_a_product(self) -> Point:
        """g sech^2(a) w next to a midpoint."""
        g, w = abs(self.member(-3, 3)), abs(self.member(-3, 3))
        a = self.argument_of_slope(g, w)
        return composed(a, g, self.random.choice((w, -w)), 0)

    def argument_of_slope(self, *factors: float) -> Dyadic:
        """a with sech^2(a) times the factors next to a midpoint of the format."""
        with gmpy2.context(precision=320, **_LIMITS):
            whole = gmpy2.mpfr(1)
            for factor in factors:
                whole = gmpy2.mul(whole, gmpy2.mpfr(factor))
        lowest = self.random.choice((1, 1 << self.format.precision - 1))
        low = self.format.from_ordinal(lowest) if self.random.random() < 0.5 else float(whole) / 64
        high = self.format.round_down(from_float(float(whole) * 0.999))
        middle = mpfr(self.midpoint(self.format.round(from_float(low)), high))
        return self.near(lambda: gmpy2.acosh(gmpy2.sqrt(gmpy2.div(whole, middle))))


# The comparison.


@dataclass
class Tally:
    """What was compared."""

    values: int = 0
    near_ties: int = 0
    exact_ties: int = 0
    subnormal: int = 0


def is_tie(value: Dyadic, format: Format) -> bool:
    """Whether a dyadic lies exactly halfway between two members."""
    below, above = format.round_down(value), format.round_up(value)
    if below == above or inf in (above, -below):
        return False
    doubled = Dyadic(2 * value.mantissa, value.exponent)
    low, high = from_float(below), from_float(above)
    common = min(low.exponent, high.exponent)
    total = Dyadic(
        (low.mantissa << low.exponent - common) + (high.mantissa << high.exponent - common), common
    )
    return compare(doubled, total) == 0


def compared(format: Format, count: int, seed: int) -> Tally:
    """Compare output, bias gradient and every product of `count` neurons; raise on a difference."""
    tally = Tally()
    for _, point in zip(range(count), Points(format, seed), strict=False):
        exact = neuron(
            point.inputs, point.weights, point.bias, point.upstream_gradient, format=format
        )
        a = exact.preactivation
        argument = a if isinstance(a, Dyadic) else Dyadic(0, 0)
        slope = Slope(mpfr(argument))
        expected = judged_tanh(argument, format) if isinstance(a, Dyadic) else a
        check(point, "output", expected, exact.output.rounded(format))
        for name, real in [
            ("bias_gradient", exact.bias_gradient),
            ("input_gradient", exact.input_gradient[-1] if exact.input_gradient else None),
            ("weight_gradient", exact.weight_gradient[0] if exact.weight_gradient else None),
        ]:
            if real is None:
                continue
            factor: Exact = real.factor
            wanted = slope.times(factor, format) if isinstance(factor, Dyadic) else factor
            check(point, name, wanted, real.rounded(format))
            if isinstance(factor, Dyadic) and not argument.mantissa:
                tally.exact_ties += is_tie(factor, format)
            tally.subnormal += 0 < abs(wanted) < 2.0**format.emin
        tally.values += 1
        for real in (exact.output, exact.bias_gradient, *exact.input_gradient[-1:]):
            if isinstance(real.factor, Dyadic) and real.curve is not None:
                lower, upper = real.enclosure(54)
                tally.near_ties += format.round(lower) != format.round(upper)
    return tally


def check(point: Point, name: str, expected: float, actual: float) -> None:
    """Raise unless the two are one float."""
    assert same(expected, actual), (
        f"{name} of {point}: the oracle says {actual.hex()}, {JUDGE}: {expected.hex()}"
    )


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: f"{format.name} {JUDGE}")
@pytest.mark.parametrize(
    "count",
    [THIN_COUNT, pytest.param(FULL_COUNT, marks=pytest.mark.slow)],
    ids=lambda count: f"{count} values",
)
def test_the_oracle_rounds_as_mpfr_does(
    format: Format, count: int, record_property: Callable[[str, object], None]
) -> None:
    """Output, bias gradient and products are one float in both, for every kind of value."""
    record_property("judge", JUDGE)
    tally = compared(format, count, seed=count)
    assert count == tally.values
    # The values are what they are said to be: ties within 2^-54, exact ties, subnormal results.
    assert tally.near_ties > count // 4
    assert tally.exact_ties > count // 100
    assert tally.subnormal > count // 50


# The judge and the values, judged.


@pytest.mark.parametrize(
    ("value", "format", "expected"),
    [
        (Dyadic(3, -1075), "binary64", 2.0**-1073),
        (Dyadic(1, -1075), "binary64", 0.0),
        (Dyadic(2**60 + 1, -1135), "binary64", 2.0**-1074),
        (Dyadic(65519, 0), "binary16", 65504.0),
        (Dyadic(65520, 0), "binary16", inf),
        (Dyadic(-(2**12) - 2**11 + 1, -36), "binary16", -(2.0**-24)),
        (Dyadic(257, 0), "bfloat16", 256.0),
        (Dyadic(259, 0), "bfloat16", 260.0),
        (Dyadic(3, -134), "bfloat16", 2.0**-132),
        (Dyadic(2**60 + 2**36 + 1, -60), "binary32", 1 + 2.0**-23),
    ],
    ids=lambda value: str(value),
)
def test_mpfr_rounds_to_the_formats(value: Dyadic, format: str, expected: float) -> None:
    """The judge's contexts have the formats' precision, range and subnormals."""
    (target_format,) = (each for each in FORMATS if each.name == format)
    assert expected == rounded(mpfr(value), target_format)


def test_pieces_add_up() -> None:
    """`split` and `composed` lose no bit of a 190-bit preactivation."""
    a = Dyadic(-(3**119), -150)
    point = composed(a, 1.0, 2.0, 5)
    built = neuron(point.inputs, point.weights, point.bias, 1.0).preactivation
    assert isinstance(built, Dyadic)
    assert (compare(a, built), a.mantissa.bit_length()) == (0, 189)


def test_ties_are_told_from_near_ties() -> None:
    """`is_tie` is exact."""
    assert [True, False, False] == [
        is_tie(value, FORMATS[0])
        for value in (Dyadic(2049, 0), Dyadic(2**60 * 2049 + 1, -60), Dyadic(2048, 0))
    ]


@pytest.mark.parametrize("bits", [60, 200, 800], ids=lambda bits: f"{bits} bits")
def test_enclosures_meet_arbs_balls(bits: int) -> None:
    """Arb's balls, at twice the precision, lie inside the oracle's enclosures."""
    flint = pytest.importorskip("flint", reason="Arb is the judge; install python-flint")
    draw = random.Random(bits)
    before = flint.ctx.prec
    flint.ctx.prec = 2 * bits + 1500
    try:
        for _ in range(400):
            mantissa = draw.choice((1, -1)) * draw.getrandbits(draw.randint(1, 150)) or 1
            a = Dyadic(mantissa, draw.randint(-160, 9) - mantissa.bit_length())
            ball = flint.arb(a.mantissa) * flint.arb(2) ** a.exponent
            for enclosure, judge in zip(
                tanh_sech2(a, bits), (ball.tanh(), ball.sech() ** 2), strict=True
            ):
                low, high = (
                    flint.arb(end.mantissa) * flint.arb(2) ** end.exponent for end in enclosure
                )
                assert low < judge < high, f"a = {a}, judged by Arb (python-flint)"
    finally:
        flint.ctx.prec = before
