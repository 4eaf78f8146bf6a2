"""How many of the examples of a verification each regime gets."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from harness.strategies import Regime

#: What part of a full share a regime gets whose cases cost as much as many others.
_PARTS: Final = {Regime.LONG: Fraction(1, 2), Regime.VERY_LONG: Fraction(1, 16)}


def shares(regimes: Sequence[Regime], examples: int) -> dict[Regime, int]:
    """The examples of each regime: equal shares, less where a case is costly, and at least one; the
    first regimes with a full share take what is left over."""
    parts = {regime: _PARTS.get(regime, Fraction(1)) for regime in regimes}
    full = examples / sum(parts.values())
    found = {regime: max(1, int(full * part)) for regime, part in parts.items()}
    rest = max(0, examples - sum(found.values()))
    for regime in [regime for regime in regimes if regime not in _PARTS][:rest]:
        found[regime] += 1
    return found
