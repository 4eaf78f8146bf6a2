"""Comparing results, and what becomes of a call that a law makes and that fails."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.case import Case
from harness.laws.law import Expected, Values, difference, place, same
from tests.harness import faulty
from tests.harness.laws.looking import breach

CASE = Case("float32", (1.5,), (0.5,), 0.25, 2.0)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param(0.0, -0.0, True, id="zeros are one number"),
        pytest.param(math.nan, -math.nan, True, id="NaN is NaN"),
        pytest.param(math.nan, 1.0, False, id="NaN is no number"),
        pytest.param(math.inf, -math.inf, False, id="infinities have signs"),
        pytest.param(1.0, math.nextafter(1.0, 2.0), False, id="an ulp is a difference"),
    ],
)
def test_same(left: float, right: float, expected: bool) -> None:
    """Which floats are one number."""
    assert expected == same(left, right) == same(right, left)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param({"output": [1.0], "gradient": [2.0, math.nan]}, None, id="equal"),
        pytest.param({"gradient": [None, math.nan]}, None, id="None is not compared"),
        pytest.param({}, None, id="what is not expected is not compared"),
        pytest.param(
            {"gradient": [2.0, 3.0]},
            "gradient[1] is nan; expected 0x1.8000000000000p+1",
            id="an element",
        ),
        pytest.param(
            {"output": [2.0]},
            "output is 0x1.0000000000000p+0; expected 0x1.0000000000000p+1",
            id="a scalar",
        ),
    ],
)
def test_difference(expected: Expected, text: str | None) -> None:
    """The first place, computed and expected."""
    found: Values = {"output": [1.0], "gradient": [2.0, math.nan]}
    assert text == difference(expected, found)


def test_place() -> None:
    """Scalars have no index."""
    assert ("output", "bias_gradient", "gradient[2]") == (
        place("output", 0),
        place("bias_gradient", 0),
        place("gradient", 2),
    )


def test_a_call_that_fails_is_a_breach() -> None:
    """What it raised or returned instead, and the case it was called on."""

    def only_short(x: Any, w: Any, b: Any, g: Any) -> Any:
        if len(x) > 1:
            raise ValueError("one lane only")
        return faulty.right(x, w, b, g)

    text = breach("zero-padding", only_short, CASE)
    assert text is not None
    assert text.startswith('raised ValueError: one lane only, called on {"dtype":"float32"')
    assert 10 == len(Case.from_json(text.partition("called on ")[2]).inputs)
