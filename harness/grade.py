"""Grades: what a result is worth. See `harness.contract` for how one is earned."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Grade(StrEnum):
    """From best to worst; the order of definition is the ladder."""

    CORRECT = "correct"
    FAITHFUL = "faithful"
    STABLE = "stable"
    TEXTBOOK = "textbook"
    WRONG = "wrong"

    @property
    def rank(self) -> int:
        """0 for the best grade, rising as grades get worse."""
        return _RANKS[self]

    def meets(self, required: Grade) -> bool:
        """Whether a result of this grade is at least as good as `required`."""
        return self.rank <= required.rank

    @staticmethod
    def worst(grades: Iterable[Grade]) -> Grade:
        """The worst of `grades`; `correct` of none, since nothing was found wrong."""
        return max(grades, key=lambda grade: grade.rank, default=Grade.CORRECT)


_RANKS = {grade: rank for rank, grade in enumerate(Grade)}
