"""When two figures are the same, which is worse, and in words by how much."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from math import inf
from typing import Final

from harness.grade import Grade
from harness.report.record import Figure
from harness.report.words import number

#: Errors are measured to well under a hundredth of an ulp (see the README); what differs by less
#: is the same figure. Beyond that floats carry it to a relative 2^-40 and better.
RESOLUTION: Final = 0.01
_RELATIVE: Final = 2.0**-30
#: Ratios to a bound are of no unit; bounds are rounded outward, and hold to this.
_RATIO_RELATIVE: Final = 1e-6


class Change(StrEnum):
    """How a figure stands to an earlier one of the same inputs."""

    SAME = "same"
    WORSE = "worse"
    BETTER = "better"


def changes(before: Figure, after: Figure) -> tuple[Change, tuple[str, ...]]:
    """How `after` stands to `before`, and each difference in words. What is worse in any way is
    worse; figures must be of the same inputs."""
    found = list(_differences(before, after))
    words = tuple(text for _, text in found)
    if any(change is Change.WORSE for change, _ in found):
        return Change.WORSE, words
    return (Change.BETTER if found else Change.SAME), words


def grade_change(before: str | None, after: str | None) -> Change:
    """How a grade stands to an earlier one; none is no better than any."""
    ranks = [Grade(grade).rank if grade is not None else len(Grade) for grade in (before, after)]
    if ranks[0] == ranks[1]:
        return Change.SAME
    return Change.WORSE if ranks[1] > ranks[0] else Change.BETTER


def _differences(before: Figure, after: Figure) -> Iterator[tuple[Change, str]]:
    graded = grade_change(before.grade, after.grade)
    if graded is not Change.SAME:
        yield graded, f"grade {before.grade or 'none'} -> {after.grade or 'none'}"
    for name, absolute, relative in (
        ("max_ulp", RESOLUTION, _RELATIVE),
        ("ratio", 0.0, _RATIO_RELATIVE),
        ("max_scaled_error", RESOLUTION, _RELATIVE),
        ("nonfinite", 0.0, 0.0),
        ("misrounded", 0.0, 0.0),
        ("unfaithful", 0.0, 0.0),
    ):
        old, new = getattr(before, name), getattr(after, name)
        if old is None and new is None:
            continue
        a, b = (inf if each is None else float(each) for each in (old, new))
        if a == b or abs(b - a) <= max(absolute, relative * min(abs(a), abs(b))):
            continue
        yield (
            Change.WORSE if b > a else Change.BETTER,
            f"{_NAMES[name]} {number(old)} -> {number(new)}",
        )


_NAMES: Final = {
    "max_ulp": "worst error in ulps",
    "ratio": "of the textbook bound",
    "max_scaled_error": "scaled error",
    "nonfinite": "unexplained NaN or infinity",
    "misrounded": "misrounded",
    "unfaithful": "unfaithful",
}
