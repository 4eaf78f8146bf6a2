"""The smallest case that keeps something."""

from dataclasses import replace

import pytest

from harness.case import Case, Layout
from harness.direction import Direction
from harness.shrink import Shrinking, length, shorter
from reference.formats import BFLOAT16, BINARY32, BINARY64, Format

CASE = Case(
    "float64",
    (0.1, -7.3, 2.25, 0.3),
    (1.7, 0.9, -3.3, 0.2),
    0.77,
    -1.9,
    Layout.STRIDED,
)


def test_nothing_is_left_of_what_nobody_needs() -> None:
    """If every case keeps the error, the smallest has no terms, no bias and g = 1."""
    shrinking = Shrinking(CASE)
    shrinking.run(lambda case: True, 1000)
    assert Case("float64", (), (), 0.0, 1.0) == shrinking.case


def is_small(case: Case) -> bool:
    """Whether a case is what a person would try: at most one term, contiguous, short numbers."""
    along = case.direction
    more = () if along is None else (*along.inputs, *along.weights, along.bias)
    values = (*case.inputs, *case.weights, case.bias, case.upstream_gradient, *more)
    return (
        len(case.inputs) <= 1
        and case.layout is Layout.CONTIGUOUS
        and all(length(value, case.format) <= 2 for value in values)
    )


def test_a_direction_keeps_to_its_case() -> None:
    """It loses the lanes that the case loses, and ends along the bias, or along what is needed."""
    along = Direction((0.3, 0.5, -1.7, 2.0), (0.1, 0.2, 0.3, 0.4), 5.5)
    case = replace(CASE, direction=along)
    shrinking = Shrinking(case)
    shrinking.run(lambda case: True, 1000)
    assert Case("float64", (), (), 0.0, 1.0, direction=Direction((), (), 1.0)) == shrinking.case

    def keeps(case: Case) -> bool:
        return any(x > 2 and p for x, p in zip(case.inputs, case.direction.inputs, strict=True))

    shrinking = Shrinking(case)
    shrinking.run(keeps, 1000)
    assert Direction((1.0,), (0.0,), 0.0) == shrinking.case.direction
    assert is_small(shrinking.case)


def test_what_is_needed_stays() -> None:
    """One term, of which the input must be above 2 and the weight negative."""

    def keeps(case: Case) -> bool:
        return any(x > 2 and w < 0 for x, w in zip(case.inputs, case.weights, strict=True))

    shrinking = Shrinking(CASE)
    shrinking.run(keeps, 1000)
    (x,), (w,) = shrinking.case.inputs, shrinking.case.weights
    assert x > 2 > 0 > w
    assert (0.0, 1.0, Layout.CONTIGUOUS) == (
        shrinking.case.bias,
        shrinking.case.upstream_gradient,
        shrinking.case.layout,
    )
    assert length(x, BINARY64) + length(w, BINARY64) <= 3


def test_a_number_keeps_its_place() -> None:
    """With inputs_only all else stays, and the significand becomes as short as it can."""
    case = Case("float64", (0.7234567890123457,), (1.0,), 0.0, 1.0)
    shrinking = Shrinking(case, inputs_only=True)
    shrinking.run(lambda other: abs(other.inputs[0] - 0.72) < 0.01, 1000)
    (x,) = shrinking.case.inputs
    assert abs(x - 0.72) < 0.01
    assert length(x, BINARY64) <= 7
    assert ((1.0,), 0.0, 1.0) == (
        shrinking.case.weights,
        shrinking.case.bias,
        shrinking.case.upstream_gradient,
    )


@pytest.mark.parametrize("allowance", [0, 1, 3])
def test_no_more_than_the_allowance_is_asked(allowance: int) -> None:
    """And what was found until then stays found."""
    asked: list[Case] = []

    def keeps(case: Case) -> bool:
        asked.append(case)
        return True

    shrinking = Shrinking(CASE)
    shrinking.run(keeps, allowance)
    assert allowance == len(asked)
    assert (asked[-1] if asked else CASE) == shrinking.case


def test_what_was_found_survives_an_interrupt() -> None:
    """The case is the last one that kept the error."""
    shrinking = Shrinking(CASE)

    def keeps(case: Case) -> bool:
        if not case.inputs:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        shrinking.run(keeps, 1000)
    assert Layout.CONTIGUOUS is shrinking.case.layout
    assert CASE.inputs == shrinking.case.inputs


@pytest.mark.parametrize("format", [BFLOAT16, BINARY32, BINARY64], ids=lambda each: each.name)
def test_shorter_values_are_members_and_shorter(format: Format) -> None:
    """In the order of their lengths, with the sign of the value."""
    value = -format.from_ordinal(format.ordinal(1.0) + 0b1011)
    found = list(shorter(value, format))
    assert all(format.contains(other) and other < 0 for other in found)
    assert all(length(other, format) < length(value, format) for other in found)
    assert -1.0 == found[0]


@pytest.mark.parametrize("value", [0.0, -0.0, float("inf"), float("nan")])
def test_zeros_and_what_is_not_finite_are_short(value: float) -> None:
    """There is nothing shorter."""
    assert 0 == length(value, BINARY64)
    assert [] == list(shorter(value, BINARY64))
