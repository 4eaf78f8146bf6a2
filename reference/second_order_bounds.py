"""A-priori bounds of a Hessian-vector product: what a sound double backward may be off by.

Notation as in `reference.bounds` and `reference.second_order`: D, By and Ds bound the errors of a,
y and s = sech^2(a) there, Ds by the textbook formula or by the stable one, and so there are two
bounds here too. Everything else is sums and products of a few factors, so one model serves every
order in which they may be formed:

    adot = p.w + q.x + r        |d adot| <= Dt = k S + (1+k) (2n+1) eta/2
                                k = (1+u)^4 (1+gamma_2n) - 1,  S = sum|p_i w_i| + sum|q_i x_i| + |r|
    c = -2 g y s adot           |dc| <= 2 g [(y+By) (s+Ds) (|adot|+Dt) (1+u)^3 - y s |adot|] + E3
    h = c m + d t               |dh| <= (dc' + dd') (1+u) + u |h|
      c m, d t                  dc' = 2 g m [(y+By) (s+Ds) (|adot|+Dt) (1+u)^4 - y s |adot|] + E4
                                dd' = g t [(s+Ds) (1+u)^2 - s] + E2

with g, y, m, t in magnitude; (m, t) is (w_i, q_i) or (x_i, p_i).

adot. Besides those of the accumulation, at most 2n, a term meets four roundings to the format: that
of its product, that of p.w or q.x where the sum is accumulated elsewhere, and two where the three
numbers are added; or those of its product, of w_i p_i + x_i q_i where terms are paired first, of
the sum, and of the sum plus r. Dt is 0 where adot comes out exact in any order.

Products. Doubling and negation are exact. k multiplications of k+1 factors round k times, whatever
the order: torch forms (adot (-2 y g)) s and, from g (1 - y^2) as a formula, ((g adot) 2y) s;
forward mode g (-2 y (s adot)); by hand -2 y adot d. y and s share the error of a, so that where D
dominates the bound is larger than need be, by (1 + y^2) / |1 - 3 y^2|; in return it holds for
those that form a twice.

h. The same count covers d (t - 2 y adot m): one multiplication less before the sum, one more after
it, on h, and |h| <= |c m| + |d t|.

Underflow. A partial product off by eta/2 is multiplied by the factors still to come, which are at
most all factors above 1 but two:

    Ek = eta/2 (1+u)^k (1 + (k-1) W),   W the product of all max(1, factor); twice that for c, c m
    E2 = eta/2 (1+u)^2 (1 + max(1, s+Ds) (max(1, g) + max(1, t)))

Overflow. A partial product is at most 2 W, so that it cannot overflow where 2 W cannot.

With flush-to-zero a subnormal factor may be read as 0, so its error is its size, or the least
normal number N for what is computed; and a product or a sum below N may be off by N.

What these bounds do not explain: 1 - y^2 formed as (1-y)(1+y), or as 4t/(1+t)^2, and differentiated
term by term. Sound at first order, both give y as a difference of numbers near 1, so that c loses
all its bits as y nears 0.

All arithmetic on bounds rounds up, to 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

from reference.bounds import Arithmetic, neuron_bounds, overflow_possible
from reference.dyadic import (
    ONE,
    ZERO,
    Dyadic,
    add,
    compare,
    magnitude,
    multiply,
    subtract,
)
from reference.elementary import tanh_sech2
from reference.exact import Exact
from reference.formats import Format
from reference.outward import larger, total, twice, up
from reference.real import Real
from reference.second_order import ExactHessianProduct

_CURVE_BITS = 96


class HessianOverflow(NamedTuple):
    """Whether an overflow is possible on the way: in the preactivation, in its tangent adot."""

    preactivation: bool
    tangent: bool


class _Term(NamedTuple):
    """The bound of a product of the neuron's own factors, such as c, times one argument more:
    |argument| * slope + once + max(1, |argument|) * later, the last two for underflows; all 0 where
    a factor is 0. A subnormal argument read as 0 costs |argument| * reach besides."""

    slope: Dyadic
    once: Dyadic
    later: Dyadic
    reach: Dyadic

    def bound(self, size: Dyadic, subnormal: Dyadic) -> Dyadic:
        """The bound for an argument of this magnitude, where those below `subnormal` may be 0."""
        if not size.mantissa or not self.reach.mantissa:
            return ZERO
        found = add(multiply(size, self.slope), self.once)
        found = add(found, multiply(_at_least_one(size), self.later))
        if compare(size, subnormal) < 0:
            found = add(found, multiply(size, self.reach))
        return found


@dataclass(frozen=True, slots=True)
class HessianProductBound:
    """Bounds of the elements of H v: |dc| <= `bias`, |d(c m + d t)| <= `element(m, t, c m + d t)`.

    `curvature` and `gradient` bound c m and d t, each enlarged by the rounding of their sum;
    `largest` is what no partial product of c exceeds, `largest_gradient` the same of d.
    """

    bias: Dyadic
    curvature: _Term
    gradient: _Term
    largest: Dyadic
    largest_gradient: Dyadic
    rounding: _Rounding

    def element(self, multiplier: Exact, tangent: Exact, value: Real) -> Dyadic:
        """The bound of `value` = c * multiplier + d * tangent, all of them finite."""
        subnormal = self.rounding.lost
        terms = add(
            self.curvature.bound(_magnitude(multiplier), subnormal),
            self.gradient.bound(_magnitude(tangent), subnormal),
        )
        if not terms.mantissa:
            return ZERO
        rounded = multiply(self.rounding.unit, _size(value))
        return up(add(terms, add(rounded, self.rounding.lost)))

    def overflow_possible(self, multiplier: Exact, tangent: Exact) -> bool:
        """Whether a partial product of c * multiplier or d * tangent may overflow."""
        threshold = self.rounding.format.overflow_threshold
        return any(
            compare(multiply(largest, _at_least_one(_magnitude(factor))), threshold) >= 0
            for largest, factor in (
                (self.largest, multiplier),
                (self.largest_gradient, tangent),
            )
        )


@dataclass(frozen=True, slots=True)
class HessianProductBounds:
    """Bounds of H v by the stable and by the textbook formula, and where an overflow may come."""

    stable: HessianProductBound
    textbook: HessianProductBound
    overflow: HessianOverflow


def hessian_product_bounds(
    product: ExactHessianProduct, arithmetic: Arithmetic
) -> HessianProductBounds | None:
    """The bounds at `product`, or None where n u_acc >= 1/2, so that there are none."""
    neuron, tangent = product.neuron, product.tangent
    first, second = neuron_bounds(neuron, arithmetic), neuron_bounds(tangent, arithmetic)
    if first is None or second is None:
        return None
    rounding = _Rounding(arithmetic.format, arithmetic.flush_to_zero)
    overflow = HessianOverflow(
        any(overflow_possible(neuron, arithmetic, first)),
        any(overflow_possible(tangent, arithmetic, second)),
    )
    a = neuron.preactivation
    curves = tanh_sech2(magnitude(a) if isinstance(a, Dyadic) else ZERO, _CURVE_BITS)
    g = rounding.given(neuron.upstream_gradient)
    y = rounding.computed(curves.tanh.upper, first.output)
    adot = rounding.computed(
        _magnitude(tangent.preactivation),
        _tangent_error(second.preactivation, tangent.absolute_sum, rounding),
    )
    stable, textbook = (
        _bound(g, y, rounding.computed(curves.sech2.upper, sech2), adot, rounding)
        for sech2 in (first.stable.sech2, first.textbook.sech2)
    )
    return HessianProductBounds(stable, textbook, overflow)


def _tangent_error(three_roundings: Dyadic, absolute_sum: Dyadic, rounding: _Rounding) -> Dyadic:
    """Dt from the error of the tangent's preactivation, whose bound has three roundings for four;
    0 stays, for then no order of evaluation rounds."""
    if not three_roundings.mantissa:
        return ZERO
    return total(
        multiply(three_roundings, rounding.grown(1)),
        multiply(rounding.unit, absolute_sum),
        rounding.lost,
    )


def _bound(
    g: _Factor, y: _Factor, s: _Factor, adot: _Factor, rounding: _Rounding
) -> HessianProductBound:
    c, d = _Product((g, y, s, adot)), _Product((g, s))
    of_c, of_d = rounding.grown(4), rounding.grown(2)
    bias = ZERO
    if c.reach.mantissa:
        events = add(rounding.event(3), multiply(c.weight, rounding.later_events(3)))
        bias = twice(up(add(c.error(rounding.grown(3)), events)))
    in_sum = rounding.grown(1)
    curvature = _Term(
        slope=multiply(c.error(of_c), in_sum),
        once=multiply(rounding.event(4), in_sum),
        later=multiply(multiply(c.weight, rounding.later_events(4)), in_sum),
        reach=multiply(multiply(c.reach, of_c), in_sum),
    )
    # An underflow of s t meets g alone, one of g s meets t alone.
    later = multiply(multiply(_at_least_one(s.reach), rounding.later_events(2)), in_sum)
    gradient = _Term(
        slope=multiply(d.error(of_d), in_sum),
        once=add(multiply(rounding.event(2), in_sum), multiply(_at_least_one(g.reach), later)),
        later=later,
        reach=multiply(multiply(d.reach, of_d), in_sum),
    )
    return HessianProductBound(
        bias=bias,
        curvature=_Term(*(up(twice(each)) for each in curvature)),
        gradient=_Term(*map(up, gradient)),
        largest=twice(multiply(c.weight, rounding.grown(4))),
        largest_gradient=multiply(d.weight, rounding.grown(2)),
        rounding=rounding,
    )


class _Factor(NamedTuple):
    """A factor of a product: its exact magnitude, rounded up, and the bound of its error."""

    size: Dyadic
    error: Dyadic

    @property
    def reach(self) -> Dyadic:
        """What its computed magnitude may be."""
        return add(self.size, self.error)


class _Product(NamedTuple):
    """A product of factors."""

    factors: tuple[_Factor, ...]

    @property
    def reach(self) -> Dyadic:
        """What its magnitude may be, before any rounding of its own."""
        return _product(factor.reach for factor in self.factors)

    @property
    def weight(self) -> Dyadic:
        """The product of the factors above 1: no product of some of them is larger."""
        return _product(_at_least_one(factor.reach) for factor in self.factors)

    def error(self, growth: Dyadic) -> Dyadic:
        """The bound of its error, with `growth` for its roundings."""
        exact = _product(factor.size for factor in self.factors)
        return up(subtract(multiply(self.reach, growth), exact))


class _Rounding(NamedTuple):
    """How the format rounds."""

    format: Format
    flushed: bool

    @property
    def unit(self) -> Dyadic:
        """u."""
        return self.format.unit_roundoff

    @property
    def lost(self) -> Dyadic:
        """What a sum may lose to flushing."""
        return self.format.smallest_normal if self.flushed else ZERO

    def grown(self, roundings: int) -> Dyadic:
        """(1+u)^roundings."""
        return _product(repeat(add(ONE, self.unit), roundings))

    def event(self, multiplications: int) -> Dyadic:
        """What an underflow of the last multiplication may cost."""
        least = self.lost if self.flushed else Dyadic(1, self.format.least_ulp_exponent - 1)
        return multiply(least, self.grown(multiplications))

    def later_events(self, multiplications: int) -> Dyadic:
        """What underflows of the others cost for each unit that still multiplies them; with
        flush-to-zero the doubling may underflow as well."""
        others = Dyadic(multiplications - 1 + self.flushed, 0)
        return multiply(others, self.event(multiplications))

    def given(self, value: Exact) -> _Factor:
        """A factor that is an argument."""
        size = _magnitude(value)
        vanishes = self.flushed and compare(size, self.format.smallest_normal) < 0
        return _Factor(size, size if vanishes else ZERO)

    def computed(self, size: Dyadic, error: Dyadic) -> _Factor:
        """A factor that is computed with an error."""
        return _Factor(size, total(error, self.lost))


def _magnitude(value: Exact) -> Dyadic:
    return magnitude(value) if isinstance(value, Dyadic) else ZERO


def _size(value: Real) -> Dyadic:
    lower, upper = value.first_enclosure
    return upper if upper.mantissa > 0 else magnitude(lower)


def _product(factors: Iterable[Dyadic]) -> Dyadic:
    value = ONE
    for factor in factors:
        value = multiply(value, factor)
    return value


def _at_least_one(value: Dyadic) -> Dyadic:
    return larger(value, ONE)
