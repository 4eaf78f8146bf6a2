"""A subject on numbers, in any order and number, judged by the bulk oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import CannotVerify
from harness.hunt.evaluate import Evaluator
from harness.hunt.plan import Plan

Bits = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Judged:
    """One quantity at n numbers: errors in ulps (NaN: without a size), results, and the exact
    values rounded once; where they differ, and where they are not even one of the two floats around
    the exact value. Arrays of shape (n,)."""

    ulps: NDArray[np.float64]
    computed: Floats
    rounded: Floats
    misrounded: NDArray[np.bool_]
    unfaithful: NDArray[np.bool_]


class Points:
    """Evaluates a plan's subject on numbers. Raises CannotVerify for one that cannot be called on
    numbers."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.format = plan.format
        self._evaluator = Evaluator(plan)
        self.quantities = self._evaluator.quantities
        self._unsigned = np.dtype(f"u{plan.format.width // 8}")

    def __call__(self, bits: Bits) -> Mapping[str, Judged]:
        """The quantities at the numbers with these bit patterns.

        Raises CannotVerify where the subject raises at one of them.
        """
        parts: dict[str, list[Judged]] = {name: [] for name in self.quantities}
        bits = bits.astype(self._unsigned)
        for start in range(0, bits.size, self._evaluator.most):
            found = self._evaluator(bits[start : start + self._evaluator.most])
            if found.failures:
                raise CannotVerify(f"it {found.failures[0].message}")
            for name, computed, judgement in zip(
                self.quantities, found.results, found.judgements, strict=True
            ):
                # Copies: what an evaluation gives holds until the next.
                parts[name].append(
                    Judged(
                        np.array(judgement.ulps, np.float64),
                        np.array(computed),
                        np.array(judgement.rounded),
                        np.array(judgement.misrounded, np.bool_),
                        np.array(judgement.unfaithful, np.bool_),
                    )
                )
        return {name: _joined(pieces) for name, pieces in parts.items()}

    def bits_of(self, values: NDArray[np.float64]) -> Bits:
        """The bit patterns of numbers of the format."""
        to_bits = self.format.to_bits
        return np.array([to_bits(float(value)) for value in values], self._unsigned)

    def bits_of_ordinals(self, ordinals: NDArray[np.int64]) -> Bits:
        """The bit patterns of the numbers with these ordinals, which count the numbers from 0 up,
        and down for negative ones."""
        magnitudes = np.abs(ordinals).astype(self._unsigned)
        sign = self._unsigned.type(1 << self.format.width - 1)
        return np.where(ordinals < 0, magnitudes | sign, magnitudes)


def _joined(pieces: list[Judged]) -> Judged:
    return Judged(
        *(
            np.concatenate([getattr(piece, name) for piece in pieces])
            for name in ("ulps", "computed", "rounded", "misrounded", "unfaithful")
        )
    )
