"""How each regime of a neuron is reached: inputs, weights and bias that lead where it lies.

A builder draws the quantity that defines its regime (the preactivation, the product, the sum) and
then numbers that add up to it; `Drawing.form` picks among the ways, 0 being the simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from harness.case import Case
from harness.landmarks import Landmarks, landmarks
from harness.strategies.drawing import (
    NONEMPTY_SIZES,
    ORDERS,
    SIZES,
    Below,
    Drawing,
    alternate,
    exact_sum,
    replaced,
    shifted,
    subnormals,
)
from harness.strategies.members import (
    Window,
    largest_ordinal,
    power_ordinal,
    powers,
    scatter,
)
from harness.strategies.regimes import Regime
from reference.dyadic import from_float, negate
from reference.formats import Format


class Terms(NamedTuple):
    """The operands of a preactivation."""

    inputs: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float


def _ordinary(format: Format) -> Window:
    return powers(format, -3, 3)


def _empty(drawing: Drawing) -> Terms:
    format = drawing.format
    everywhere = Window(format, 1, largest_ordinal(format))
    window = everywhere if drawing.form & 1 else powers(format, -8, 7)
    return Terms((), (), drawing.value(window))


def _zeros(drawing: Drawing) -> Terms:
    zeros = drawing.zeros()
    bias = -0.0 if drawing.form & 1 else 0.0
    if drawing.form < 2 or not drawing.n:
        return Terms(zeros, zeros[::-1], bias)
    others = drawing.vector(_ordinary(drawing.format))
    if drawing.form < 4:
        return Terms(zeros, others, bias)
    if drawing.form < 6 or drawing.uniform:
        return Terms(others, zeros, bias)
    return Terms(alternate(zeros, others), alternate(others, zeros), bias)


def _tiny(drawing: Drawing) -> Terms:
    format = drawing.format
    small, ordinary = subnormals(format), _ordinary(format)
    if drawing.form < 4:
        inputs, weights = drawing.vector(small), drawing.vector(ordinary)
        if drawing.form & 1:
            inputs, weights = weights, inputs
    else:
        # Two normal factors, whose product is at most half the smallest normal number and may be
        # too small for any subnormal.
        split = drawing.split(format.emin + 4, -8)
        inputs = drawing.vector(powers(format, split - 4, split))
        rest = format.emin - 1 - split
        lowest = max(rest - format.precision - 4, format.emin)
        weights = drawing.vector(powers(format, lowest, rest))
    sort = drawing.index(3)
    bias = 0.0 if not sort else drawing.value(small if sort == 1 else ordinary)
    return Terms(inputs, weights, bias)


def _between(range_of: Callable[[Format, Landmarks], tuple[int, int]], drawing: Drawing) -> Terms:
    """A preactivation whose ordinal lies in a range (both ends included), of either sign."""
    low, high = range_of(drawing.format, landmarks(drawing.format))
    # `summing_to` misses by at most 2^gain ulps, each at most two ordinals.
    margin = 2 << drawing.gain
    target = drawing.signed_ordinal(Window(drawing.format, low + margin, high - margin))
    return Terms(*drawing.summing_to(target))


def _threshold(drawing: Drawing) -> Terms:
    marks = landmarks(drawing.format)
    edges = (marks.one_from, marks.half_exp_overflow, marks.exp_overflow)
    code = drawing.index(2 * len(edges) * len(_STEPS))
    edge = edges[code // 2 % len(edges)] + _STEPS[code // 2 // len(edges)]
    drawing.gain = 0
    return Terms(*drawing.summing_to(-edge if code & 1 else edge))


#: Places around an edge: the landmark itself is the last float below (exponentials) or the first
#: at or beyond it (tanh).
_STEPS: Final = (0, 1, -1, 2, -2, 3, -3)


def _cancelling(drawing: Drawing) -> Terms:
    format = drawing.format
    p = format.precision
    low, high = format.emin + 2, format.emax - 9
    # Products around 2^size: from 1 to where one ulp of them saturates tanh, or anywhere.
    size = drawing.index(p + 14)
    if size > min(high, p + 5):
        size = low + scatter(size, drawing.form) % (high - low + 1)
    split = drawing.split(max(format.emin + 1, size + 1 - format.emax), min(8, size - low))
    inputs = drawing.vector(powers(format, split - 1, split + 1))
    weights = drawing.vector(powers(format, size - split - 1, size - split + 1))
    step = (0, 0, 1, -1)[drawing.form >> 1]
    if not drawing.form & 1 or drawing.n == 1 or drawing.uniform:
        bias = format.round(negate(exact_sum(inputs, weights)))
        return Terms(inputs, weights, shifted(format, bias, step))
    # The terms cancel among themselves, except for `step` ulps of one and a bias that small.
    inputs, weights = _mirrored(drawing, inputs, weights)
    if not step:
        return Terms(inputs, weights, 0.0)
    last = 2 * (drawing.n // 2) - 1
    inputs = replaced(inputs, last, shifted(format, inputs[last], step))
    return Terms(inputs, weights, drawing.value(powers(format, size - p - 6, size - p - 2)))


def _mirrored(
    drawing: Drawing, inputs: tuple[float, ...], weights: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The first half of the terms, then the same terms negated; an odd one out is 0."""
    half = drawing.n // 2
    rest = (0.0,) * (drawing.n - 2 * half)
    kept = inputs[:half]
    return (
        (*kept, *(-value for value in kept), *rest),
        (*weights[:half], *weights[:half], *weights[2 * half :]),
    )


