"""Directions: finite, fitting the case, drawn every way, and simplest first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import isfinite, tanh
from random import Random

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from harness.case import DTYPES, Case
from harness.direction import Direction
from harness.strategies import Regime, regimes_for
from harness.strategies.digits import Digits
from harness.strategies.directions import cases_with_directions, direction_for, directions
from harness.strategies.neurons import neuron_case
from tests.drawn import drawn

each_dtype = pytest.mark.parametrize("dtype", DTYPES)
SHORT = [regime for regime in regimes_for("neuron") if "long" not in regime]


def of(dtype: str, regime: Regime, count: int = 200) -> list[tuple[Case, Direction]]:
    """Cases with directions, from evenly distributed integers."""
    below = Random(f"{dtype} {regime}").randrange
    cases = [neuron_case(below, dtype, regime) for _ in range(count)]
    return [(case, direction_for(below, case)) for case in cases]


@pytest.mark.parametrize("regime", regimes_for("neuron"))
@each_dtype
def test_a_direction_is_finite_and_fits_its_case(dtype: str, regime: Regime) -> None:
    """Whatever the case holds; every number is a member of the format."""
    for case, direction in of(dtype, regime, 10 if "long" in regime else 100):
        values = (*direction.inputs, *direction.weights, direction.bias)
        assert len(case.inputs) == len(direction.inputs) == len(direction.weights)
        assert all(map(isfinite, values))
        assert all(map(case.format.contains, values))


@each_dtype
def test_every_way_is_drawn(dtype: str) -> None:
    """Along one argument, along one vector, everywhere, with adot cancelling, tiny and huge."""
    seen: Counter[str] = Counter()
    for case, direction in of(dtype, Regime.CURVED, 600):
        if len(case.inputs) < 2:
            continue
        parts = [*direction.inputs, *direction.weights, direction.bias]
        size = sum(value != 0 for value in parts)
        seen["the bias alone"] += size == 1 and direction.bias != 0
        seen["one argument"] += size == 1 and direction.bias == 0
        seen["one vector"] += any(direction.inputs) != any(direction.weights)
        seen["the gradient"] += (direction.inputs, direction.weights) == (case.weights, case.inputs)
        terms = [
            Fraction(s) * Fraction(t)
            for s, t in zip(
                [*direction.inputs, *direction.weights, direction.bias],
                [*case.weights, *case.inputs, 1.0],
                strict=True,
            )
        ]
        tangent, absolute = sum(terms), sum(map(abs, terms))
        unit = Fraction(2) ** (1 - case.format.precision)
        seen["adot cancels"] += size > 2 and abs(tangent) <= absolute * unit
        seen["tiny"] += 0 < max(map(abs, parts)) < 2.0 ** (case.format.emin + 3)
        seen["huge"] += max(map(abs, parts)) > 2.0 ** (case.format.emax - 3)
    assert 7 == len(seen)
    assert min(seen.values()) >= 3, seen


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_of_the_product_cancel(dtype: str) -> None:
    """Along one way -2 y adot w_i + q_i is less than a hundredth of q_i, of which s is a factor."""
    cancelling = 0
    for case, direction in of(dtype, Regime.CURVED, 400):
        if not case.inputs:
            continue
        pairs = zip(
            [*direction.inputs, *direction.weights, direction.bias],
            [*case.weights, *case.inputs, 1.0],
            strict=True,
        )
        adot = sum(Fraction(s) * Fraction(t) for s, t in pairs)
        inner = zip(case.inputs, case.weights, strict=True)
        a = sum(Fraction(s) * Fraction(t) for s, t in inner) + Fraction(case.bias)
        curved = -2 * Fraction(tanh(float(a))) * adot * Fraction(case.weights[0])
        q = Fraction(direction.weights[0])
        cancelling += q != 0 and abs(curved + q) < abs(q) / 100
    assert cancelling > 20


def test_the_simplest_direction_is_along_the_bias() -> None:
    """(0, 0, 1): from zeros."""
    case = neuron_case(Digits(b"").below, "float32", Regime.CURVED)
    n = len(case.inputs)
    expected = Direction((0.0,) * n, (0.0,) * n, 1.0)
    assert expected == direction_for(Digits(b"").below, case)
    found = find(cases_with_directions("float32", Regime.CURVED), lambda _: True)
    assert replace(case, direction=expected) == found


def test_a_failure_shrinks_to_few_and_short_numbers() -> None:
    """What needs a non-zero weight's direction ends with one number."""
    case = find(
        cases_with_directions("float64", Regime.CURVED), lambda case: any(case.direction.weights)
    )
    direction = case.direction
    assert direction is not None
    assert [1.0] == [value for value in direction.weights if value]


@given(st.data())
def test_the_directions_of_a_case_are_those_of_its_length(data: st.DataObject) -> None:
    """Drawn for a case at hand."""
    case = data.draw(cases_with_directions("bfloat16"))
    direction = data.draw(directions(case))
    assert len(case.inputs) == len(direction.inputs)
    assert direction.finite


def test_the_same_seed_draws_the_same() -> None:
    """Bytes alone decide."""
    first, second = (drawn(cases_with_directions("float16"), 50) for _ in range(2))
    assert first == second
    assert 20 < len({case.direction for case in first})
