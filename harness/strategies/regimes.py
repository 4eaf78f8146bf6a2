"""The regimes: the places in the input space where a tanh neuron can go wrong in its own way."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Regime(StrEnum):
    """Where a case lies. a is the exact preactivation, p the precision, S = sum|x w| + |b|.

    A raw tanh gradient has no a: read y, the stored output, for tanh(a).
    """

    EMPTY = "empty"  #: no terms: a is the bias
    ZEROS = "zeros"  #: every product and the bias are zeros, of either sign
    TINY = "tiny"  #: a subnormal input or weight, or a product below the normal range
    LINEAR = "linear"  #: 0 < |a| < 2^(-p/2)
    CURVED = "curved"  #: from there to where 1 - y^2 loses half its bits
    SATURATING = "saturating"  #: from there to where tanh rounds to 1
    ONE = "one"  #: y is 1 or -1 (raw tanh gradient only)
    TAIL = "tail"  #: tanh rounds to 1, sech^2 is still a normal number
    VANISHED = "vanished"  #: sech^2 is below the normal range
    CANCELLING = "cancelling"  #: |a| is at most 2^(4-p) S, and often 0
    OVERFLOWING = "overflowing"  #: all finite, but S is beyond the largest number
    SPECIAL = "special"  #: an infinity or a NaN takes part
    LONG = "long"  #: 33 to 1,024 terms, often all of one sign
    VERY_LONG = "very-long"  #: the same with 1,025 to 4,096 terms
    THRESHOLD = "threshold"  #: a within a few ulps of ln(max), ln(max)/2 or where tanh becomes 1


_NEURON: Final = tuple(regime for regime in Regime if regime is not Regime.ONE)
_TANH_GRADIENT: Final = (
    Regime.EMPTY,
    Regime.ZEROS,
    Regime.TINY,
    Regime.LINEAR,
    Regime.CURVED,
    Regime.SATURATING,
    Regime.ONE,
    Regime.SPECIAL,
    Regime.LONG,
    Regime.VERY_LONG,
)


def regimes_for(kind: str) -> tuple[Regime, ...]:
    """The regimes in which a subject of `kind` is looked at, in the order of `Regime`.

    `kind` is "neuron", "activation" or "tanh-gradient"; anything else raises ValueError.
    """
    if kind in ("neuron", "activation"):
        return _NEURON
    if kind == "tanh-gradient":
        return _TANH_GRADIENT
    raise ValueError(f"unknown kind {kind!r}; expected neuron, activation or tanh-gradient")