def _overflowing(drawing: Drawing) -> Terms:
    format = drawing.format
    huge = powers(format, format.emax, format.emax + 1)
    way = drawing.form % 3
    if way == 1:
        # No product overflows, but their sum and the bias can.
        one = Window(format, power_ordinal(format, 0), power_ordinal(format, 0))
        return Terms(drawing.vector(huge), drawing.vector(one), drawing.value(huge))
    split = drawing.split(3, format.emax - 2)
    rest = format.emax + 1 - split
    inputs = drawing.vector(powers(format, split, split + 2))
    weights = drawing.vector(powers(format, rest, rest + 2))
    if way == 2 and drawing.n > 1 and not drawing.uniform:
        inputs, weights = _mirrored(drawing, inputs, weights)
        return Terms(inputs, weights, drawing.value(_ordinary(format)))
    bias = drawing.value(huge if drawing.form > 2 else _ordinary(format))
    return Terms(inputs, weights, bias)


def _special(drawing: Drawing) -> Terms:
    """Ordinary terms; `_made_special` puts the special values in."""
    window = _ordinary(drawing.format)
    return Terms(drawing.vector(window), drawing.vector(window), drawing.value(window))


def _long(drawing: Drawing) -> Terms:
    format = drawing.format
    # Sums of about 1: of n terms of one sign, or of a random walk of n; else of about n.
    order = drawing.n.bit_length()
    positive = not drawing.form & 1
    shrink = 0 if drawing.form >= 6 else order if positive else order // 2
    window = powers(format, -2, 1)
    inputs = drawing.vector(window, positive=positive)
    if not drawing.form:
        # Two thirds of a mean: adding it up, a narrow accumulator errs the same way at every step.
        return Terms(inputs, (format.round(from_float(2 / (3 * drawing.n))),) * drawing.n, 0.0)
    weights = drawing.vector(powers(format, -2 - shrink, 1 - shrink), positive=positive)
    bias = drawing.value(window) if drawing.form & 2 else 0.0
    return Terms(inputs, weights, bias)


_BUILDERS: Final[Mapping[Regime, Callable[[Drawing], Terms]]] = {
    Regime.EMPTY: _empty,
    Regime.ZEROS: _zeros,
    Regime.TINY: _tiny,
    Regime.LINEAR: partial(
        _between, lambda format, at: (power_ordinal(format, format.emin), at.linear_below - 1)
    ),
    Regime.CURVED: partial(_between, lambda _, at: (at.linear_below, at.saturating_from - 1)),
    Regime.SATURATING: partial(_between, lambda _, at: (at.saturating_from, at.one_from - 1)),
    Regime.TAIL: partial(_between, lambda _, at: (at.one_from, at.vanished_from - 1)),
    Regime.VANISHED: partial(
        _between, lambda format, at: (at.vanished_from, power_ordinal(format, format.emax - 5))
    ),
    Regime.CANCELLING: _cancelling,
    Regime.OVERFLOWING: _overflowing,
    Regime.SPECIAL: _special,
    Regime.LONG: _long,
    Regime.VERY_LONG: _long,
    Regime.THRESHOLD: _threshold,
}

_SPECIALS: Final = (float("inf"), float("-inf"), float("nan"))
#: What the operand that meets the special value becomes: mostly it stays, else inf * 0, inf - inf.
_PARTNERS: Final = (None, None, None, 0.0, -0.0, float("inf"), float("-inf"), float("nan"))


def _made_special(drawing: Drawing, terms: Terms, gradient: float) -> tuple[Terms, float]:
    """`terms` and g with an infinity or a NaN at one place, and now and then one beside it."""
    code = drawing.integer(14)
    special, place = _SPECIALS[code % 3], code // 3 % 4
    partner, index = _PARTNERS[code // 12 % 8], code // 96
    bias_partner = terms.bias if partner is None else partner
    if place == 3:
        return terms._replace(bias=bias_partner), special
    if place == 0 or not drawing.n:
        if not drawing.n or partner is None:
            return terms._replace(bias=special), gradient
        return _with_vectors(drawing, terms, 0, partner, None)._replace(bias=special), gradient
    left, right = (special, partner) if place == 1 else (partner, special)
    return _with_vectors(drawing, terms, index % drawing.n, left, right), gradient


def _with_vectors(
    drawing: Drawing, terms: Terms, index: int, left: float | None, right: float | None
) -> Terms:
    """An input and a weight replaced, unless None; in every lane if they must be equal."""

    def put(values: tuple[float, ...], value: float | None) -> tuple[float, ...]:
        if value is None:
            return values
        if drawing.constant:
            return (value,) * drawing.n
        return replaced(values, index, value)

    return terms._replace(inputs=put(terms.inputs, left), weights=put(terms.weights, right))


_NO_TERMS: Final = (0,)
_NEED_TERMS: Final = frozenset({Regime.TINY, Regime.CANCELLING, Regime.OVERFLOWING})


def neuron_case(below: Below, dtype: str, regime: Regime) -> Case:
    """A case of a neuron in `regime`, determined by the integers that `below` gives."""
    sizes: tuple[int, ...] = SIZES
    if regime is Regime.EMPTY:
        sizes = _NO_TERMS
    elif regime in _NEED_TERMS:
        sizes = NONEMPTY_SIZES
    orders = ORDERS.get(regime)
    drawing = Drawing(below, dtype, orders or sizes, orders=orders is not None)
    # Before the vectors, whose length would shift it about while a case shrinks.
    gradient = drawing.gradient(special=regime is Regime.SPECIAL)
    terms = _BUILDERS[regime](drawing)
    if regime is Regime.SPECIAL:
        terms, gradient = _made_special(drawing, terms, gradient)
    return Case(dtype, *terms, gradient, drawing.layout)
