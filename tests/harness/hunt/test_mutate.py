"""Neighbours of a case are cases."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.case import DTYPES, Case, Layout
from harness.hunt.mutate import MUTATIONS, Mutation, cancel, crossed
from harness.strategies import cases
from harness.strategies.drawing import exact_sum
from reference.formats import BINARY64

ANY_CASE = st.sampled_from(DTYPES).flatmap(cases)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@settings(max_examples=60)
@given(case=ANY_CASE, seed=st.integers(0, 999))
def test_a_mutation_gives_a_case(mutation: Mutation, case: Case, seed: int) -> None:
    """It reads back from its JSON (members of the format, equal elements where they must be), and
    is a function of the case and the seed."""
    changed = mutation(case, Random(seed))
    assert changed == Case.from_json(changed.to_json())
    assert changed == mutation(case, Random(seed))
    assert case.dtype == changed.dtype
    assert len(changed.inputs) <= max(64, len(case.inputs))


@settings(max_examples=60)
@given(left=cases("float32"), right=cases("float32"), seed=st.integers(0, 999))
def test_two_cases_cross_to_a_case(left: Case, right: Case, seed: int) -> None:
    """With terms of both."""
    child = crossed(left, right, Random(seed))
    assert child == Case.from_json(child.to_json())
    words = {*left.inputs, *right.inputs}
    assert all(x in words or x != x for x in child.inputs)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_mutation_changes_something(mutation: Mutation) -> None:
    """Of twenty tries on an ordinary case most give another."""
    case = Case("float64", (0.3, -1.7, 2.9), (1.1, 0.7, -0.2), 0.4, 1.3)
    changed = [mutation(case, Random(seed)) != case for seed in range(20)]
    assert sum(changed) >= 12


def test_a_cancelling_bias_is_next_to_minus_the_sum() -> None:
    """Within 64 ulps."""
    case = Case("float64", (0.3, -1.7, 2.9), (1.1, 0.7, -0.2), 0.4, 1.3)
    for seed in range(20):
        found = cancel(case, Random(seed))
        target = -float(exact_value(found.inputs, found.weights))
        distance = case.format.ordinal(found.bias) - case.format.ordinal(target)
        assert abs(distance) <= 65


def exact_value(inputs: tuple[float, ...], weights: tuple[float, ...]) -> float:
    """The exact sum of products, rounded."""
    return BINARY64.round(exact_sum(inputs, weights))


def test_equal_elements_stay_equal() -> None:
    """An expanded vector repeats one element, whatever is done to it."""
    case = Case("float32", (0.5,) * 4, (0.25,) * 4, 1.0, 1.0, Layout.EXPANDED)
    for mutation in MUTATIONS:
        for seed in range(20):
            changed = mutation(case, Random(seed))
            if changed.layout is Layout.EXPANDED:
                assert 1 >= len(set(changed.inputs)) and 1 >= len(set(changed.weights))
