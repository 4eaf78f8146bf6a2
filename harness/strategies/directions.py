"""Directions for a Hessian-vector product: what a case is looked along.

`Drawing.form` picks the way. Two aim at cancellation: along one adot = p.w + q.x + r is 0 but for
its last bits, along the other c w_i + d q_i and c x_i + d p_i are, with c = -2 d y adot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Final

from hypothesis import strategies as st

from harness.case import Case, format_of
from harness.direction import Direction
from harness.strategies import cases
from harness.strategies.digits import Digits
from harness.strategies.drawing import Below, Drawing, exact_sum, replaced, subnormals
from harness.strategies.members import Window, powers
from harness.strategies.regimes import Regime
from reference.dyadic import ZERO, Dyadic, from_float, multiply, subtract
from reference.exact import exact
from reference.formats import Format
from reference.neuron import tanh

#: Bytes of a direction: enough for the choices and the numbers drawn one by one, six vectors' worth
#: of two or seven. What lies beyond reads as zeros.
_BYTES: Final = {16: 32, 32: 48, 64: 80}


def directions(case: Case) -> st.SearchStrategy[Direction]:
    """Directions for one case."""
    return _entropy(case.dtype).map(lambda drawn: direction_for(Digits(drawn).below, case))


def cases_with_directions(dtype: str, regime: Regime | None = None) -> st.SearchStrategy[Case]:
    """Cases of a neuron, as `harness.strategies.cases` draws them, each with its `direction`.

    Raises ValueError for an unknown dtype and for a regime that neurons do not have.
    """
    return st.tuples(cases(dtype, regime), _entropy(dtype)).map(
        lambda drawn: replace(drawn[0], direction=direction_for(Digits(drawn[1]).below, drawn[0]))
    )


def _entropy(dtype: str) -> st.SearchStrategy[bytes]:
    size = _BYTES[format_of(dtype).width]
    return st.binary(min_size=size, max_size=size)


def direction_for(below: Below, case: Case) -> Direction:
    """A finite direction for `case`, determined by the integers that `below` gives.

    It may repeat one number, or be along one argument only, whatever the case's layout.
    """
    drawing = Drawing(below, case.dtype, (len(case.inputs),))
    ways = _WAYS if _finite(case) else _WAYS_ANYWHERE
    direction = ways[drawing.form % len(ways)](drawing, case)
    return direction if direction.finite else _along_the_bias(drawing, case)


def _finite(case: Case) -> bool:
    return all(map(isfinite, (*case.inputs, *case.weights, case.bias)))


def _along_the_bias(drawing: Drawing, case: Case) -> Direction:
    zeros = (0.0,) * drawing.n
    return Direction(zeros, zeros, 1.0)


def _along_one_argument(drawing: Drawing, case: Case) -> Direction:
    """A column of the Hessian, up to a factor."""
    zeros, place = (0.0,) * drawing.n, drawing.index(2 * drawing.n + 1)
    value = drawing.value(_ordinary(drawing.format))
    if place == 0:
        return Direction(zeros, zeros, value)
    lane = (place - 1) // 2
    vector = replaced(zeros, lane, value)
    return Direction(vector, zeros, 0.0) if place % 2 else Direction(zeros, vector, 0.0)


def _ordinary_numbers(drawing: Drawing, case: Case) -> Direction:
    window = _ordinary(drawing.format)
    return Direction(drawing.vector(window), drawing.vector(window), drawing.value(window))


def _one_vector(drawing: Drawing, case: Case) -> Direction:
    zeros = (0.0,) * drawing.n
    vector = drawing.vector(_ordinary(drawing.format))
    return Direction(vector, zeros, 0.0) if drawing.index(2) else Direction(zeros, vector, 0.0)


def _along_the_gradient(drawing: Drawing, case: Case) -> Direction:
    """(w, x, 1), up to the factor d: all of adot's products are squares."""
    return Direction(case.weights, case.inputs, 1.0)


def _any_size(drawing: Drawing, case: Case) -> Direction:
    """All numbers of one order of magnitude: subnormal, huge, or anywhere in between."""
    format = drawing.format
    sort = drawing.index(6)
    if sort == 0:
        window = subnormals(format)
    elif sort == 1:
        window = powers(format, format.emax - 3, format.emax + 1)
    else:
        exponent = format.emin + drawing.index(format.emax - format.emin)
        window = powers(format, exponent, exponent + 1)
    return Direction(drawing.vector(window), drawing.vector(window), drawing.value(window))


def _cancelling_tangent(drawing: Drawing, case: Case) -> Direction:
    direction = _ordinary_numbers(drawing, case)
    return Direction(direction.inputs, direction.weights, _rest(direction, case, ZERO))


def _cancelling_elements(drawing: Drawing, case: Case) -> Direction:
    """q = 2 y t w and p = 2 y t x, with r so that adot is close to t."""
    format = drawing.format
    target = from_float(drawing.value(_ordinary(format)))
    y = from_float(tanh(exact(format.round(_preactivation(case)))).rounded(format))
    factor = multiply(multiply(Dyadic(2, 0), y), target)
    inputs, weights = (
        tuple(format.round(multiply(factor, from_float(value))) for value in values)
        for values in (case.inputs, case.weights)
    )
    direction = Direction(inputs, weights, 0.0)
    if not direction.finite:
        return direction
    return Direction(inputs, weights, _rest(direction, case, target))


def _preactivation(case: Case) -> Dyadic:
    return exact_sum(case.inputs, case.weights, case.bias)


def _rest(direction: Direction, case: Case, target: Dyadic) -> float:
    """r, so that p.w + q.x + r is close to `target`."""
    left = exact_sum((*direction.inputs, *direction.weights), (*case.weights, *case.inputs))
    return case.format.round(subtract(target, left))


def _ordinary(format: Format) -> Window:
    return powers(format, -3, 3)


#: From the simplest.
_WAYS: Final[tuple[Callable[[Drawing, Case], Direction], ...]] = (
    _along_the_bias,
    _along_one_argument,
    _ordinary_numbers,
    _one_vector,
    _along_the_gradient,
    _any_size,
    _cancelling_tangent,
    _cancelling_elements,
)
#: Those that ask nothing of the case.
_WAYS_ANYWHERE: Final = (_along_the_bias, _along_one_argument, _ordinary_numbers, _any_size)
