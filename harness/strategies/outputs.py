"""How each regime of a raw tanh gradient is reached: the stored outputs y."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from harness.case import Case
from harness.strategies.drawing import NONEMPTY_SIZES, ORDERS, Below, Drawing, replaced
from harness.strategies.members import (
    Window,
    power_ordinal,
    powers,
    scattered_indices,
    scattered_signs,
    values_at,
)
from harness.strategies.regimes import Regime
from reference.dyadic import Dyadic
from reference.formats import Format

_SPECIALS: Final = (float("inf"), float("-inf"), float("nan"))


def tanh_gradient_case(below: Below, dtype: str, regime: Regime) -> Case:
    """A case of a raw tanh gradient in `regime`, determined by the integers that `below` gives."""
    sizes = (0,) if regime is Regime.EMPTY else NONEMPTY_SIZES
    orders = ORDERS.get(regime)
    drawing = Drawing(below, dtype, orders or sizes, orders=orders is not None)
    # Before the vector, whose length would shift it about while a case shrinks.
    gradient = drawing.gradient(special=regime is Regime.SPECIAL)
    outputs = _stored_outputs(drawing, regime)
    return Case(dtype, outputs, (), 0.0, gradient, drawing.layout)


def _stored_outputs(drawing: Drawing, regime: Regime) -> tuple[float, ...]:
    """n stored outputs in `regime`: members of [-1, 1], and infinities or NaN in `special`."""
    match regime:
        case Regime.EMPTY:
            return ()
        case Regime.ZEROS:
            return drawing.zeros()
        case Regime.SPECIAL:
            return _special(drawing)
        case Regime.LONG | Regime.VERY_LONG:
            return _mixed(drawing)
        case _:
            return drawing.vector(output_window(drawing.format, regime))


@lru_cache
def output_window(format: Format, regime: Regime) -> Window:
    """The magnitudes of stored outputs in a regime that is a range of them.

    tiny         subnormal, or with a square below the normal range: |y| < 2^(emin/2)
    linear       from there to 2^(-p/2), below which 1 - y^2 rounds to 1
    curved       from there to where 1 - y^2 = 2^(-p/2)
    saturating   from there to the last member below 1
    one          1

    Raises ValueError for any other regime.
    """
    one = power_ordinal(format, 0)
    # Exponents are halved rounding up: the windows meet at powers of two.
    tiny_below = power_ordinal(format, -(-format.emin // 2))
    linear_below = power_ordinal(format, -(format.precision // 2))
    half_lost = format.ordinal(format.round(_one_minus_power(format.precision // 2 + 1)))
    match regime:
        case Regime.TINY:
            return Window(format, 1, tiny_below - 1)
        case Regime.LINEAR:
            return Window(format, tiny_below, linear_below - 1)
        case Regime.CURVED:
            return Window(format, linear_below, half_lost - 1)
        case Regime.SATURATING:
            return Window(format, half_lost, one - 1)
        case Regime.ONE:
            return Window(format, one, one)
        case _:
            raise ValueError(f"the regime {str(regime)!r} is not a range of stored outputs")


def _one_minus_power(exponent: int) -> Dyadic:
    """1 - 2^-exponent."""
    return Dyadic((1 << exponent) - 1, -exponent)


def _special(drawing: Drawing) -> tuple[float, ...]:
    values = drawing.vector(powers(drawing.format, -3, 0))
    code = drawing.integer(8)
    special, index = _SPECIALS[code % 3], code // 3 % drawing.n
    return (special,) * drawing.n if drawing.constant else replaced(values, index, special)


_RANGES: Final = (Regime.CURVED, Regime.SATURATING, Regime.LINEAR, Regime.ONE, Regime.TINY)


def _mixed(drawing: Drawing) -> tuple[float, ...]:
    """Lanes of every range side by side: what a kernel's branches and its remainder meet."""
    windows = [output_window(drawing.format, regime) for regime in _RANGES]
    plain = drawing.vector(windows[drawing.form % len(windows)])
    if drawing.form < 2 or drawing.constant:
        return plain
    seed = drawing.integer(16)
    lanes = np.stack([window.scattered(drawing.n, seed) for window in windows])
    chosen = scattered_indices(drawing.n, seed, len(windows))
    ordinals = lanes[chosen, np.arange(drawing.n)] * scattered_signs(drawing.n, seed)
    return (*plain[:1], *values_at(drawing.format, ordinals[1:]))
