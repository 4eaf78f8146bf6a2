"""Which laws a case is checked for: each its share of the cases, and every one in every regime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.laws.law import Law, Seen
from harness.subjects import Kind


class Rotation:
    """The laws that are due, case by case, in one regime.

    A law is checked in the first case that it concerns and then in every `every`-th, the laws one
    case apart from each other, so that they take turns.
    """

    def __init__(self, laws: Sequence[Law], kind: Kind) -> None:
        self._checks = [(law, check) for law in laws if (check := law.checks.get(kind)) is not None]
        self._concerned = [0] * len(self._checks)

    def due(self, seen: Seen) -> Iterator[Law]:
        """The laws to check of this case, which is counted."""
        for turn, (law, check) in enumerate(self._checks):
            count = self._concerned[turn]
            # The cheap question first: whether it is the law's turn if the case concerns it.
            if not check.concerns(seen):
                continue
            self._concerned[turn] += 1
            if not count or (count + turn) % check.every == 0:
                yield law
