"""What a hunt may be asked for."""

from dataclasses import replace
from typing import Any

import pytest

from harness.errors import CannotVerify, UsageError
from harness.hunt.known import KNOWN, known_numbers
from harness.hunt.plan import make_plan
from harness.subjects import load
from reference.formats import FORMATS, Format

TEXTBOOK = load("textbook")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "float63"}, "float63"),
        ({"seconds": 0.0}, "--budget 0"),
        ({"seconds": float("nan")}, "--budget nan"),
        ({"seconds": float("inf")}, "--budget inf"),
        ({"seconds": None}, "without a budget"),
        ({"evaluations": 0}, "--evaluations 0"),
        ({"seed": -1}, "--seed -1"),
        ({"activation_ulps": -1.0}, "activation_ulps is -1.0"),
    ],
)
def test_a_request_outside_its_range_is_refused(arguments: dict[str, Any], message: str) -> None:
    """One line that holds the value and what was expected."""
    with pytest.raises(UsageError, match=message) as caught:
        make_plan(TEXTBOOK, **{"dtype": "float64", **arguments})
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value)


def test_what_the_subject_does_not_support_cannot_be_hunted() -> None:
    """The message names what it supports."""
    narrow = replace(TEXTBOOK, dtypes=("float32",))
    with pytest.raises(CannotVerify, match="does not support float64; expected one of float32"):
        make_plan(narrow, dtype="float64")


def test_stored_outputs_are_hunted_up_to_one() -> None:
    """A raw gradient is defined for y in [-1, 1]."""
    plan = make_plan(load("aten-tanh-gradient"), dtype="float64")
    assert plan.format.to_bits(1.0) + 1 == plan.sweep.positive[1]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_known_numbers_are_members(format: Format) -> None:
    """Whatever does not fit is rounded, and none is lost."""
    numbers = known_numbers(format)
    assert len(KNOWN) == len(numbers)
    assert all(format.contains(x) for x in numbers)
