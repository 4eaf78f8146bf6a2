"""The ladder of grades."""

from __future__ import annotations

from itertools import product

import pytest

from harness.grade import Grade

LADDER = [Grade.CORRECT, Grade.FAITHFUL, Grade.STABLE, Grade.TEXTBOOK, Grade.WRONG]


def test_the_ladder_runs_from_correct_to_wrong() -> None:
    """Five rungs in this order, ranked from 0."""
    assert list(Grade) == LADDER
    assert list(range(5)) == [grade.rank for grade in LADDER]


def test_a_grade_is_its_word() -> None:
    """Reports and options write grades in lower case."""
    assert ["correct", "faithful", "stable", "textbook", "wrong"] == [str(each) for each in LADDER]
    assert Grade("stable") is Grade.STABLE


@pytest.mark.parametrize(
    ("earned", "required"),
    list(product(LADDER, LADDER)),
    ids=lambda grade: str(grade),
)
def test_a_grade_meets_itself_and_what_is_worse(earned: Grade, required: Grade) -> None:
    """`meets` compares places on the ladder, not words."""
    assert (LADDER.index(earned) <= LADDER.index(required)) == earned.meets(required)


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ([], Grade.CORRECT),
        ([Grade.FAITHFUL], Grade.FAITHFUL),
        ([Grade.CORRECT, Grade.TEXTBOOK, Grade.STABLE], Grade.TEXTBOOK),
        ([Grade.WRONG, Grade.TEXTBOOK], Grade.WRONG),
        ([Grade.FAITHFUL, Grade.CORRECT], Grade.FAITHFUL),
    ],
    ids=lambda value: value if isinstance(value, Grade) else " ".join(value) or "none",
)
def test_the_worst_of_grades(grades: list[Grade], expected: Grade) -> None:
    """The lowest rung counts, and of nothing nothing is wrong."""
    assert expected is Grade.worst(iter(grades))
