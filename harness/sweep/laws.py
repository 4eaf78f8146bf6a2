"""What must hold along a sweep besides accuracy: counts of what was checked and what broke.

| law                  | holds when                                                               |
|----------------------|--------------------------------------------------------------------------|
| output-bounded       | |y| <= 1                                                                 |
| gradient-sign        | d >= 0; with upstream gradients, d has the sign of g (where |y| <= 1)    |
| lanes                | a result does not depend on where in a tensor its input lies; in samples |
|                      | of every block, nor on being evaluated alone                             |
| output-odd           | y(-x) = -y(x), bit for bit                                               |
| gradient-even        | d(-x) = d(x), bit for bit                                                |
| gradient-odd         | d(y, -g) = -d(y, g), bit for bit                                         |
| output-monotone      | y never falls as x rises, also from block to block                       |
| input-gradient       | with w = 1 the input gradient is the bias gradient, bit for bit          |
| weight-gradient      | the weight gradient is d * x rounded once, bit for bit                   |

The first three are required: a sweep that breaks one has failed. Without the third its figures
would be those of one batch, not of the subject. The others are observed: a sound implementation
may breach them by an ulp. NaN breaks no law; the statistics count it. Any NaN equals any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.subjects import Kind
from harness.sweep.plan import Plan
from harness.sweep.statistics import first

REQUIRED: Final = frozenset({"output-bounded", "gradient-sign", "lanes"})
_NOBODY: Final = -1

Bits = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.floating[Any]]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LawTally:
    """How often a law was checked and broken, and the first key at which it broke (-1: nowhere).
    Merging is associative and commutative."""

    checked: int = 0
    breaches: int = 0
    first_breach: int = _NOBODY

    def merge(self, other: LawTally) -> LawTally:
        """Both tallies together."""
        return LawTally(
            self.checked + other.checked,
            self.breaches + other.breaches,
            first(self.first_breach, other.first_breach),
        )


def laws_of(plan: Plan) -> tuple[str, ...]:
    """The laws that a plan checks, the required ones first."""
    if plan.kind is Kind.TANH_GRADIENT:
        odd = ("gradient-odd",) if plan.pairs else ()
        return ("gradient-sign", "lanes", "gradient-even", *odd)
    laws: tuple[str, ...] = ("output-bounded", "gradient-sign", "lanes")
    laws += ("output-odd", "gradient-even", "output-monotone")
    return (*laws, "input-gradient", "weight-gradient") if plan.kind is Kind.NEURON else laws


class Tallies:
    """The tallies of a block while it is being swept."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._counts = {law: [0, 0, _NOBODY] for law in laws_of(plan)}

    def add(self, law: str, breaches: Bool | None, size: int, start: int, side: int) -> None:
        """Count `size` checks at the magnitudes from `start` on one side. `breaches` marks those
        that broke; None is none."""
        count = self._counts[law]
        count[0] += size
        if breaches is not None and breaches.any():
            count[1] += int(np.count_nonzero(breaches))
            at = self._plan.key(start + int(breaches.argmax()), side)
            count[2] = first(count[2], at)

    def frozen(self) -> Mapping[str, LawTally]:
        """The tallies as records."""
        return {law: LawTally(*count) for law, count in self._counts.items()}


def differing(a: Bits, b: Bits, largest: int) -> Bool | None:
    """Where two arrays of bit patterns differ, any NaN being equal to any other; None: nowhere.
    `largest` is the pattern of infinity."""
    if np.array_equal(a, b):
        return None
    mask = a.dtype.type((1 << 8 * a.itemsize - 1) - 1)
    different: Bool = a != b
    different &= ~(((a & mask) > largest) & ((b & mask) > largest))
    return different if different.any() else None


def beyond_one(y: Floats) -> Bool | None:
    """Where |y| > 1; None: nowhere."""
    if y.max() <= 1 and y.min() >= -1:
        return None
    return np.abs(y) > 1


def negative(d: Floats) -> Bool | None:
    """Where d < 0; None: nowhere."""
    if d.min() >= 0:
        return None
    return d < 0


def positive(d: Floats) -> Bool | None:
    """Where d > 0; None: nowhere."""
    if d.max() <= 0:
        return None
    return d > 0


def falling(y: Floats, *, mirrored: bool) -> Bool | None:
    """Where y, along rising magnitudes, falls to the next element (rises, if `mirrored`)."""
    steps: Bool = y[1:] > y[:-1] if mirrored else y[1:] < y[:-1]
    return steps if steps.any() else None


@dataclass(frozen=True, slots=True)
class Ends:
    """The outputs at the least and the greatest magnitude of one side of a block."""

    first: float
    last: float


def seam(lower: Ends, upper: Ends, side: int) -> bool:
    """Whether y breaks monotony from a block to the one that begins where it ends."""
    return upper.first > lower.last if side else upper.first < lower.last
