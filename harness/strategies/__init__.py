"""Hypothesis strategies for the cases of a neuron, an activation or a raw tanh gradient.

Random floats almost never reach most regimes, so each has a builder that aims at it; nothing is
filtered. Cases shrink to few elements, short significands, exponents near 0, g = 1 and contiguous
tensors. Values are built from integers, so a process that flushes subnormals draws the same cases.

A case takes one draw, of bytes, that `Digits` cuts into integers: hypothesis spends longer on each
draw than a builder on a whole case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from hypothesis import strategies as st

from harness.case import Case, format_of
from harness.strategies.digits import Digits
from harness.strategies.drawing import Below
from harness.strategies.neurons import neuron_case
from harness.strategies.outputs import tanh_gradient_case
from harness.strategies.regimes import Regime, regimes_for

#: Bytes of a case by the width of its format: enough for the choices and the floats, seven at most,
#: that are drawn one by one. What lies beyond reads as zeros.
_BYTES = {16: 32, 32: 48, 64: 80}

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
    return _cases(neuron_case if kind == "neuron" else tanh_gradient_case, dtype, regime)


def _cases(
    build: Callable[[Below, str, Regime], Case], dtype: str, regime: Regime
) -> st.SearchStrategy[Case]:
    size = _BYTES[format_of(dtype).width]
    entropy = st.binary(min_size=size, max_size=size)
    return entropy.map(lambda drawn: build(Digits(drawn).below, dtype, regime))
