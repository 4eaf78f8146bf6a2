"""Hypothesis strategies for the cases of a neuron, an activation or a raw tanh gradient.

Random floats almost never reach most regimes, so each has a builder that aims at it; nothing is
filtered. Cases shrink to few elements, short significands, exponents near 0, g = 1 and contiguous
tensors. Values are built from integers, so a process that flushes subnormals draws the same cases.
"""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st

from harness.case import Case, format_of
from harness.strategies.drawing import NONEMPTY_SIZES, SIZES, Draw, Drawing
from harness.strategies.neurons import BUILDERS, made_special
from harness.strategies.outputs import stored_outputs
from harness.strategies.regimes import Regime, regimes_for

__all__ = ["Regime", "cases", "regimes_for", "tanh_gradient_cases"]


def cases(dtype: str, regime: Regime | None = None) -> st.SearchStrategy[Case]:
    """Cases of a neuron or an activation in `regime`, or in any of them.

    Raises ValueError for an unknown dtype and for a regime that neurons do not have.
    """
    return _strategy(dtype, regime, "neuron")


def tanh_gradient_cases(dtype: str, regime: Regime | None = None) -> st.SearchStrategy[Case]:
    """Cases of a raw tanh gradient: `inputs` are stored outputs y in [-1, 1], or NaN or infinite
    in the regime `special`; `upstream_gradient` stands for every element of dy.

    Raises ValueError for an unknown dtype and for a regime that stored outputs do not have.
    """
    return _strategy(dtype, regime, "tanh-gradient")


@lru_cache
def _strategy(dtype: str, regime: Regime | None, kind: str) -> st.SearchStrategy[Case]:
    format_of(dtype)
    regimes = regimes_for(kind)
    if regime is None:
        return st.one_of([_strategy(dtype, each, kind) for each in regimes])
    if regime not in regimes:
        raise ValueError(
            f"a {kind} has no regime {str(regime)!r}; expected one of {', '.join(regimes)}"
        )
    return (_neuron_case if kind == "neuron" else _tanh_gradient_case)(dtype, regime)


@st.composite
def _neuron_case(draw: Draw, dtype: str, regime: Regime) -> Case:
    drawing = Drawing(draw, dtype, _sizes(regime))
    terms = BUILDERS[regime](drawing)
    gradient = drawing.gradient(special=regime is Regime.SPECIAL)
    if regime is Regime.SPECIAL:
        terms, gradient = made_special(drawing, terms, gradient)
    return Case(dtype, *terms, gradient, drawing.layout)


@st.composite
def _tanh_gradient_case(draw: Draw, dtype: str, regime: Regime) -> Case:
    drawing = Drawing(draw, dtype, _NO_TERMS if regime is Regime.EMPTY else _sizes(regime, 1))
    outputs = stored_outputs(drawing, regime)
    gradient = drawing.gradient(special=regime is Regime.SPECIAL)
    return Case(dtype, outputs, (), 0.0, gradient, drawing.layout)


_NO_TERMS = (0,)
_NEED_TERMS = frozenset({Regime.TINY, Regime.CANCELLING, Regime.OVERFLOWING})


def _sizes(regime: Regime, least: int = 0) -> tuple[int, ...] | None:
    """The lengths to draw from; None for the regime that draws its own."""
    if regime is Regime.LONG:
        return None
    if regime is Regime.EMPTY:
        return _NO_TERMS
    return NONEMPTY_SIZES if least or regime in _NEED_TERMS else SIZES
